#!/bin/sh
# Builds the package for Python for other machines than this one, into target/wheels: for aarch64 Linux with a glibc
# from 2014 on, which is then tried under qemu; with the argument `macos` for macOS on aarch64, which cannot be tried
# here. A compiler with the target's standard library is rustup's if it is there, or else Debian's, which is unpacked
# beside the build and not installed; for macOS there is none, and it is built from source. The linker is zig's. A
# missing part is named, and nothing is built. Arguments behind `linux` go to pytest instead of all tests.
set -eu
cd "$(dirname "$0")/.."
tree=$PWD
work=$tree/target/wheels-work
root=$work/root
venv=$work/venv
pip="$venv/bin/pip install --quiet --disable-pip-version-check"

case ${1:-linux} in
linux) target=aarch64-unknown-linux-gnu options="--compatibility manylinux2014" std=libstd-rust-web-dev:arm64 ;;
macos) target=aarch64-apple-darwin options= std=rust-web-src ;;
*) echo "wheels: $1 is not supported: expected linux or macos" >&2 && exit 2 ;;
esac
tools=$work/tools-$target

not_built() {
    echo "NOT BUILT: a wheel for $target: $1" >&2
    exit 0
}

# Debian's packages $3..., those that this machine lacks (by the list $2) and those of arm64, unpacked into $1.
unpack() {
    into=$1 installed=$2
    shift 2
    mkdir -p "$into" "$work/apt/lists/partial" "$into.debs/partial"
    cat >"$work/apt.conf" <<END
APT::Architectures { $([ -s "$installed" ] && printf '"%s"; ' "$(dpkg --print-architecture)") "arm64"; };
$([ -s "$installed" ] || echo 'APT::Architecture "arm64";')
APT::Install-Recommends "false";
Dir::State "$work/apt";
Dir::State::status "$installed";
Dir::Cache "$work/apt";
Dir::Cache::archives "$into.debs";
END
    # By this file the machine's own lists and packages stay as they are.
    APT_CONFIG=$work/apt.conf timeout 120 apt-get update -qq &&
        APT_CONFIG=$work/apt.conf timeout 300 apt-get install -qq -y --download-only --reinstall "$@" >"$into.log" || return 1
    for package in "$into.debs"/*.deb; do dpkg -x "$package" "$into"; done
    rm -r "$into.debs"
}

has_std() { [ -d "$("$1" --print sysroot)/lib/rustlib/$target/lib" ]; }

# Sets RUSTC to a compiler that has the standard library of the target, or its source: then it is built, too.
find_compiler() {
    RUSTC=$(rustup which rustc 2>/dev/null || command -v rustc)
    has_std "$RUSTC" && return
    RUSTC=$work/rustc-$target
    if [ ! -x "$RUSTC" ]; then
        command -v apt-get >/dev/null &&
            unpack "$tools" /var/lib/dpkg/status rustc-web libstd-rust-web-dev "$std" || return 1
        cat >"$RUSTC" <<END
#!/bin/sh
LD_LIBRARY_PATH=$(dirname "$(find "$tools" -name 'librustc_driver-*.so' -path "*$(uname -m)*")") exec $tools/usr/bin/rustc "\$@"
END
        chmod +x "$RUSTC"
    fi
    has_std "$RUSTC" && return
    # Cargo builds it only where unstable options are allowed.
    # Debian has no rust-objcopy, which takes symbols out for macOS.
    options="$options -Z build-std=std,panic_unwind" RUSTC_BOOTSTRAP=1 CARGO_PROFILE_RELEASE_STRIP=none
    export RUSTC_BOOTSTRAP CARGO_PROFILE_RELEASE_STRIP
    [ -e "$tools/usr/lib/rustlib/src/rust/library/Cargo.lock" ]
}

# What macOS links against and zig does not have: CoreFoundation, of which the name is enough, since what is not found is
# looked up when the package is loaded. Nothing is made where SDKROOT has the real one.
name_frameworks() {
    [ "$target" = aarch64-apple-darwin ] && [ -z "${SDKROOT:-}" ] || return 0
    framework=System/Library/Frameworks/CoreFoundation.framework
    SDKROOT=$work/sdk
    export SDKROOT
    mkdir -p "$SDKROOT/$framework" "$SDKROOT/usr/lib" "$SDKROOT/usr/include"
    cat >"$SDKROOT/$framework/CoreFoundation.tbd" <<END
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: /$framework/Versions/A/CoreFoundation
...
END
}

# A Python for aarch64 with what the tests need, which behaves as if it were installed: $work/python.
find_python() {
    python=$work/python site=$work/site
    if [ ! -x "$python" ]; then
        command -v apt-get >/dev/null || return 1
        qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || echo "$work/qemu/usr/bin/qemu-aarch64-static")
        [ -x "$qemu" ] || unpack "$work/qemu" /var/lib/dpkg/status qemu-user-static || return 1
        : >"$work/none"
        unpack "$root" "$work/none" python3 libstdc++6 || return 1
        # Called by this path, so that a program it starts by its own name is started the same way.
        printf '#!/bin/sh\nexec %s -L %s -0 %s %s "$@"\n' "$qemu" "$root" "$python" "$root/usr/bin/python3" >"$python"
        chmod +x "$python"
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    [ -d "$site" ] || $pip --target "$site" --only-binary :all: --implementation cp --python-version "$version" \
        --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux_2_28_aarch64 \
        "numpy>=2" pandas pyarrow matplotlib tqdm pytest==9.2.0
}

[ $# = 0 ] || shift
[ $# -gt 0 ] || set -- .
mkdir -p "$work"
[ -x "$venv/bin/maturin" ] || {
    python3 -m venv "$venv"
    $pip maturin==1.16.0 ziglang==0.17.1 || not_built "maturin and ziglang, which are packages of Python, cannot be had"
}
find_compiler || not_built "no compiler has its standard library: expected one of rustup target add $target"
name_frameworks

wheels=$tree/target/wheels/$target
rm -rf "$wheels"
(
    cd crates/python
    CARGO_TARGET_DIR=$work/target CARGO_INCREMENTAL=0 RUSTC=$RUSTC PATH=$venv/bin:$PATH
    export CARGO_TARGET_DIR CARGO_INCREMENTAL RUSTC PATH
    maturin build --locked --release --target "$target" --zig $options --out "$wheels"
)
[ "$target" = aarch64-unknown-linux-gnu ] || exit 0

find_python || {
    echo "NOT TRIED: $(echo "$wheels"/*.whl): a Python for aarch64 with its packages, or qemu, cannot be had" >&2
    exit 0
}
command=${HOTSET:-target/debug/hotset}
[ -n "${HOTSET:-}" ] || cargo build --locked --bin hotset
$pip --target "$work/site" --upgrade --no-deps --only-binary :all: --platform manylinux2014_aarch64 --implementation cp --abi abi3 "$wheels"/*.whl
command=$(realpath "$command")
# All rows are compared with those of the command of this machine, except times: qemu is slow.
cd crates/python/tests
HOTSET=$command PYTHONPATH=$work/site \
    "$work/python" -m pytest --quiet -p no:cacheprovider --ignore cluster -k "not within_a_second and not at_once_and" "$@"
