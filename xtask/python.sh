#!/bin/sh
# Builds the package for Python with a profile of cargo, and tries it in a fresh virtual environment. With the argument
# `fetch` it only makes the environment; with `fetched` behind the profile it uses that, and the command built by the
# tests. `ray` tries sweeps over a cluster with the package that is there, and `ray fetch` only fetches its
# requirements; other arguments behind `ray` go to pytest.
set -eu
cd "$(dirname "$0")/.."
profile=${1:-release}
venv=target/python
folder=$PWD
pip="$venv/bin/pip install --quiet --disable-pip-version-check"

if [ "$profile" = ray ]; then
    shift
    [ -x "$venv/bin/pytest" ] || { echo "the package is not there yet: expected make python before" >&2; exit 1; }
    "$venv/bin/python" -c 'import ray' 2>/dev/null || $pip "ray[client]>=2.9"
    [ "${1:-}" != fetch ] || exit 0
    cd crates/python/tests/cluster
    exec "$folder/$venv/bin/pytest" --quiet "$@" .
fi

if [ "${2:-}" != fetched ]; then
    python3 -m venv --clear "$venv"
    # The package itself needs numpy alone; the others are what its tests and types are tried with.
    $pip maturin==1.16.0 pytest==9.2.0 mypy==2.4.1 "numpy>=2" pandas pyarrow matplotlib tqdm
fi
[ "$profile" != fetch ] || exit 0

command=${HOTSET:-target/debug/hotset}
[ -n "${HOTSET:-}${2:-}" ] || cargo build --locked --bin hotset

CARGO_TARGET_DIR=$PWD/target
CARGO_INCREMENTAL=0
PYO3_BUILD_EXTENSION_MODULE=1
export CARGO_TARGET_DIR CARGO_INCREMENTAL PYO3_BUILD_EXTENSION_MODULE
rm -rf target/wheels
(
    cd crates/python
    cargo fmt --check
    [ "$profile" = dev ] || cargo clippy --locked --quiet -- -D warnings
    "../../$venv/bin/maturin" build --locked --profile "$profile" --interpreter "../../$venv/bin/python"
)
$pip --no-deps --force-reinstall target/wheels/hotset-*.whl
# Not from the sources, beside which the package would be found without its native part.
(
    cd crates/python/tests
    HOTSET=$(cd "$folder" && realpath "$command") "$folder/$venv/bin/pytest" --quiet --ignore cluster .
)
(cd crates/python && "../../$venv/bin/mypy" --python-executable "../../$venv/bin/python" hotset tests)
(cd target && python/bin/stubtest --mypy-config-file ../crates/python/pyproject.toml hotset._native)
