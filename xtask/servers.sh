#!/bin/sh
# Mounts stores of other makers, copies, reads, overwrites, moves and deletes there, and compares: versitygw, which speaks
# S3, and Azurite, which speaks Azure's protocol. Both are fetched into target/servers (Go's and Node's package managers,
# which must be there) and listen on loopback while this runs. A server that cannot be fetched is named and left out.
set -eu
cd "$(dirname "$0")/.."
tree=$PWD
work=$tree/target/servers
hotset=${HOTSET:-$tree/target/debug/hotset}
mkdir -p "$work"
[ -n "${HOTSET:-}" ] || cargo build --locked --quiet --bin hotset

started=
mounted=
end() {
    [ -z "$mounted" ] || umount -l "$mounted" 2>/dev/null || true
    [ -z "$started" ] || kill -9 $started 2>/dev/null || true
}
trap end EXIT

fail() {
    echo "servers: $1" >&2
    exit 1
}

# Waits until something listens on a port of loopback.
wait_for() {
    for _ in $(seq 100); do
        python3 -c "import socket; socket.create_connection(('127.0.0.1', $1), 1)" 2>/dev/null && return
        sleep 0.2
    done
    fail "nothing listens on port $1: $(tail -n 3 "$work/log")"
}

# A server in the background; its output is in the log.
start() {
    "$@" >"$work/log" 2>&1 &
    started="$started $!"
}

# What a user does, through a mount of the store at $1.
try() {
    at=$work/at
    mkdir -p "$at"
    "$hotset" mount "$1" "$at" --memory 64M --writable --staleness 1s 2>"$work/mounted" &
    mount=$!
    for _ in $(seq 100); do mountpoint -q "$at" && break || sleep 0.1; done
    mountpoint -q "$at" || fail "$1 cannot be mounted: $(cat "$work/mounted")"
    mounted=$at
    mkdir "$at/t"
    cp -r xtask "$at/t/tree"
    diff -r xtask "$at/t/tree" || fail "$1: a tree is not what was copied"
    head -c 30000000 /dev/urandom >"$work/big"
    cp "$work/big" "$at/t/big"
    mv "$at/t/big" "$at/t/moved"
    cmp "$work/big" "$at/t/moved" || fail "$1: a file of four parts is not what was copied"
    [ ! -e "$at/t/big" ] || fail "$1: what was moved is still there"
    cp xtask/setup.sh "$work/more"
    echo more | tee -a "$work/more" >>"$at/t/tree/setup.sh"
    cmp "$work/more" "$at/t/tree/setup.sh" || fail "$1: what was appended to is not what it should be"
    (set -C && echo one >"$at/t/new")
    ! (set -C && echo two >"$at/t/new") 2>/dev/null || fail "$1: what was there was made anew"
    rm -r "$at/t"
    [ -z "$(ls "$at")" ] || fail "$1: something is left"
    umount "$at"
    mounted=
    wait "$mount" || fail "$1: the mount has failed: $(cat "$work/mounted")"
    echo "servers: $1 ($2): passed"
}

if command -v go >/dev/null && GOBIN=$work go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 2>"$work/log"; then
    rm -rf "$work/s3" && mkdir -p "$work/s3/bucket"
    start "$work/versitygw" --access key --secret secretsecret --port 127.0.0.1:7470 posix "$work/s3"
    wait_for 7470
    AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secretsecret AWS_REGION=us-east-1 AWS_ENDPOINT_URL=http://127.0.0.1:7470
    export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION AWS_ENDPOINT_URL
    try s3://bucket/data versitygw
else
    echo "servers: NOT TRIED: versitygw cannot be had (needs go): $(tail -n 1 "$work/log" 2>/dev/null)" >&2
fi

if command -v npm >/dev/null && npm install --silent --no-audit --no-fund --prefix "$work" azurite@3.37.0 >"$work/log" 2>&1; then
    rm -rf "$work/azure" && mkdir -p "$work/azure"
    start "$work/node_modules/.bin/azurite-blob" --blobHost 127.0.0.1 --blobPort 7471 --location "$work/azure" --skipApiVersionCheck
    wait_for 7471
    # The account and key that every Azurite has, by its documentation.
    AZURE_STORAGE_ACCOUNT_NAME=devstoreaccount1
    AZURE_STORAGE_ACCOUNT_KEY='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
    AZURE_STORAGE_ENDPOINT=http://127.0.0.1:7471/devstoreaccount1 AZURE_ALLOW_HTTP=true
    export AZURE_STORAGE_ACCOUNT_NAME AZURE_STORAGE_ACCOUNT_KEY AZURE_STORAGE_ENDPOINT AZURE_ALLOW_HTTP
    # A container, by a request that is signed with the account's key.
    python3 - <<'END'
import base64, hashlib, hmac, os, time, urllib.request
account, key = os.environ["AZURE_STORAGE_ACCOUNT_NAME"], base64.b64decode(os.environ["AZURE_STORAGE_ACCOUNT_KEY"])
headers = {"x-ms-date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()), "x-ms-version": "2021-08-06"}
named = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
signed = "PUT" + 12 * "\n" + named + f"/{account}/{account}/bucket\nrestype:container"
signature = base64.b64encode(hmac.new(key, signed.encode(), hashlib.sha256).digest()).decode()
headers["Authorization"] = f"SharedKey {account}:{signature}"
url = os.environ["AZURE_STORAGE_ENDPOINT"] + "/bucket?restype=container"
urllib.request.urlopen(urllib.request.Request(url, method="PUT", headers=headers))
END
    try az://bucket/data Azurite
else
    echo "servers: NOT TRIED: Azurite cannot be had (needs npm): $(tail -n 1 "$work/log" 2>/dev/null)" >&2
fi
