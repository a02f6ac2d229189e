"""Cumulus Linux: each NVUE file against the documented object tree, and read back.

Values are compared as text: NVUE writes `on` and `off`, which YAML 1.1 takes for truth values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from fireflyer.model.fabric import Fabric
from fireflyer.prove.switches.nvue_planned import EMPTY, planned
from fireflyer.prove.switches.nvue_tree import TREE, Rule
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.prove.switches.values import Key, Values, check_values, spread

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_RULES = tuple((tuple(path.split(".")), rule) for path, rule in TREE.items())
_NEIGHBOUR = ("vrf", "default", "router", "bgp", "neighbor")
_NUMBERS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_LISTED = (
    ("qos", "mapping", "default-global", "dscp"),
    ("qos", "egress-queue-mapping", "default-global", "switch-priority"),
    ("qos", "egress-scheduler", "default-global", "traffic-class"),
    ("qos", "congestion-control", "default-global", "traffic-class"),
)
"""Objects whose names may be several numbers, such as 1,2 or 1-3."""


def check(fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the configurations below `tree/nvue` with the object tree and the fabric."""
    count, findings = check_values(fabric, tree, "nvue", ".yaml", read, planned)
    checker = "the documented object tree of Cumulus Linux 5.11"
    return SwitchCheck(checker=checker, files=count, findings=findings)


def read(text: str) -> tuple[Values, list[str]]:
    """Return every leaf of a configuration, and where it leaves the object tree."""
    try:
        document = yaml.compose(text, Loader=_LOADER)
        root = _root(document)
        leaves = list(_leaves(root, ()))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return {}, [f"cannot be read as a list with one `set`: {error}"]
    rules: dict[Key, Rule | None] = {}
    values: Values = {}
    faults = []
    for path, value in leaves:
        shape = _shape(path)
        if shape not in rules:
            rules[shape] = _rule(path)
        if fault := _fault(path, value, rules[shape]):
            faults.append(fault)
        for key in _keys(path):
            if key in values:
                faults.append(f"{' '.join(key)}: stands there twice")
            values[key] = value
    return values, faults


def _root(document: yaml.Node | None) -> yaml.MappingNode:
    """Return the object tree: the value of `set`, which stands alone."""
    match document:
        case yaml.SequenceNode(value=[yaml.MappingNode(value=[(key, yaml.MappingNode() as root)])]):
            if key.value == "set" and root.value:
                return root
    raise ValueError("it has other parts, or none")


def _leaves(node: yaml.Node, path: Key) -> Iterator[tuple[Key, str]]:
    """Yield every leaf; an empty mapping is one."""
    if isinstance(node, yaml.ScalarNode):
        yield path, node.value
    elif not isinstance(node, yaml.MappingNode):
        raise ValueError(f"{' '.join(path)} is a list")
    elif not node.value:
        yield path, EMPTY
    else:
        for key, inner in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ValueError(f"a name in {' '.join(path)} is no text")
            yield from _leaves(inner, (*path, key.value))


def _keys(path: Key) -> Iterator[Key]:
    """Yield a path for each number where a name stands for several."""
    for at in _LISTED:
        if path[: len(at)] == at and len(path) > len(at):
            for number in _numbers(path[len(at)]):
                yield (*at, number, *path[len(at) + 1 :])
            return
    if path[:2] == ("qos", "pfc") and path[3:4] == ("switch-priority",) and len(path) == 5:
        for number in _numbers(path[4]):
            yield (*path[:4], number)
        return
    yield path


def _numbers(name: str) -> Iterator[str]:
    """Yield the numbers of a list such as `1,3-5`; any other name as it is."""
    if not _NUMBERS.fullmatch(name):
        yield name
        return
    for part in name.split(","):
        first, _, last = part.partition("-")
        yield from spread(first, last or first) or (part,)


def _shape(path: Key) -> Key:
    """Return a path without its interface or neighbour: a hundred of them share one rule."""
    if path[0] == "interface":
        return ("interface", "*", *path[2:])
    if path[:5] == _NEIGHBOUR:
        return (*_NEIGHBOUR, "*", *path[6:])
    return path


def _rule(path: Key) -> Rule | None:
    """Return the rule of a path, one that names every part before one with `*`."""
    fitting = [
        (pattern.count("*"), rule)
        for pattern, rule in _RULES
        if len(pattern) == len(path)
        and all(part in ("*", name) for part, name in zip(pattern, path, strict=True))
    ]
    return min(fitting, key=lambda found: found[0])[1] if fitting else None


def _fault(path: Key, value: str, rule: Rule | None) -> str:
    where = " ".join(path)
    if rule is None:
        return f"{where}: is not in the object tree"
    if isinstance(rule, range):
        if value.isdecimal() and int(value) in rule:
            return ""
        return f"{where}: {value} is not {rule[0]} to {rule[-1]}"
    return "" if rule.fullmatch(value) else f"{where}: {value} does not match {rule.pattern}"
