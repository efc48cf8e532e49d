#!/usr/bin/env python3
"""The same rows in each trace format that libCacheSim reads, too: hits of lru and fifo counted by both.

    benches/formats.py --hotset BIN --out FILE.md        # in target/compare-venv, see `make compare`

Each trace has requests for single blocks of 4096 bytes of one device, since libCacheSim counts a row as one object and ignores the device.
`lcs` is written by `hotset import` and `oracle-general` by numpy. The peer is a comparator only: nothing of it is read or kept.
"""

import argparse
import json
import os
import struct
import subprocess
import tempfile

import libcachesim as peer
import numpy as np

from compare import write_oracle_general

ROWS = 200_000
SIZES = [500, 5000]
PEERS = {"lru": peer.LRU, "fifo": peer.FIFO}


def csv(separator=",", header=False, **fields):
    """Parameters of the peer for a table; fields count from 1."""
    params = peer.ReaderInitParam(ignore_obj_size=True, has_header=header, delimiter=separator, obj_id_is_num=True)
    params.has_header_set = params.obj_id_is_num_set = True
    for name, number in fields.items():
        setattr(params, f"{name}_field", number)
    return peer.TraceType.CSV_TRACE, params


def text():
    return peer.TraceType.PLAIN_TXT_TRACE, peer.ReaderInitParam(ignore_obj_size=True)


# Format: the line before the rows, a row of (number, block), and the peer's parameters for it.
TABLES = {
    "ids": ("", lambda n, b: f"{b}", text),
    "lirs": ("", lambda n, b: f"{b}", text),
    "spc": ("", lambda n, b: f"0,{b * 8},4096,R,{n // 1000}.{n % 1000:06d}", lambda: csv(obj_id=2, obj_size=3)),
    "msr": (
        "",
        lambda n, b: f"{128166372003061629 + n},hm,1,Read,{b * 4096},4096,413",
        lambda: csv(time=1, obj_id=5, obj_size=6),
    ),
    "csv": ("time,key,size\n", lambda n, b: f"{n // 1000},{b},4096", lambda: csv(header=True, time=1, obj_id=2, obj_size=3)),
    "systor17": (
        "Timestamp,Response,IOType,LUN,Offset,Size\n",
        lambda n, b: f"{1456041600 + n // 1000}.{n % 1000:09d},0.000120,R,0,{b * 4096},4096",
        lambda: csv(header=True, obj_id=5, obj_size=6),
    ),
    "tencent-cbs": (
        "",
        lambda n, b: f"{1538323200 + n // 1000},{b * 8},8,0,1063",
        lambda: csv(time=1, obj_id=2, obj_size=3),
    ),
    "alibaba": (
        "",
        lambda n, b: f"419,R,{b * 4096},4096,{1577808144360767 + n}",
        lambda: csv(obj_id=3, obj_size=4),
    ),
    "cloud-physics": (
        "",
        lambda n, b: f"{5633898611441 + n},{b * 8},8,40,2",
        lambda: csv(obj_id=2, obj_size=3),
    ),
    "webcachesim": ("", lambda n, b: f"{n // 1000} {b} 4096 7", lambda: csv(separator=" ", time=1, obj_id=2, obj_size=3)),
}


def peer_hits(path, kind, params, policy, size):
    reader = peer.TraceReader(path, kind, params)
    miss_ratio, _ = PEERS[policy](size).process_trace(reader)
    return round((1 - miss_ratio) * ROWS)


def own_hits(hotset, path, name):
    sizes = ",".join(map(str, SIZES)) + " blocks"
    command = [hotset, "simulate", f"{name}:{path}", "--policy", ",".join(PEERS), "--size", sizes, "--json", "-"]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    return {(row["policy"], row["size_blocks"]): row["hits"] for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hotset", default="target/release/hotset")
    parser.add_argument("--out", default="target/formats.md")
    args = parser.parse_args()

    draw = np.random.default_rng(1)
    blocks = (draw.zipf(1.2, ROWS) % 40_000).astype(np.uint64)
    lines = ["| format | rows | cells that agree | cells |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        traces = {}
        for name, (header, row, how) in TABLES.items():
            path = os.path.join(folder, name)
            with open(path, "w") as file:
                file.write(header)
                file.writelines(row(number, int(block)) + "\n" for number, block in enumerate(blocks))
            traces[name] = (path, *how())
        path = os.path.join(folder, "oracleGeneral")
        write_oracle_general(blocks, path)
        params = peer.ReaderInitParam(ignore_obj_size=True)
        traces["oracle-general"] = (path, peer.TraceType.ORACLE_GENERAL_TRACE, params)
        path = os.path.join(folder, "written.lcs")
        subprocess.run([args.hotset, "import", traces["csv"][0], "-o", path], check=True, stdout=subprocess.DEVNULL)
        traces["lcs"] = (path, peer.TraceType.LCS_TRACE, params)
        path = os.path.join(folder, "vscsi")
        with open(path, "wb") as file:
            for number, block in enumerate(blocks):
                file.write(struct.pack("<IIIHHQQ", number, 4096, 1, 0x28, 0x0100, int(block) * 8, 1_000_000 + number))
        traces["vscsi"] = (path, peer.TraceType.VSCSI_TRACE, params)
        for name, (path, kind, params) in traces.items():
            own = own_hits(args.hotset, path, name)
            agree = 0
            for (policy, size), hits in own.items():
                other = peer_hits(path, kind, params, policy, size)
                agree += hits == other
                if hits != other:
                    print(f"{name} {policy} {size}: {hits} here, {other} there")
            lines.append(f"| `{name}` | {ROWS:,} | {agree} | {len(own)} |")
            print(lines[-1], flush=True)
    with open(args.out, "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
