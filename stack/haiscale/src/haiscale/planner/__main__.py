"""The command line: `python -m haiscale.planner`."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from haiscale.errors import HaiscaleError
from haiscale.layout import Layout, layout_of
from haiscale.node import NodeModel, node_from, plain_node
from haiscale.planner.place import place
from haiscale.planner.plan import Zone, zones_of
from haiscale.planner.report import as_json, as_text


def main(argv: Sequence[str] | None = None) -> int:
    """Print a plan; return 2 where there is none."""
    arguments = _parser().parse_args(argv)
    try:
        node = _node(arguments)
        zones = _zones(arguments)
        plan = place(
            _layout(arguments, node, zones),
            node,
            zones,
            co_locate_stages=arguments.co_locate_stages,
        )
    except (HaiscaleError, OSError) as error:
        print(f"haiscale.planner: {error}", file=sys.stderr)
        return 2
    print(json.dumps(as_json(plan)) if arguments.json else as_text(plan), end="")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m haiscale.planner",
        description="Map the ranks of a training job to nodes, and say why.",
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--nodes", type=int, help="number of nodes, all in one zone")
    where.add_argument(
        "--zone",
        action="append",
        metavar="NAME=NODES",
        help="a zone, with the number of its nodes or their names with commas; may be repeated",
    )
    parser.add_argument("--node", type=Path, help="the node's profile, as JSON or YAML")
    parser.add_argument("--gpus-per-node", type=int, help="of a node without a profile (8)")
    parser.add_argument("--nics-per-node", type=int, help="of a node without a profile (1)")
    parser.add_argument(
        "--nvlink", help="GPUs that NVLink joins, as 0-1,2-3, or none; over the profile's"
    )
    parser.add_argument("--dp", type=int, help="data-parallel degree; by default what is left")
    parser.add_argument("--pp", type=int, default=1, help="pipeline stages (1)")
    parser.add_argument("--tp", type=int, default=1, help="tensor-parallel degree (1)")
    parser.add_argument("--ep", type=int, default=1, help="expert-parallel degree (1)")
    parser.add_argument(
        "--co-locate-stages",
        action="store_true",
        help="allow neighbouring stages of one pipeline to share a node",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _layout(arguments: argparse.Namespace, node: NodeModel, zones: Sequence[Zone]) -> Layout:
    if arguments.dp is not None:
        return Layout(dp=arguments.dp, pp=arguments.pp, tp=arguments.tp, ep=arguments.ep)
    world = sum(len(zone.nodes) for zone in zones) * len(node.gpus)
    return layout_of(world, pp=arguments.pp, tp=arguments.tp, ep=arguments.ep)


def _zones(arguments: argparse.Namespace) -> tuple[Zone, ...]:
    if arguments.nodes is not None:
        return zones_of({"a": arguments.nodes})
    zones: list[Zone] = []
    for text in arguments.zone:
        name, equals, nodes = text.partition("=")
        if not (name and equals and nodes):
            raise HaiscaleError(f"--zone is {text!r}; write NAME=NUMBER or NAME=HOST,HOST")
        if any(zone.name == name for zone in zones):
            raise HaiscaleError(f"--zone {name} is given twice: put its nodes into one")
        if nodes.isdecimal():
            zones += zones_of({name: int(nodes)})
        else:
            zones.append(Zone(name, tuple(filter(None, nodes.split(",")))))
    return tuple(zones)


def _node(arguments: argparse.Namespace) -> NodeModel:
    groups = _groups(arguments.nvlink)
    if arguments.node is None:
        gpus, nics = arguments.gpus_per_node or 8, arguments.nics_per_node or 1
        return plain_node(gpus, nvlink=groups, nics=nics)
    for option in ("gpus_per_node", "nics_per_node"):
        if getattr(arguments, option) is not None:
            name = option.replace("_", "-")
            raise HaiscaleError(f"--{name} is given with --node, whose profile says it: drop one")
    found = node_from(_parse(arguments.node))
    if groups is None:
        return found
    return NodeModel(name=found.name, gpus=found.gpus, nics=found.nics, nvlink=groups)


def _groups(text: str | None) -> tuple[tuple[int, ...], ...] | None:
    if text is None or text == "none":
        return None if text is None else ()
    groups = [group.split("-") for group in text.split(",")]
    if not all(gpu.isdecimal() for group in groups for gpu in group):
        raise HaiscaleError(f"--nvlink is {text!r}; write GPUs as 0-1,2-3, or none")
    return tuple(tuple(int(gpu) for gpu in group) for group in groups)


def _parse(path: Path) -> object:
    text = path.read_text()
    try:
        return json.loads(text)
    except ValueError as error:
        if path.suffix not in (".yml", ".yaml"):
            raise HaiscaleError(f"{path} is not JSON ({error})") from error
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise HaiscaleError(f"{path} is YAML: install pyyaml, or pass it as JSON") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise HaiscaleError(f"{path} is not YAML ({error})") from error


if __name__ == "__main__":
    sys.exit(main())
