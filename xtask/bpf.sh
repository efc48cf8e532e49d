#!/bin/sh
# Builds the kernel's side of the feed from its C source, and writes beside it which compiler made it. With --check it
# builds it elsewhere and compares the bytes, which only the same version of clang gives again.
set -eu
cd "$(dirname "$0")/../crates/feed/bpf"

compile() {
    clang -target bpfel -mcpu=v3 -O2 -Qn -std=c11 -Wall -Wextra -Werror -ffreestanding -nostdinc -c feed.bpf.c -o "$1"
}
compiler() { echo "clang $(clang -dumpversion)"; }

if [ "${1:-}" != --check ]; then
    compile feed.bpf.o
    compiler >feed.bpf.txt
elif ! command -v clang >/dev/null 2>&1; then
    echo "NOT RUN: feed.bpf.o is not compared with its source: there is no clang here"
elif [ "$(compiler)" != "$(cat feed.bpf.txt)" ]; then
    compile /dev/null
    echo "NOT RUN: feed.bpf.c builds, but feed.bpf.o was made by $(cat feed.bpf.txt), and $(compiler) may give other bytes"
else
    built=$(mktemp)
    trap 'rm -f "$built"' EXIT
    compile "$built"
    cmp "$built" feed.bpf.o || { echo "feed.bpf.o is not what feed.bpf.c gives: make bpf, and commit it" >&2; exit 1; }
    echo "bpf: feed.bpf.o is what feed.bpf.c gives"
fi
