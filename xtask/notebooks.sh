#!/bin/sh
# Runs the notebooks of docs/notebooks, or those that are named, from their first cell to their last, with the package that
# `make python` has built. With WRITE=1 what they show is written into them.
set -eu
cd "$(dirname "$0")/.."
venv=target/python
[ -x "$venv/bin/pytest" ] || { echo "the package is not there yet: expected make python before" >&2; exit 1; }
"$venv/bin/python" -c 'import nbclient, ipykernel' 2>/dev/null ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check nbclient ipykernel
[ "${1:-}" != fetch ] || exit 0
[ $# -gt 0 ] || set -- docs/notebooks/*.ipynb
PATH=$PWD/$venv/bin:$PATH
# Their output should not contain durations.
TQDM_DISABLE=1
export PATH TQDM_DISABLE
"$venv/bin/jupyter" execute --kernel_name=python3 --timeout=120 ${WRITE:+--inplace} "$@"
