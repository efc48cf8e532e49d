#!/bin/sh
# The long tests of the live cache: the file-system exerciser fsx with several seeds, schemes and sizes of blocks, the POSIX suite pjdfstest beside the
# source's own file system, and real work: a C project unpacked, built and tested, a clone, a database. Needs /dev/fuse, root, cmake and
# sqlite3; installs fsx and pjdfstest under target/truth from the package registry. HOTSET names the command, by default
# target/release/hotset; OPERATIONS and SEEDS change how much fsx does; words choose among fsx, posix, build, clone and database.
set -eu
cd "$(dirname "$0")/.."

root=$PWD
hotset=${HOTSET:-$root/target/release/hotset}
tools=$root/target/truth
operations=${OPERATIONS:-100000}
seeds=${SEEDS:-1 2 3}
chosen=${*:-fsx posix build clone database}

say() { echo "truth: $*"; }
fail() { say "$*" >&2; exit 1; }
[ -e /dev/fuse ] || fail "there is no /dev/fuse: nothing can be mounted here"
for tool in cmake sqlite3; do
    command -v $tool >/dev/null || fail "$tool is missing: on Debian, apt-get install $tool"
done
for tool in fsx pjdfstest; do
    [ -x "$tools/bin/$tool" ] || cargo install --quiet --root "$tools" $tool
done

work=$(mktemp -d)
mkdir "$work/source" "$work/at" "$work/plain"
chmod 755 "$work"
trap 'umount "$work/at" 2>/dev/null; rm -rf "$work"' EXIT

# serve ARGUMENTS: mounts; the mount ends with `unserve`.
serve() { "$hotset" mount "$work/source" "$work/at" --daemon "$@"; }

# unserve NAME...: compares the mount with the source; then unmounts it and removes the names.
unserve() {
    diff -r --no-dereference "$work/at" "$work/source" || fail "the mount differs from its source"
    umount "$work/at"
    for name; do rm -rf "${work:?}/source/$name"; done
}

# Each line a scheme, the bytes of its blocks and its memory: small, so that blocks come and go.
schemes='lru 4K 96K
arc 512 24K
s3-fifo 64K 256K
render 4K 128K
bypass(lirs,output) 16K 160K'

exercise() {
    cat > "$work/fsx.toml" <<'TOML'
flen = 400000
nomsyncafterwrite = true

[opsize]
max = 70000

[weights]
close_open = 2
invalidate = 1
mapread = 8
mapwrite = 8
read = 10
write = 10
truncate = 4
fsync = 0.5
fdatasync = 0.5
posix_fallocate = 1
punch_hole = 2
sendfile = 2
posix_fadvise = 1
copy_file_range = 3
TOML
    for mode in strict fast; do
        echo "$schemes" | while read -r policy block memory; do
            for seed in $seeds; do
                # With writes that wait every other time.
                later=; [ $((seed % 2)) = 1 ] || later='--write-back=50ms'
                serve --memory "$memory" --block "$block" --policy "$policy" --mode $mode $later
                "$tools/bin/fsx" -q -f "$work/fsx.toml" -P "$work" -N "$operations" -S "$seed" "$work/at/exercised" > "$work/fsx.log" 2>&1 || {
                    tail -n 40 "$work/fsx.log"
                    fail "fsx, seed $seed, $mode, $policy in blocks of $block: see above"
                }
                unserve exercised
            done
            say "fsx, $operations operations, seeds $seeds, $mode, $policy in blocks of $block: as it should be"
        done
    done
}

# suite DIRECTORY: the cases of pjdfstest and how they end, sorted.
suite() {
    # What Debian has on every machine.
    cat > "$work/suite.toml" <<'TOML'
features = { posix_fallocate = {}, rename_ctime = {}, utime_now = {}, utimensat = {} }

[settings]
naptime = 0.01
allow_remount = false

[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
TOML
    "$tools/bin/pjdfstest" -c "$work/suite.toml" -p "$1" -s /dev/shm > "$work/suite.log" 2>&1 || true
    # How many links a file may have is nothing that a mount can tell: the C library goes by the kind of file system.
    sed -n 's/^\([a-z_0-9]*::[a-z_:0-9]*\)  *\(ok\|skipped\|FAILED\).*/\1 \2/p' "$work/suite.log" | grep -v link_count_max | sort
}

# Cases that fail on the source's own file system are not the mount's.
posix() {
    suite "$work/plain" > "$work/expected"
    [ "$(grep -c ok "$work/expected")" -gt 300 ] || { tail -n 5 "$work/suite.log"; fail "pjdfstest said nothing that could be read"; }
    for mode in strict fast; do
        serve --memory 4M --policy lru --mode $mode
        suite "$work/at" > "$work/found"
        diff "$work/expected" "$work/found" || { cat "$work/suite.log"; fail "pjdfstest, $mode: differs from the source's own file system"; }
        unserve
        say "pjdfstest, $mode: $(grep -c ok "$work/found") cases pass, as on the source's own file system"
    done
}

# oniguruma, which comes in a crate with all its tests.
build() {
    mkdir -p "$tools/project/src"
    : > "$tools/project/src/lib.rs"
    printf '[package]\nname = "project"\nversion = "0.0.0"\n[dependencies]\nonig_sys = "=69.9.3"\n[workspace]\n' > "$tools/project/Cargo.toml"
    cargo fetch --quiet --manifest-path "$tools/project/Cargo.toml"
    crate=$(ls "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/onig_sys-69.9.3.crate | tail -n 1)
    for mode in strict fast; do
        serve --memory 2M --policy arc --mode $mode
        tar xzf "$crate" -C "$work/at"
        (
            cd "$work/at/onig_sys-69.9.3/oniguruma"
            cmake -S . -B made -DCMAKE_BUILD_TYPE=Debug -DBUILD_TEST=ON
            cmake --build made -j 2
            for program in utf8 syntax options regset back; do "made/test/test_$program"; done
        ) > "$work/build.log" 2>&1 || { tail -n 40 "$work/build.log"; fail "a build, $mode: see above"; }
        tests=$(sed -n 's/.*SUCC: *\([0-9]*\),  FAIL: 0,  ERROR: 0.*/\1/p' "$work/build.log" | awk '{ all += $1 } END { print all + 0 }')
        [ "$tests" -gt 3000 ] || { tail -n 40 "$work/build.log"; fail "a build, $mode: its tests do not all pass"; }
        unserve onig_sys-69.9.3
        say "oniguruma unpacked, built and tested, $mode: its $tests tests pass"
    done
}

clone() {
    for mode in strict fast; do
        serve --memory 2M --policy s3-fifo --mode $mode
        git clone -q --no-hardlinks "$root" "$work/at/clone"
        git -C "$work/at/clone" fsck --no-progress --no-dangling --full
        git -C "$work/at/clone" gc -q
        git -C "$work/at/clone" fsck --no-progress --no-dangling --full
        [ -z "$(git -C "$work/at/clone" status --porcelain)" ] || fail "the clone is not clean"
        unserve clone
        say "a clone, packed anew, $mode: fsck finds nothing"
    done
}

database() {
    for mode in strict fast; do
        for journal in delete wal; do
            serve --memory 2M --policy 2q --mode $mode
            sqlite3 "$work/at/base" "pragma journal_mode=$journal; create table t(a, b);
                with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
                insert into t select i, hex(randomblob(40)) from n; create index x on t(b); delete from t where a % 3 = 0;
                update t set b = hex(randomblob(400)) where a % 7 = 0; vacuum;" > /dev/null
            [ "$(sqlite3 "$work/at/base" 'pragma integrity_check')" = ok ] || fail "the database is damaged"
            unserve base base-wal base-shm
        done
        say "databases with both journals, $mode: integrity_check finds nothing"
    done
}

for part in $chosen; do
    case $part in
        fsx) exercise ;;
        posix | build | clone | database) $part ;;
        *) fail "no part is called $part: choose among fsx, posix, build, clone and database" ;;
    esac
done
