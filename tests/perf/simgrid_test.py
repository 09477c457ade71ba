#!/usr/bin/env python3
"""Runs sglsim on small networks and checks what must hold of its rows.

  simgrid_test.py SGLSIM
"""

import json
import os
import subprocess
import sys
import tempfile

NODES, PER_NODE, BYTES = 16, 2, 65536
LINK_BYTES_PER_US = 12_500


def rows_of(sglsim):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "rows.json")
        subprocess.run([sglsim, "--nodes", str(NODES), "--per-node", str(PER_NODE), "--bytes",
                        str(BYTES), "--json", file], check=True, stdout=subprocess.DEVNULL)
        with open(file, encoding="utf-8") as text:
            return json.load(text)["rows"]


def wrongs(row):
    """What is not as it must be, in a row."""
    ranks = row["nodes"] * row["per_node"]
    both = row["flat"]["messages"] > 0  # else the algorithm needs the machine
    for kind in ("flat", "shaped") if both else ("shaped",):
        result = row[kind]
        if row["collective"] == "bcast" and result["messages"] < ranks - 1:
            yield f"{kind}: {result['messages']} messages reach less than {ranks} ranks"
        if row["collective"] != "barrier" and row["algorithm"] != "scatter_allgather":
            least = BYTES / ranks if row["collective"] != "bcast" else BYTES
            if result["us"] < least / LINK_BYTES_PER_US:
                yield f"{kind}: {result['us']} us is less than the bytes need"
    if both and row["shaped"]["network_messages"] > row["flat"]["network_messages"]:
        yield "shaped by the machine, more messages cross the network"
    if row["collective"] == "bcast" and row["algorithm"] == "binomial":
        if row["shaped"]["network_messages"] != row["nodes"] - 1:
            yield "a shaped tree enters each node once"
        if row["placement"] == "cyclic" and row["shaped"]["us"] >= row["flat"]["us"]:
            yield "a shaped tree over scattered ranks is faster"


def main():
    rows = rows_of(sys.argv[1])
    failed = [(row, text) for row in rows for text in wrongs(row)]
    for row, text in failed:
        print(f"{row['platform']} {row['placement']} {row['collective']} {row['algorithm']}: {text}")
    seen = {(row["platform"], row["placement"], row["collective"]) for row in rows}
    if len(seen) != 2 * 2 * 6:
        print(f"only {sorted(seen)} were run")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
