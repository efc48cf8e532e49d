#!/bin/sh
# Runs every experiment and writes its table under the words of its page in docs/experiments: the text above the mark
# stays. Traces are looked for in HOTSET_TRACES, by default ../shared/traces beside the checkout.
set -eu
cd "$(dirname "$0")/.."
HOTSET_TRACES=${HOTSET_TRACES:-$PWD/../shared/traces}
export HOTSET_TRACES
mark='<!-- What follows is printed by the command. -->'

for folder in experiments/*/; do
    name=$(basename "$folder")
    page=docs/experiments/$name.md
    if ! grep -qxF "$mark" "$page"; then
        echo "experiments: $page has no line "$mark" to write under" >&2
        exit 1
    fi
    new=$(mktemp "$page.XXXXXX")
    trap 'rm -f "$new"' EXIT
    { sed "/^$mark\$/q" "$page" && echo && target/release/hotset experiment --markdown "$folder"*.toml; } >"$new"
    chmod 644 "$new"
    mv "$new" "$page"
    echo "experiments: $page"
done
