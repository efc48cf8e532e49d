#!/bin/sh
# Within a kernel that `make kernels` has booted: runs the tests, or starts the units.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
. /payload/settings
mkdir -p "$root/target" "$root/crates/capture"
mount --bind /payload/target "$root/target"
mount --bind /payload/capture "$root/crates/capture"
ip link set lo up
mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
modprobe -a fuse loop 2>/dev/null
echo 1 >/proc/sys/kernel/printk
echo "== $(uname -r), control groups of version $(test -e /sys/fs/cgroup/cgroup.controllers && echo 2 || echo 1)"
case $(cat /proc/cmdline) in
    *kernels.units*) sh /payload/units.sh ;;
    *)
        # Debian's 3 gives events to administrators alone; the units are tried with it.
        echo 2 >/proc/sys/kernel/perf_event_paranoid
        for binary in /payload/tests/*; do
            echo "== $(basename "$binary")"
            (cd "$root" && timeout 1200 "$binary" --nocapture --test-threads 1) 2>&1
        done
        ;;
esac
echo '== done'
sync
# Without systemd this is the first program, and the last.
[ $$ != 1 ] || poweroff -f
