#!/bin/sh
# Boots other kernels than the one that runs here, in an emulator, and runs in each what speaks with BPF: the feeds, steering,
# steered mounts, recordings and the units of systemd. Not a part of the tests: it fetches packages, and an emulated processor
# takes minutes for what takes seconds.
#
# Words choose suites of Debian, as `trixie`, and versions in them, as `trixie-backports/6.16`; without any those that the guide
# names. WAYS chooses among tests and units, TESTS among the tests; CGROUPS=1 boots with control groups of version 1; LIMIT is in seconds, for a boot.
# Needs root, Debian's apt, and qemu-system-x86, debootstrap, busybox-static, kmod, cpio and e2fsprogs. The results are
# target/kernels/RELEASE.log; a line that is not `ok` is printed.
set -eu
cd "$(dirname "$0")/.."

here=$PWD/target/kernels
chosen=${*:-bookworm trixie trixie-backports/6.16 trixie-backports}
ways=${WAYS:-tests units}
groups=${CGROUPS:-2}
tests=${TESTS:-live kernel steer steered_mount}
limit=${LIMIT:-2400}

say() { echo "kernels: $*"; }
skip() { echo "NOT RUN: other kernels: $*"; exit 0; }
for tool in qemu-system-x86_64 debootstrap busybox depmod cpio mke2fs apt-get; do
    command -v "$tool" >/dev/null || skip "there is no $tool here"
done
[ "$(id -u)" = 0 ] || skip "it takes root to make a root file system"
[ "$(uname -m)" = x86_64 ] || skip "it knows x86-64 only"

suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
archive=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" 'Component: main' 'Created-By: Packages' | head -n 1)
[ -n "$archive" ] || skip "apt names no archive of Debian"
keys=/usr/share/keyrings/debian-archive-keyring.gpg

# of_suite SUITE COMMAND...: apt with the lists of that suite alone.
of_suite() {
    lists=$here/apt/$1
    tool=$2
    shift 2
    "$tool" -q -o Dir::Etc::sourcelist="$lists/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::Lists="$lists/lists" \
        -o Dir::Cache="$lists" -o APT::Sandbox::User=root "$@"
}

# The root file system: of the release that the binaries were built for.
make_root() {
    [ -e "$here/root.img" ] && return
    say "making a root file system of $suite"
    packages=systemd,systemd-sysv,systemd-container,dbus,udev,kmod,procps,libcap2-bin,iproute2,fuse3,strace,gcc,libc6-dev
    debootstrap --variant=minbase --include=$packages "$suite" "$here/root" "$archive" >"$here/debootstrap.log" 2>&1 ||
        { rm -rf "$here/root"; skip "debootstrap: $(tail -n 1 "$here/debootstrap.log")"; }
    rm -rf "$here/root/var/cache/apt/archives" "$here/root/var/lib/apt/lists"
    cp xtask/kernels/kernels.service "$here/root/etc/systemd/system/"
    ln -s ../kernels.service "$here/root/etc/systemd/system/multi-user.target.wants/"
    mkdir "$here/root/payload"
    truncate -s 2G "$here/making.img"
    mke2fs -q -t ext4 -d "$here/root" "$here/making.img"
    mv "$here/making.img" "$here/root.img"
    rm -rf "$here/root"
}

# fetch SUITE VERSION: unpacks a kernel below target/kernels/kernel and sets `release`.
fetch() {
    mkdir -p "$here/apt/$1/lists/partial" "$here/apt/$1/archives/partial"
    echo "deb [signed-by=$keys] $archive $1 main" >"$here/apt/$1/sources.list"
    of_suite "$1" apt-get update >"$here/apt.log" 2>&1 || return 1
    if [ -n "$2" ]; then
        image=$(of_suite "$1" apt-cache pkgnames "linux-image-$2" | grep -E "^linux-image-$2[0-9.+a-z~-]*-cloud-amd64\$" | sort -V | tail -n 1)
    else
        image=$(of_suite "$1" apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p')
    fi
    release=${image#linux-image-}
    [ -n "$release" ] || return 1
    # Newer packages come in parts.
    parts=$(of_suite "$1" apt-cache depends "$image" | sed -n 's/.*Depends: \(linux-[bm][a-z]*-[0-9].*\)/\1/p')
    rm -rf "$here/kernel" "$here/packages"
    mkdir -p "$here/kernel" "$here/packages"
    (cd "$here/packages" && of_suite "$1" apt-get download "$image" $parts) >>"$here/apt.log" 2>&1 || return 1
    for package in "$here"/packages/*.deb; do dpkg-deb -x "$package" "$here/kernel"; done
    [ -d "$here/kernel/usr/lib/modules" ] || mv "$here/kernel/lib" "$here/kernel/usr/lib"
    depmod -b "$here/kernel/usr" "$release" 2>/dev/null || depmod -b "$here/kernel" -m /usr/lib/modules "$release"
}

# A first file system that has what it takes to mount the root.
make_first() {
    rm -rf "$here/first"
    mkdir -p "$here/first/bin" "$here/first/modules"
    cp "$(command -v busybox)" "$here/first/bin/busybox"
    install -m 755 xtask/kernels/init "$here/first/init"
    modprobe -d "$here/kernel/usr" -S "$release" --show-depends -a virtio_pci virtio_blk |
        sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
        cp "$module" "$here/first/modules/"
        basename "$module" | sed 's/\.[xz][zs].*$//' >>"$here/first/modules/order"
    done
    touch "$here/first/modules/order"
    find "$here/first" -name '*.ko.xz' -exec xz -d {} +
    (cd "$here/first" && find . | cpio -o -H newc --quiet) >"$here/first.cpio"
}

add_tests() {
    cargo test --workspace --no-run --message-format=json $(printf -- '--test %s ' $tests) |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | while read -r binary; do
        strip --strip-debug -o "$here/payload/tests/$(basename "${binary%-*}")" "$binary"
    done
    mkdir "$here/payload/capture"
    cp -r crates/capture/tests "$here/payload/capture/"
}

# The programs that run there, at the paths that they were built for.
make_payload() {
    rm -rf "$here/payload"
    mkdir -p "$here/payload/target/debug" "$here/payload/target/tmp" "$here/payload/tests" "$here/payload/units"
    strip --strip-debug -o "$here/payload/target/debug/hotset" target/debug/hotset
    case $ways in *tests*) add_tests ;; esac
    cp packaging/systemd/*.service "$here/payload/units/"
    cp xtask/kernels/*.sh "$here/payload/"
    cp -r "$here/kernel/usr/lib/modules/$release" "$here/payload/modules"
    echo "root=$PWD" >"$here/payload/settings"
    rm -f "$here/payload.img"
    truncate -s 1536M "$here/payload.img"
    mke2fs -q -t ext4 -d "$here/payload" "$here/payload.img"
    rm -rf "$here/payload"
}

# boot WAY: runs it in an emulator. Its disk is thrown away.
boot() {
    image=$(find "$here/kernel" -name 'vmlinuz*' | head -n 1)
    log=$here/$release-$1-groups-$groups.log
    words="console=ttyS0 quiet no_timer_check rcupdate.rcu_cpu_stall_suppress=1 panic=-1 psi=1 kernels.$1 kernels.groups=$groups"
    [ "$groups" = 2 ] || words="$words systemd.unified_cgroup_hierarchy=0"
    : >"$log"
    TMPDIR=$here timeout "$limit" nice -n 10 qemu-system-x86_64 -accel tcg -cpu max -m 1G -smp 1 -nodefaults -display none -no-reboot \
        -kernel "$image" -initrd "$here/first.cpio" -append "$words" \
        -drive "file=$here/root.img,if=virtio,format=raw,snapshot=on" \
        -drive "file=$here/payload.img,if=virtio,format=raw,snapshot=on" \
        -serial "file:$here/console.log" -serial "file:$log" || say "the emulator failed, or was ended after $limit s"
    tr -d '\r' <"$log" | grep -E '^(==|test |unit: |NOT RUN|SKIPPED|thread|assertion| *left:| *right:)' | grep -v ' ok$'
    grep -q '^== done' "$log" || say "it did not come to its end; target/kernels/console.log has what the kernel said"
}

mkdir -p "$here"
cargo build --bin hotset
make_root
for word in $chosen; do
    version=${word#*/}
    [ "$version" != "$word" ] || version=
    fetch "${word%%/*}" "$version" || { echo "NOT RUN: the kernel $word: $(tail -n 1 "$here/apt.log")"; continue; }
    say "$release"
    make_first
    make_payload
    for way in $ways; do boot "$way"; done
done
