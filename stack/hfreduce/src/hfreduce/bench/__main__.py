"""HFReduce against Gloo and Open MPI, in one run.

Two layouts: 8 ranks on one node, and 4 nodes of 2 ranks, which are network namespaces of this
machine joined by links of a given speed (needs root). The libraries take turns; a figure is the
median of the rounds. What is not installed, or not allowed, is left out and said.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from hfreduce.bench import libraries
from hfreduce.bench.limits import bound_of, memory_gbytes_per_s
from hfreduce.bench.nodes import Nodes, unusable
from hfreduce.bench.report import Figure, plot, table
from hfreduce.bench.runs import Layout, RunError, Times, run
from hfreduce.bench.worker import RECIPE_BYTES

_SIZES = (*(1 << power for power in range(10, 29, 2)), RECIPE_BYTES)
_QUICK_SIZES = (1 << 10, 1 << 16, 1 << 20, 16 << 20)


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0, 1 if HFReduce itself gave no figures, 2 if what is asked for cannot be."""
    parser = argparse.ArgumentParser(prog="python -m hfreduce.bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--quick", action="store_true", help="four sizes, one round")
    parser.add_argument(
        "--libraries", nargs="+", choices=libraries.NAMES[1:], default=libraries.NAMES[1:],
        help="to compare with",
    )  # fmt: skip
    parser.add_argument("--layout", choices=("node", "nodes", "both"), default="both")
    parser.add_argument("--link-gbps", type=float, default=1.0, help="of each node's link")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="to spend on a size")
    parser.add_argument("--plot", type=Path, help="SVG file to draw the figures in")
    said = parser.parse_args(argv)
    if said.link_gbps <= 0 or said.rounds < 1 or said.seconds <= 0:
        parser.error("--link-gbps, --rounds and --seconds are more than 0")
    if said.quick:
        said.rounds, said.seconds = 1, min(said.seconds, 0.2)
    names = ["hfreduce", *(name for name in said.libraries if not _without(name))]
    layouts = [Layout(1, 8)] if said.layout != "nodes" else []
    if said.layout != "node":
        if why := unusable():
            _say(f"without the layout of 4 nodes: {why}")
        else:
            layouts.append(Layout(4, 2, said.link_gbps))
    if not layouts:
        return 2
    memory = memory_gbytes_per_s()
    figures: list[Figure] = []
    for layout in layouts:
        sizes = _QUICK_SIZES if said.quick else _SIZES
        try:
            times = _measure(layout, names, sizes, said.rounds, said.seconds)
        except (RunError, OSError) as error:
            _say(str(error))
            return 1
        figures += _figures(layout, sizes, times, memory)
    if said.json:
        print(json.dumps([{key: getattr(f, key) for key in Figure.__slots__} for f in figures]))
        return 0
    print(table(figures))
    if not said.plot:
        return 0
    try:
        plot(figures, said.plot)
        print(f"\nplot: {said.plot}")
    except ImportError:
        _say("without a plot: matplotlib is not installed")
    return 0


def _without(name: str) -> bool:
    why = libraries.missing(name)
    if why:
        _say(f"without {name}: {why}")
    return bool(why)


def _measure(
    layout: Layout, names: Sequence[str], sizes: Sequence[int], rounds: int, seconds: float
) -> dict[str, list[Times]]:
    """Run the libraries in turn. One but hfreduce that fails is left out and said."""
    times: dict[str, list[Times]] = {name: [] for name in names}
    nodes = Nodes(layout.nodes, link_gbps=layout.link_gbps) if layout.nodes > 1 else None
    try:
        for number in range(rounds):
            for name in list(times):
                _say(f"round {number + 1} of {rounds}: {layout.nodes} x {layout.ranks_per_node}"
                     f" ranks, {name}")  # fmt: skip
                try:
                    times[name].append(run(name, layout, nodes, sizes, seconds))
                except RunError as error:
                    if name == "hfreduce":
                        raise
                    _say(f"without {name}: {error}")
                    del times[name]
    finally:
        if nodes:
            nodes.close()
    return times


def _figures(
    layout: Layout, sizes: Sequence[int], times: dict[str, list[Times]], memory: float
) -> list[Figure]:
    binding = bound_of(layout, memory).binding

    def gbps(name: str, size_bytes: int) -> float | None:
        if not times.get(name):
            return None
        return size_bytes * 8 / statistics.median(each[size_bytes] for each in times[name]) / 1e9

    return [
        Figure(
            ranks_per_node=layout.ranks_per_node,
            nodes=layout.nodes,
            bytes=size,
            dtype="float32",
            hfreduce_gbps=gbps("hfreduce", size),
            gloo_gbps=gbps("gloo", size),
            mpi_gbps=gbps("mpi", size),
            bound_gbps=binding.gbytes_per_s * 8 if binding else None,
        )
        for size in sizes
    ]


def _say(text: str) -> None:
    print(f"hfreduce.bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
