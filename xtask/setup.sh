#!/bin/sh
# Checks what the build, the tests and the demonstration need, installs it where that is allowed, and otherwise
# names in one line what is missing and how to get it. Needs no network when nothing is missing.
# With the argument `page` it also looks for what building the page of reports and trying it in a browser needs, with
# `bpf` for what building the kernel's side of the feed needs.
set -eu
cd "$(dirname "$0")/.."

wanted=${1:-}
rust=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
toolchain="rustup toolchain install $rust --profile minimal --component clippy --component rustfmt"

has() { command -v "$1" >/dev/null 2>&1; }

# The packages of Debian that are missing, each with a space behind it.
packages() {
    has git || printf 'git '
    has cc || printf 'gcc libc6-dev '
    has strace || printf 'strace '
    # Only root mounts without its help.
    [ "$(id -u)" = 0 ] || [ ! -e /dev/fuse ] || has fusermount3 || printf 'fuse3 '
    [ "$wanted" != bpf ] || has clang || printf 'clang '
    [ "$wanted" = page ] || return 0
    has node || printf 'nodejs '
    has npm || printf 'npm '
    has "${CHROMIUM:-chromium}" || printf 'chromium '
}

# True if the compiler of rust-toolchain.toml is there with its tools.
rust_works() { cargo --version && cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1

install_packages() {
    [ "$(id -u)" = 0 ] && has apt-get || return 1
    echo "setup: installing $1"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $1; } </dev/null
}

missing=$(packages)
if [ -n "$missing" ] && install_packages "$missing"; then missing=$(packages); fi
how=${missing:+"apt-get install $missing(as root, on Debian)"}

if ! has cargo; then
    missing="${missing}cargo "
    how="${how:+$how, and }Rust from https://rustup.rs"
elif ! rust_works && ! { has rustup && $toolchain; }; then
    missing="${missing}rust-$rust "
    how="${how:+$how, and }$toolchain"
fi

node_works() { node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; }
if [ "$wanted" = page ] && has node && ! node_works; then
    missing="${missing}node-20.19 "
    how="${how:+$how, and }Node 20.19 or newer from https://nodejs.org"
fi

if [ -n "$missing" ]; then
    echo "setup: missing: $missing- get it by: $how" >&2
    exit 1
fi

# The packages are those of the lock file, and nothing of theirs is run.
if [ "$wanted" = page ] && ! npm --prefix dashboard ci --silent --ignore-scripts; then
    echo "setup: missing: the packages of dashboard/package-lock.json - get them by: npm --prefix dashboard ci" >&2
    exit 1
fi

# The kernel's list of events, by which feeds of the page cache find out what it tells. Where it cannot be mounted their
# tests say that they did not run.
if [ "$(id -u)" = 0 ] && [ -d /sys/kernel/tracing ] && ! grep -q ' tracefs ' /proc/mounts; then
    mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null || true
fi
