"""Which chunk suits a machine: `python -m hfreduce.bench.chunks [--nodes 4] [--link-gbps 1]`.

Prints HFReduce's rate for each `chunk_bytes`, and how many chunks are under way (`depth`). The
best pair goes into node.json, alike on all nodes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from hfreduce.bench.nodes import Nodes, unusable
from hfreduce.bench.runs import Layout, RunError, run

_CHUNKS = tuple(64 << power for power in range(10, 16))
_DEPTHS = (4, 8, 16)


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0, or 1 if a run failed, 2 if what is asked for cannot be."""
    parser = argparse.ArgumentParser(prog="python -m hfreduce.bench.chunks", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--ranks-per-node", type=int, default=8)
    parser.add_argument("--link-gbps", type=float, default=1.0, help="of each node's link")
    parser.add_argument("--bytes", type=int, default=64 << 20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chunks", type=int, nargs="+", default=_CHUNKS)
    parser.add_argument("--depths", type=int, nargs="+", default=_DEPTHS)
    said = parser.parse_args(argv)
    alone = said.nodes == 1
    if not alone and (why := unusable()):
        parser.error(f"--nodes {said.nodes}: {why}")
    layout = Layout(said.nodes, said.ranks_per_node, None if alone else said.link_gbps)
    try:
        with nullcontext() if alone else Nodes(said.nodes, link_gbps=said.link_gbps) as nodes:
            _table(layout, nodes, said)
    except (RunError, OSError) as error:
        print(f"hfreduce.bench.chunks: {error}", file=sys.stderr)
        return 1
    return 0


def _table(layout: Layout, nodes: Nodes | None, said: argparse.Namespace) -> None:
    print(f"{'chunk':>8}" + "".join(f"{f'depth {depth}':>12}" for depth in said.depths))
    for chunk in said.chunks:
        rates = [_gbps(layout, nodes, said, chunk, depth) for depth in said.depths]
        print(f"{chunk >> 10:>4} KiB" + "".join(f"{rate:>7.2f} Gb/s" for rate in rates))


def _gbps(
    layout: Layout, nodes: Nodes | None, said: argparse.Namespace, chunk: int, depth: int
) -> float:
    os.environ |= {"HFREDUCE_CHUNK_BYTES": str(chunk), "HFREDUCE_DEPTH": str(depth)}
    times = [run("hfreduce", layout, nodes, [said.bytes], 0.5) for _ in range(said.rounds)]
    size: int = said.bytes
    return size * 8 / statistics.median(each[size] for each in times) / 1e9


if __name__ == "__main__":
    sys.exit(main())
