#!/bin/sh
# Packs target/package, the tree that `make dist` installs, as an archive: target/hotset-VERSION-ARCH-linux.tar.gz.
# `xtask/dist.sh try DEB` unpacks the archive in one fresh root of Debian and installs DEB in another, and tries there
# the command, its manual, completions and units. It needs root, Debian's apt and debootstrap.
set -eu
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
name=hotset-$version-$(uname -m)-linux
archive=target/$name.tar.gz
roots=$PWD/target/roots

say() { echo "dist: $*"; }
skip() { echo "NOT RUN: packages in a fresh root: $*"; exit 0; }

pack() {
    tar -C target/package --sort=name --owner=0 --group=0 --numeric-owner --transform "s,^\.,$name," -czf "$archive" .
    say "$archive, $(du -h "$archive" | cut -f1)"
}

# fresh NAME: a new root in target/roots/NAME.
fresh() {
    rm -rf "${roots:?}/$1"
    mkdir -p "$roots"
    debootstrap --variant=minbase --include=systemd,man-db,bash-completion,ca-certificates "$suite" "$roots/$1" "$mirror" \
        >"$roots/debootstrap.log" 2>&1 || skip "debootstrap: $(tail -n 1 "$roots/debootstrap.log")"
    # Such roots leave manual pages out.
    rm -f "$roots/$1"/etc/dpkg/dpkg.cfg.d/*
    install -D -t "$roots/$1/traces" workloads/build.hst
}

# check ROOT PREFIX ZSH: tries the package below PREFIX as a user would. ZSH is the folder of completions for zsh.
check() {
    within() { chroot "$roots/$1" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root sh -ec "$2"; }
    within "$1" 'hotset --version' | grep -qx "hotset $version"
    within "$1" 'hotset simulate /traces/build.hst --maps none -p lru -s 1M' | grep -q 'lru '
    within "$1" 'man -w hotset hotset-mount' | grep -q "^$2/.*/hotset-mount.1"
    within "$1" 'MANPAGER=cat man hotset-steer' | grep -q -- '--policy'
    within "$1" 'bash -c "source /usr/share/bash-completion/bash_completion; _completion_loader hotset; complete -p hotset"' |
        grep -q '_hotset'
    within "$1" "test -s $2/share/zsh/$3/_hotset && test -s $2/share/fish/vendor_completions.d/hotset.fish"
    within "$1" 'mkdir -p /etc/hotset && echo DIRECTORIES=/srv >/etc/hotset/steer-systemd-journald.conf'
    for unit in record steer; do
        within "$1" "systemd-analyze verify $2/lib/systemd/system/hotset-$unit@systemd-journald.service"
    done
    say "tried in a fresh root of $suite, below $2"
}

try() {
    [ "$(id -u)" = 0 ] || skip "it takes root to make a root file system"
    command -v debootstrap >/dev/null || skip "debootstrap is missing"
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" 'Component: main' 'Created-By: Packages' | head -n 1)
    [ -n "$mirror" ] || skip "apt names no archive of Debian"

    fresh unpacked
    tar -C "$roots/unpacked/usr/local" --strip-components=1 -xzf "$archive"
    check unpacked /usr/local site-functions

    fresh installed
    cp "$1" "$roots/installed/hotset.deb"
    chroot "$roots/installed" dpkg --install /hotset.deb >"$roots/dpkg.log" 2>&1
    check installed /usr vendor-completions
    chroot "$roots/installed" dpkg --purge hotset >>"$roots/dpkg.log" 2>&1
    left=$(find "$roots/installed/usr" -name '*hotset*')
    [ -z "$left" ] || { echo "dist: dpkg --purge has left $left" >&2; exit 1; }
    rm -rf "${roots:?}/unpacked" "${roots:?}/installed"
}

case ${1:-} in
'') pack ;;
try) try "$2" ;;
*) echo "dist: found $1; expected nothing, or try DEB" >&2; exit 2 ;;
esac
