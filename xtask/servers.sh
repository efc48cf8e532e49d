#!/bin/sh
# Mounts stores of other makers, copies, reads, overwrites, moves and deletes there, and compares: versitygw, which speaks
# S3, and Azurite, which speaks Azure's protocol. Both are fetched into target/servers (Go's and Node's package managers,
# which must be there). Web servers that speak WebDAV are read: rclone, nginx with dav-ext and Apache with mod_dav, where
# they are installed (Debian: rclone, nginx-extras, apache2). All listen on loopback while this runs. A server that cannot
# be had is named and left out.
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

# The work of a user, through a mount of the store at $1.
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
    [ ! -e "$at/t/big" ] || fail "$1: a moved file is still there"
    cp xtask/setup.sh "$work/more"
    echo more | tee -a "$work/more" >>"$at/t/tree/setup.sh"
    cmp "$work/more" "$at/t/tree/setup.sh" || fail "$1: an appended file has wrong contents"
    (set -C && echo one >"$at/t/new")
    ! (set -C && echo two >"$at/t/new") 2>/dev/null || fail "$1: an existing file was made anew"
    rm -r "$at/t"
    [ -z "$(ls "$at")" ] || fail "$1: something is left"
    umount "$at"
    mounted=
    wait "$mount" || fail "$1: the mount has failed: $(cat "$work/mounted")"
    echo "servers: $1 ($2): passed"
}

# The reads of a user, through a mount of the web server at $1, which serves $web.
try_web() {
    at=$work/at
    mkdir -p "$at"
    "$hotset" mount "$1" "$at" --memory 64M --staleness 2s 2>"$work/mounted" &
    mount=$!
    for _ in $(seq 100); do mountpoint -q "$at" && break || sleep 0.1; done
    mountpoint -q "$at" || fail "$1 cannot be mounted: $(cat "$work/mounted")"
    mounted=$at
    diff -r "$web" "$at" || fail "$1: a tree is not what the server has"
    [ "$(grep -rc fail "$at/tree" | sort)" = "$(cd "$web" && grep -rc fail tree | sed "s|^|$at/|" | sort)" ] ||
        fail "$1: something else is found"
    ! echo x 2>/dev/null >"$at/new" || fail "$1: something could be written"
    # A file that is replaced while it is open is one version or an error.
    python3 - "$web/changed" "$at/changed" <<'END' || fail "$1: two versions are mixed, or the error is wrong"
import errno, os, sys, time
source, seen = sys.argv[1:]
old, stale = os.urandom(9000000), 0

def replace(content):
    with open(source + ".new", "wb") as new:
        new.write(content)
    os.rename(source + ".new", source)
    # Longer than names and versions are trusted.
    time.sleep(3)

replace(old)
file = os.open(seen, os.O_RDONLY)
assert os.pread(file, 100000, 0) == old[:100000]
replace(os.urandom(len(old)))
for at in range(len(old) - 4096, 0, -1000000):
    try:
        assert os.pread(file, 4096, at) == old[at:at + 4096], at
    except OSError as error:
        assert error.errno == errno.ESTALE, error
        stale += 1
assert stale > 3, stale
END
    cmp "$web/changed" "$at/changed" || fail "$1: the new version is not what the server has"
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

web=$work/web
rm -rf "$web" && mkdir -p "$web/tree/100% & #ü" "$web/empty"
cp -r xtask "$web/tree/100% & #ü/"
head -c 30000000 /dev/urandom >"$web/big"
head -c 9000000 /dev/urandom >"$web/changed"

if command -v rclone >/dev/null; then
    start rclone serve webdav "$web" --addr 127.0.0.1:7472 --read-only --dir-cache-time 0s
    wait_for 7472
    try_web http://127.0.0.1:7472/ rclone
else
    echo "servers: NOT TRIED: rclone is missing" >&2
fi

if [ -e /usr/lib/nginx/modules/ngx_http_dav_ext_module.so ]; then
    cat >"$work/nginx.conf" <<END
load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
user root;
daemon off;
master_process off;
pid $work/nginx.pid;
events {}
http {
    access_log off;
    client_body_temp_path $work/nginx;
    server {
        listen 127.0.0.1:7473;
        location /files/ { alias $web/; dav_ext_methods PROPFIND OPTIONS; }
    }
}
END
    start nginx -c "$work/nginx.conf" -e "$work/log"
    wait_for 7473
    try_web http://127.0.0.1:7473/files nginx
    # Outside of it the server speaks no WebDAV.
    ! "$hotset" mount http://127.0.0.1:7473/ "$work/at" --memory 64M 2>"$work/mounted" ||
        fail "a server without WebDAV was mounted"
    grep -q 'answers 405 to PROPFIND' "$work/mounted" || fail "without WebDAV: $(cat "$work/mounted")"
else
    echo "servers: NOT TRIED: nginx with dav-ext is missing" >&2
fi

if [ -e /usr/lib/apache2/modules/mod_dav_fs.so ]; then
    cat >"$work/apache.conf" <<END
ServerRoot /usr/lib/apache2
ServerName localhost
Listen 127.0.0.1:7474
PidFile $work/apache.pid
ErrorLog $work/apache.log
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule dav_module modules/mod_dav.so
LoadModule dav_fs_module modules/mod_dav_fs.so
User www-data
DavLockDB $work/locks
DocumentRoot $web
<Directory $web>
    Dav On
    Require all granted
</Directory>
END
    chmod -R a+rX "$web"
    start apache2 -f "$work/apache.conf" -X
    wait_for 7474
    try_web http://127.0.0.1:7474 Apache
else
    echo "servers: NOT TRIED: Apache with mod_dav is missing" >&2
fi
