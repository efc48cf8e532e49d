#!/usr/bin/env python3
"""Files copied into a store of objects that is mounted by hotset, by rclone and by s3fs, all in one run.

The store is that of stores.py: each request takes LATENCY_MS, a connection has CONNECTION_MB_PER_S, all together ALL_MB_PER_S. Each job has a new mount:
  one       `cp` of a file of BIG_MB
  many      `cp -r` of FILES small files in eight directories
It ends when the store has all of it: rclone's `cp` returns before that (`--vfs-cache-mode writes` sends files later), so the store is looked at until it is
complete, and both times are reported.

Needs root, /dev/fuse, rclone and s3fs. Build first:
  cargo build --release --bin hotset
  cargo build --release -p hotset-testkit --example s3
  python3 benches/stores_written.py --bin target/release --out benches/runs/stores_written.md
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

from stores import KEYS, MIB, Store


def commands(args, store, at, cache):
    """How each serves the bucket at a place, by name."""
    hotset = [f"{args.bin}/hotset", "mount", "s3://bucket", str(at), "--memory", "64M", "--staleness", "60s", "--writable"]
    rclone = ["rclone", "mount", ":s3:bucket", str(at), "--config", "/dev/null", "--s3-provider", "Other", "--s3-endpoint", store.url, "--s3-env-auth"]
    rclone += ["--vfs-cache-mode", "writes", "--vfs-write-back", "0s", "--cache-dir", str(cache), "--dir-cache-time", "60s", "--transfers", "16"]
    rclone += ["--use-server-modtime", "--s3-list-version", "2", "--s3-no-check-bucket", "--s3-chunk-size", "8Mi", "--s3-upload-concurrency", "16"]
    # The etags of that store are not checksums.
    rclone += ["--ignore-checksum"]
    s3fs = ["s3fs", "bucket", str(at), "-f", "-o", f"url={store.url},use_path_request_style,listobjectsv2,stat_cache_expire=60"]
    return {"hotset": hotset, "rclone": rclone, "s3fs": [*s3fs, "-o", f"parallel_count=16,multipart_size=8,use_cache={cache}"]}


def stored(store, size, files):
    """True if the store has objects of so many bytes together, and so many of them."""
    listed, token = [], ""
    while True:
        text = urllib.request.urlopen(f"{store.url}/bucket?list-type=2&prefix=&continuation-token={token}").read().decode()
        listed += [int(part.split("<")[0]) for part in text.split("<Size>")[1:]]
        if "<NextContinuationToken>" not in text:
            return len(listed) >= files and sum(listed) >= size
        token = urllib.request.quote(text.split("<NextContinuationToken>")[1].split("<")[0])


def run(args, name, source, copy):
    """Seconds until the copy has returned, and until the store has all, what the store counted, MiB of memory."""
    files = [path for path in source.rglob("*") if path.is_file()] if source.is_dir() else [source]
    with tempfile.TemporaryDirectory() as folder:
        at, cache, empty = (Path(folder) / part for part in ("at", "cache", "empty"))
        [path.mkdir() for path in (at, cache, empty)]
        store = Store(args, empty)
        keys = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": store.url}
        keys.pop("AWS_CA_BUNDLE", None)
        with open(Path(folder) / "log", "w+") as log:
            process = subprocess.Popen(commands(args, store, at, cache)[name], env=keys, stdout=log, stderr=log)
            while not os.path.ismount(at):
                if process.poll() is not None:
                    log.seek(0)
                    sys.exit(f"{name} has ended: {log.read()}")
                time.sleep(0.01)
            try:
                store.counts()
                started = time.monotonic()
                done = subprocess.run([*copy, str(source), str(at)], capture_output=True, text=True)
                returned = time.monotonic() - started
                if done.returncode:
                    log.seek(0)
                    sys.exit(f"{name}: {done.stderr}{log.read()}")
                counted, size = store.counts(), sum(path.stat().st_size for path in files)
                while not stored(store, size, len(files)):
                    if time.monotonic() - started > args.most:
                        sys.exit(f"{name}: the store never had all")
                    time.sleep(0.05)
                there = time.monotonic() - started
                peak = next(line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
            except BaseException:
                subprocess.run(["umount", "-l", str(at)])
                process.kill()
                raise
            while subprocess.run(["umount", str(at)], capture_output=True).returncode:
                time.sleep(0.1)
            process.wait()
        later = store.counts()
        store.end()
    # Requests of the final check are not counted.
    asked = sum(counted[key] for key in ("gets", "heads", "changes")) + counted["lists"] + later["changes"] + later["heads"] + later["gets"]
    return returned, there, asked, int(peak.split()[1]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out")
    parser.add_argument("--big-mb", type=int, default=256)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--latency-ms", type=int, default=20)
    parser.add_argument("--connection-mb-per-s", type=int, default=50)
    parser.add_argument("--all-mb-per-s", type=int, default=250)
    parser.add_argument("--most", type=int, default=120, help="seconds")
    args = SimpleNamespace(**vars(parser.parse_args()), slow=None)
    draw, lines = random.Random(3), ["| | copied by | `cp` returns, s | all in the store, s | requests | memory, MiB |", "|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        big, many = Path(folder) / "big", Path(folder) / "many"
        big.write_bytes(b"".join(draw.randbytes(MIB) for _ in range(args.big_mb)))
        for number in range(args.files):
            path = many / f"d{number % 8}" / f"f{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(draw.randbytes(draw.randrange(1 << 10, 16 << 10)))
        for job, source, copy in [(f"{args.big_mb} MiB", big, ["cp"]), (f"{args.files} small files", many, ["cp", "-r"])]:
            for name in ("hotset", "rclone", "s3fs"):
                returned, there, asked, peak = run(args, name, source, copy)
                lines.append(f"| {job} | {name} | {returned:.2f} | {there:.2f} | {asked} | {peak:.0f} |")
                print(lines[-1], flush=True)
    if args.out:
        Path(args.out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
