"""Cumulus Linux: each NVUE file against the documented object tree, and read back.

Values are compared as text: NVUE writes `on` and `off`, which YAML 1.1 takes for truth values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias, cast

import yaml

from fireflyer.model.fabric import Fabric
from fireflyer.model.switch_config import SwitchConfig
from fireflyer.prove.switches.nvue_tree import TREE, Rule
from fireflyer.prove.switches.readback import STRICT, Seen, check_files, ruled
from fireflyer.prove.switches.result import SwitchCheck
from fireflyer.render.classes import CODE_POINTS

Value: TypeAlias = "str | Mapping[str, Value]"
Keys: TypeAlias = tuple[str, ...]
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_RULES = tuple((tuple(path.split(".")), rule) for path, rule in TREE.items())
_BGP = ("vrf", "default", "router", "bgp")
_NEIGHBOUR = (*_BGP, "neighbor")
_UNICAST = (*_BGP, "address-family", "ipv4-unicast")


def check(fabric: Fabric, tree: Path) -> SwitchCheck:
    """Compare the configurations below `tree/nvue` with the object tree and the fabric."""
    count, findings = check_files(fabric, tree, "nvue", read)
    checker = "the documented object tree of Cumulus Linux 5.11"
    return SwitchCheck(checker=checker, files=count, findings=findings)


def read(text: str, config: SwitchConfig) -> tuple[Seen, list[str]]:
    """Return what a configuration says, and where it leaves the object tree."""
    try:
        document = yaml.load(text, Loader=_LOADER)  # noqa: S506 - text alone, no objects
        root = cast(Value, document[0]["set"])
    except (yaml.YAMLError, LookupError, TypeError) as error:
        return Seen(), [f"cannot be read as a list with one `set`: {error}"]
    rules: dict[Keys, Rule | None] = {}
    faults = []
    for path, value in _leaves(root, ()):
        shape = _shape(path)
        if shape not in rules:
            rules[shape] = _rule(path)
        if fault := _fault(path, value, rules[shape]):
            faults.append(fault)
    return _seen(root, config), [*faults, *_dangling(root)]


def _leaves(value: Value, path: Keys) -> Iterator[tuple[Keys, str]]:
    """Yield every leaf; an empty mapping is one."""
    if isinstance(value, str):
        yield path, value
    elif not value:
        yield path, "{}"
    else:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))


def _shape(path: Keys) -> Keys:
    """Return a path without its interface or neighbour: a hundred of them share one rule."""
    if path[0] == "interface":
        return ("interface", "*", *path[2:])
    if path[:5] == _NEIGHBOUR:
        return (*_NEIGHBOUR, "*", *path[6:])
    return path


def _rule(path: Keys) -> Rule | None:
    """Return the rule of a path, one that names every part before one with `*`."""
    fitting = [
        (pattern.count("*"), rule)
        for pattern, rule in _RULES
        if len(pattern) == len(path)
        and all(part in ("*", name) for part, name in zip(pattern, path, strict=True))
    ]
    return min(fitting, key=lambda found: found[0])[1] if fitting else None


def _fault(path: Keys, value: str, rule: Rule | None) -> str:
    where = " ".join(path)
    if rule is None:
        return f"{where}: is not in the object tree"
    if isinstance(rule, range):
        if value.isdecimal() and int(value) in rule:
            return ""
        return f"{where}: {value} is not {rule[0]} to {rule[-1]}"
    return "" if rule.fullmatch(value) else f"{where}: {value} does not match {rule.pattern}"


def _at(value: Value, *path: str) -> Mapping[str, Value]:
    """Return the mapping at a path; an empty one where there is none."""
    for key in path:
        value = value.get(key, {}) if isinstance(value, Mapping) else {}
    return value if isinstance(value, Mapping) else {}


def _word(value: Value, *path: str) -> str:
    """Return the text at a path; empty where there is none."""
    found = _at(value, *path[:-1]).get(path[-1], "")
    return found if isinstance(found, str) else ""


def _dangling(root: Value) -> Iterator[str]:
    """Yield each name that is used and nowhere made, and each code point not mapped once."""
    made = {
        "PFC profile": set(_at(root, "qos", "pfc")),
        "access list": set(_at(root, "acl")),
        "VLAN": set(_at(root, "bridge", "domain", "br_default", "vlan")),
        "peer group": set(_at(root, *_BGP, "peer-group")),
    }
    for name, port in _at(root, "interface").items():
        used = {
            "PFC profile": {_word(port, "qos", "pfc", "profile")},
            "access list": set(_at(port, "acl")),
            "VLAN": {_word(port, "bridge", "domain", "br_default", "access")},
        }
        for kind, names in used.items():
            for missing in sorted(names - made[kind] - {""}):
                yield f"interface {name}: {kind} {missing} is not there"
    for name, neighbour in _at(root, *_NEIGHBOUR).items():
        group = _word(neighbour, "peer-group")
        if group not in made["peer group"]:
            yield f"neighbor {name}: peer group {group} is not there"
    mapped = Counter(_points(root))
    for point in sorted(mapped, key=int):
        if int(point) >= CODE_POINTS or mapped[point] > 1:
            limit = f"a code point is 0 to {CODE_POINTS - 1} and is mapped once"
            yield f"qos mapping default-global dscp {point}: {limit}"


def _policy(root: Value, seen: Seen) -> None:
    """Read what neighbours may announce and are told, and how soon a fault shows."""
    lists: dict[str, set[str]] = {}
    for name, made in _at(root, "router", "policy", "prefix-list").items():
        lists[name] = {
            f"{'' if _word(rule, 'action') == 'permit' else 'not '}{_prefixes(network, rule)}"
            for rule in _at(made, "rule").values()
            for network in _at(rule, "match")
        }
    for group in _at(root, *_BGP, "peer-group").values():
        words = ("keepalive", "hold", "connection-retry")
        seen.timers = " ".join(_word(group, "timers", word) or "none" for word in words)
        if _word(group, "bfd", "enable") == "on":
            pace = {_word(group, "bfd", f"min-{way}-interval") for way in ("rx", "tx")}
            seen.bfd = f"{_word(group, 'bfd', 'detect-multiplier')} of {'/'.join(pace)} ms"
        for way, found in (("inbound", seen.believed), ("outbound", seen.told)):
            at = ("address-family", "ipv4-unicast", "policy", way, "route-map")
            rules = _at(root, "router", "policy", "route-map", _word(group, *at), "rule")
            for rule in rules.values():
                permits = "permit" in _at(rule, "action")
                found.update(ruled(permits, _word(rule, "match", "ip-prefix-list"), lists))


def _prefixes(network: str, rule: Value) -> str:
    least, most = (_word(rule, "match", network, f"{end}-prefix-len") for end in ("min", "max"))
    if not least and not most:
        return network
    return f"{network} of /{least}" if least == most else f"{network} of /{least} to /{most}"


def _points(root: Value) -> Iterator[str]:
    for points in _at(root, "qos", "mapping", "default-global", "dscp"):
        yield from points.split(",")


def _seen(root: Value, config: SwitchConfig) -> Seen:
    seen = Seen(hostname=_word(root, "system", "hostname"))
    profiles = _at(root, "qos", "pfc")
    names = {port.name for port in config.ports}
    for name, port in _at(root, "interface").items():
        if _word(port, "type") != "swp" or (name not in names and _at(port, "link", "breakout")):
            continue
        up = "up" in _at(port, "link", "state")
        seen.ports[name] = _word(port, "description") if up else ""
        if profile := _word(port, "qos", "pfc", "profile"):
            seen.lossless[name] = ",".join(_at(profiles, profile, "switch-priority"))
    seen.asn = _word(root, "router", "bgp", "autonomous-system")
    seen.networks = set(_at(root, *_UNICAST, "network"))
    for name, neighbour in _at(root, *_NEIGHBOUR).items():
        seen.sessions[name] = _word(neighbour, "remote-as")
    _policy(root, seen)
    for points, to in _at(root, "qos", "mapping", "default-global", "dscp").items():
        for point in points.split(","):
            seen.points[point] = _word(to, "switch-priority")
    scheduler = _at(root, "qos", "egress-scheduler", "default-global", "traffic-class")
    for number, queue in scheduler.items():
        strict = _word(queue, "mode") == STRICT
        seen.queues[number] = STRICT if strict else _word(queue, "bw-percent")
    marking = _at(root, "qos", "congestion-control", "default-global", "traffic-class")
    for numbers, control in marking.items():
        if _word(control, "ecn") == "enable":
            seen.marked.update(numbers.split(","))
    return seen
