#!/bin/sh
# Tries the command HOTSET, built without any feature of crates/cli/Cargo.toml: each refusal names the feature that is
# missing, and the rest works.
set -eu
hotset=$(realpath "$1")
trace=$(realpath "$(dirname "$0")/../workloads/build.hst")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir mountpoint

# refuses FEATURE WHAT ARGUMENTS…: the command fails and says so in one sentence.
refuses() {
    sentence="this build has no $2: build hotset with the feature \`$1\`"
    shift 2
    if "$hotset" "$@" >said 2>&1; then
        echo "small: hotset $* works; expected: $sentence" >&2
        exit 1
    fi
    grep -qF "$sentence" said || { echo "small: hotset $* says:" >&2; cat said >&2; echo "expected: $sentence" >&2; exit 1; }
}

"$hotset" simulate "$trace" --maps none -p lru -s 1M --json rows.jsonl >said
"$hotset" formats >said
"$hotset" mount --help >said

refuses bpf BPF record --via bpf -o recorded.hst -- true
refuses historic 'policy "mq"' simulate "$trace" -p mq -s 1M
refuses parquet Parquet simulate "$trace" -p lru -s 1M --parquet rows.parquet
refuses stores 'object stores' inspect s3://bucket/trace.csv
refuses stores 'object stores' mount s3://bucket mountpoint --memory 64M
refuses view 'pages over HTTP' view rows.jsonl
echo "small: each missing feature is named"
