#!/bin/sh
# Checks every package of the lock file by the rules of deny.toml: licence, origin, known advisories.
# The advisories come by git, or from a clone of the advisory database of RustSec in the folder ADVISORIES. An audit that has none fails.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/target/tools/bin:$PATH

if [ -n "${ADVISORIES:-}" ]; then
    ADVISORIES=$(cd "$ADVISORIES" && pwd)
    echo "audit: advisories as of $(git -C "$ADVISORIES" log -1 --format=%cs)"
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_VALUE_0=https://github.com/RustSec/advisory-db
    export GIT_CONFIG_KEY_0="url.file://$ADVISORIES.insteadOf"
fi

cargo deny --locked check licenses sources bans
if ! cargo deny --locked fetch db; then
    echo "audit: NOT CHECKED: known advisories, which cannot be fetched here (see above)." >&2
    echo "audit: say ADVISORIES=DIR, a clone of https://github.com/RustSec/advisory-db made elsewhere" >&2
    exit 1
fi
cargo deny --locked --offline check advisories
