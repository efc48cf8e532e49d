#!/bin/sh
# The long tests of the live cache: the file-system exerciser fsx with several seeds, the POSIX suite pjdfstest beside the source's own file system,
# and a tree of real work. Needs /dev/fuse; installs the two programs under target/truth from the package registry. HOTSET names the
# command, by default target/release/hotset.
set -eu
cd "$(dirname "$0")/.."

root=$PWD
hotset=${HOTSET:-$root/target/release/hotset}
tools=$root/target/truth
operations=${OPERATIONS:-100000}
[ -e /dev/fuse ] || { echo "truth: there is no /dev/fuse: nothing can be mounted here" >&2; exit 1; }
for tool in fsx pjdfstest; do
    [ -x "$tools/bin/$tool" ] || cargo install --quiet --root "$tools" "$tool"
done

work=$(mktemp -d)
mkdir "$work/source" "$work/at" "$work/plain"
chmod 755 "$work"
trap 'umount "$work/at" 2>/dev/null; rm -rf "$work"' EXIT

# serve ARGUMENTS: mounts; the mount ends with `umount`.
serve() { "$hotset" mount "$work/source" "$work/at" --daemon "$@"; }

for mode in strict fast; do
    for seed in 1 2 3; do
        serve --memory 96K --policy arc --mode $mode
        "$tools/bin/fsx" -N "$operations" -S $seed "$work/at/exercised"
        cmp "$work/at/exercised" "$work/source/exercised"
        umount "$work/at"
        echo "truth: fsx, $operations operations, seed $seed, $mode: as it should be"
    done
done

# Failures that the source's own file system has too are not the mount's.
posix() { (cd "$root" && "$tools/bin/pjdfstest" -p "$1" 2>&1) | sed -n 's/^\([a-z_:0-9]*\) *\t.*\(success\|FAILED\|skipped\).*/\1 \2/p' | sort; }
posix "$work/plain" > "$work/expected"
serve --memory 4M --policy lru
posix "$work/at" > "$work/found"
umount "$work/at"
[ -s "$work/expected" ] || { echo "truth: pjdfstest said nothing that could be read" >&2; exit 1; }
diff "$work/expected" "$work/found" || { echo "truth: pjdfstest differs from the source's own file system" >&2; exit 1; }
echo "truth: pjdfstest, $(grep -c success "$work/found") cases: as on the source's own file system"

for mode in strict fast; do
    serve --memory 2M --policy s3-fifo --mode $mode
    git clone -q --no-hardlinks "$root" "$work/at/clone"
    git -C "$work/at/clone" fsck --no-progress
    if command -v sqlite3 >/dev/null; then
        sqlite3 "$work/at/base" "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
            insert into t select i, hex(randomblob(40)) from n; create index x on t(b); delete from t where a % 3 = 0; vacuum;"
        [ "$(sqlite3 "$work/at/base" 'pragma integrity_check')" = ok ]
    fi
    diff -r "$work/at" "$work/source"
    rm -rf "$work/at/clone" "$work/at/base"
    umount "$work/at"
    echo "truth: a clone and a database, $mode: as they should be"
done
