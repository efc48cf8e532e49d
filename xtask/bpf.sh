#!/bin/sh
# Builds the kernel's side of the feed and of recordings from their C sources, and writes the compiler's version beside
# them. With --check it builds them elsewhere and compares the bytes, which only the same version of clang gives again.
set -eu
cd "$(dirname "$0")/../crates/feed/bpf"

objects="feed calls"
compile() {
    clang -target bpfel -mcpu=v3 -O2 -Qn -std=c11 -Wall -Wextra -Werror -ffreestanding -nostdinc -c "$1.bpf.c" -o "$2"
}
compiler() { echo "clang $(clang -dumpversion)"; }

if [ "${1:-}" != --check ]; then
    for object in $objects; do compile $object $object.bpf.o; done
    compiler >compiler.txt
elif ! command -v clang >/dev/null 2>&1; then
    echo "NOT RUN: the programs of BPF are not compared with their sources: clang is missing here"
elif [ "$(compiler)" != "$(cat compiler.txt)" ]; then
    for object in $objects; do compile $object /dev/null; done
    echo "NOT RUN: the programs of BPF build, but they were made by $(cat compiler.txt), and $(compiler) may give other bytes"
else
    built=$(mktemp)
    trap 'rm -f "$built"' EXIT
    for object in $objects; do
        compile $object "$built"
        cmp "$built" $object.bpf.o || { echo "$object.bpf.o is not what $object.bpf.c gives: make bpf, and commit it" >&2; exit 1; }
    done
    echo "bpf: $objects are what their sources give"
fi
