#!/usr/bin/env python3
"""What of a cached file is left after a backup, a scan or a copy, with and without `hotset protect`.

Everything runs in a control group with the limit --memory, as on a machine with that much memory. A file of 3/4 of it is cached. Then each command
reads (and some write) --tree bytes in files of 100 MB. Needs root and control groups of version 1 with the memory controller, and about 2.5 times
--tree of disk below --folder. Commands that are not installed are left out.
  cargo build --release
  python3 benches/protect.py --hotset target/release/hotset --folder /on/the/disk
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from group import Group, drop

COMMANDS = {
    "tar": "tar -cf {out}/tree.tar {tree}",
    "cp": "cp -r {tree} {out}/copy",
    "grep": "grep -rc nothing-has-this {tree}",
    "rsync": "rsync -a {tree} {out}/synced",
    "restic": "RESTIC_PASSWORD=x restic -q -r {out}/repository init && RESTIC_PASSWORD=x restic -q -r {out}/repository backup {tree}",
    "gzip": "tar -c {tree} | gzip -1 > {out}/tree.tgz",
}


def cached(hotset, path):
    rows = subprocess.run([hotset, "cached", path, "--json", "-"], capture_output=True, check=True, text=True).stdout
    return sum(json.loads(row)["cached_bytes"] for row in rows.splitlines())


def run(args, folder, command, is_protected):
    out = folder / "out"
    out.mkdir()
    drop(folder)
    group = Group(args.memory)
    try:
        hot = str(folder / "hot")
        inside = dict(preexec_fn=group.enter, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["cat", hot], **inside)
        before = cached(args.hotset, hot)
        line = ["sh", "-c", command.format(tree=folder / "tree", out=out)]
        started = time.monotonic()
        done = subprocess.run([args.hotset, "protect", hot, "--", *line] if is_protected else line, **{**inside, "check": False})
        seconds = time.monotonic() - started
        assert done.returncode in (0, 1), done
        return before, cached(args.hotset, hot), seconds
    finally:
        drop(folder)
        shutil.rmtree(out)
        group.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hotset", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--memory", type=int, default=1 << 30)
    parser.add_argument("--tree", type=int, default=2_000_000_000)
    args = parser.parse_args()
    print("| command | cached before | left without | left with protect | seconds without | seconds with |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        folder = Path(folder)
        (folder / "tree").mkdir()
        (folder / "hot").write_bytes(os.urandom(args.memory * 3 // 4))
        for number in range(args.tree // 100_000_000):
            (folder / "tree" / str(number)).write_bytes(os.urandom(100_000_000))
        for name, command in COMMANDS.items():
            if not shutil.which(name):
                continue
            before, without, seconds = run(args, folder, command, False)
            _, kept, protected = run(args, folder, command, True)
            mebibytes = " | ".join(f"{size / 2**20:.0f} MiB" for size in (before, without, kept))
            print(f"| {name} | {mebibytes} | {seconds:.1f} | {protected:.1f} |", flush=True)


if __name__ == "__main__":
    main()
