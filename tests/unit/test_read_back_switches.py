"""Every value of a switch's file is read: changed, gone or added, it is a finding.

Leaves of SONiC's and Cumulus' files and each line of FRR's are edited, one at a time.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.switches import MARKED, NUMBERED, WATCHED, lab_roce

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.switch_config import SwitchConfig
from fireflyer.prove.ethernet import frr_planned, frr_reader
from fireflyer.prove.switches import nvue_planned, nvue_shape, sonic_planned, sonic_shape
from fireflyer.prove.switches.values import Planner, Reader, differences
from fireflyer.render import frr, nvue, sonic
from fireflyer.render.template import render

SHAPES: list[dict[str, Any]] = [MARKED | WATCHED, NUMBERED]
SWITCHES = ("a-leaf01", "a-spine01")
EDITS = 40
"""Of each file. All 8,188 of these eight files are found, which takes five minutes."""
Edits = Iterator[tuple[str, Any]]


def findings(config: SwitchConfig, text: str, read: Reader, plan: Planner) -> list[str]:
    values, faults = read(text)
    if faults and not values:
        return faults
    return [*faults, *map(str, differences("x", config.name, plan(config), values))]


def configs(folder: Path, system: str, changes: dict[str, Any]) -> Iterator[SwitchConfig]:
    fabric = lab_roce(folder, system, changes)
    yield from (config for config in switch_configs(fabric) if config.name in SWITCHES)


def leaf(folder: Path) -> SwitchConfig:
    return next(one for one in configs(folder, "sonic", {}) if one.name == "a-leaf01")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield every object's every name: where it is, the object, the name."""
    for name, inner in value.items():
        yield f"{path} {name}", value, name
        if isinstance(inner, dict):
            yield from leaves(inner, f"{path} {name}")


def edits_of(tree: dict[str, Any]) -> Edits:
    """Change, remove and add below every name; the tree is as before after each."""
    for where, holder, name in list(leaves(tree)):
        value = holder[name]
        if not isinstance(value, dict):
            changed = [*value, "one_more"] if isinstance(value, list) else f"{value}1"
            holder[name] = changed
            yield f"{where}: changed", tree
        else:
            value["one_more"] = (
                {} if not value or isinstance(next(iter(value.values())), dict) else "1"
            )
            yield f"{where}: added", tree
            del value["one_more"]
        order = list(holder.items())
        del holder[name]
        yield f"{where}: removed", tree
        holder.clear()
        holder.update(order)


@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("system", ["sonic", "nvue"])
def test_every_leaf_is_read(system: str, changes: dict[str, Any], tmp_path: Path) -> None:
    modules: dict[str, tuple[Callable[[SwitchConfig], str], Reader, Planner]] = {
        "sonic": (sonic.text, sonic_shape.read, sonic_planned.planned),
        "nvue": (nvue.text, nvue_shape.read, nvue_planned.planned),
    }
    text, read, plan = modules[system]
    chance = random.Random(11)
    for config in configs(tmp_path, system, changes):
        written = text(config)
        assert findings(config, written, read, plan) == []
        tree = yaml.load(written, Loader=yaml.CBaseLoader)
        root = tree[0]["set"] if system == "nvue" else tree
        kept = set(chance.sample(range(2 * len(list(leaves(root)))), EDITS))
        for number, (what, edited) in enumerate(edits_of(root)):
            if number not in kept:
                continue
            document: Any = [{"set": edited}] if system == "nvue" else edited
            assert findings(config, json.dumps(document), read, plan), f"{config.name}{what}"


@pytest.mark.parametrize("changes", SHAPES)
@pytest.mark.parametrize("system", ["sonic", "eos"])
def test_every_line_of_frr_is_read(system: str, changes: dict[str, Any], tmp_path: Path) -> None:
    plan = partial(frr_planned.planned, system=system)  # type: ignore[arg-type]
    for config in configs(tmp_path, system, changes):
        lines = frr_text(config, system).splitlines()
        assert findings(config, "\n".join(lines), frr_reader.read, plan) == []
        for number, line in enumerate(lines):
            if line.strip().startswith("!"):
                continue
            before, after = lines[:number], lines[number + 1 :]
            for edited in ((), (f"{line}1",), (line, "interface one_more"), (f"! {line}",)):
                text = "\n".join([*before, *edited, *after])
                assert findings(config, text, frr_reader.read, plan), (config.name, edited, line)


def frr_text(config: SwitchConfig, system: Any) -> str:
    value = frr.config(config, system)
    return render("frr/frr.conf.j2", switch=value)


@pytest.mark.parametrize("changes", SHAPES)
def test_what_has_no_meaning_is_no_finding(changes: dict[str, Any], tmp_path: Path) -> None:
    chance = random.Random(11)
    for config in configs(tmp_path, "sonic", changes):
        tables = json.loads(sonic.text(config))
        shuffled = {
            name: dict(chance.sample(sorted(rows.items()), len(rows)))
            for name, rows in chance.sample(sorted(tables.items()), len(tables))
        }
        text = json.dumps(shuffled, indent=4)
        assert findings(config, text, sonic_shape.read, sonic_planned.planned) == []
        ports = [key.partition("|")[0] for key in tables["BUFFER_PG"] if key.endswith("|1-3")]
        for port in ports:
            profile = tables["BUFFER_PG"].pop(f"{port}|1-3")
            tables["BUFFER_PG"] |= {f"{port}|{number}": profile for number in (3, 1, 2)}
        tables["PORT_QOS_MAP"][ports[0]]["pfc_enable"] = "3,1,2"
        assert ports
        assert findings(config, json.dumps(tables), sonic_shape.read, sonic_planned.planned) == []
        lines = [f"   {line.strip()}  " for line in frr_text(config, "sonic").splitlines()]
        plan = partial(frr_planned.planned, system="sonic")
        assert findings(config, "\n\n# a remark\n".join(lines), frr_reader.read, plan) == []
    for config in configs(tmp_path, "nvue", changes):
        tree = yaml.load(nvue.text(config), Loader=yaml.CBaseLoader)
        points = tree[0]["set"]["qos"]["mapping"]["default-global"]["dscp"]
        for names in list(points):
            value = points.pop(names)
            points |= dict.fromkeys(reversed(names.split(",")), value)
        text = "# a remark\n" + yaml.safe_dump(tree, sort_keys=True, default_style='"')
        assert findings(config, text, nvue_shape.read, nvue_planned.planned) == []


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (("address-family\nexit\n", "address-family\n"), "ends inside router bgp: `exit` is miss"),
        (("exit\ninterface", "interface"), "stands inside interface lo: `exit` is missing"),
        ((" neighbor FABRIC peer-group\n", ""), "FABRIC is not there yet, FRR refuses the line"),
        (("!\nrouter", "exit\nrouter"), "leaves the configuration, what follows is lost"),
        (("frr defaults datacenter\n", ""), "frr defaults: the file has nothing, planned datacen"),
        (("  maximum-paths 4", "  maximum-paths 1"), "maximum-paths: the file has 1, planned 4"),
        ((" bgp router-id 10.89.255.161", " bgp router-id 10.89.255.1"), "router-id: the file has"),
        (("le 32", "le 31"), "prefix-list FABRIC 10.89.255.0/24 ge 32 le 31: the file has permit"),
        (("route-map FABRIC-IN permit 10", "route-map FABRIC-IN permit 20"), "FABRIC-IN 20: the"),
        (
            ("interface Ethernet16\n", "interface Ethernet20\n"),
            "interface Ethernet16: the file has n",
        ),
    ],
)
def test_frr_back(edit: tuple[str, str], said: str, tmp_path: Path) -> None:
    config = leaf(tmp_path)
    text = frr_text(config, "sonic")
    assert edit[0] in text
    plan = partial(frr_planned.planned, system="sonic")
    found = "\n".join(findings(config, text.replace(*edit, 1), frr_reader.read, plan))
    assert said in found


def test_equal_differences_are_one_finding(tmp_path: Path) -> None:
    config = leaf(tmp_path)
    text = sonic.text(config).replace('"mtu": "9214"', '"mtu": "1500"')
    found = findings(config, text, sonic_shape.read, sonic_planned.planned)
    assert [line.partition(": ")[2] for line in found] == [
        "a-leaf01: PORT Ethernet0 mtu: the file has 1500, planned 9214; the same at 7 more"
        " (Ethernet4, Ethernet8, Ethernet12, ...); correct it, or render the site again",
        "a-leaf01: VLAN Vlan100 mtu: the file has 1500, planned 9214; correct it, or render the"
        " site again",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        '{"PORT": 3}',
        '{"PORT": [1]}',
        '{"PORT": {"Ethernet0": "up"}}',
        "[" * 9999,
        '{"PORT": {"Ethernet0": {"mtu": {}}}}',
        '{"PORT": {}, "PORT": {}}',
        "&a [*a]",
        "- set: &a {b: *a}",
        "- set: {qos: {mapping: {default-global: {dscp: {0-4000000000: {switch-priority: 1}}}}}}",
        "- set: {? [a] : b}",
        "- set: []",
        "- set: {}",
        "- set: {a: {b: 1, b: 2}}",
        "interface",
        "exit",
        '{"QUEUE": {"Ethernet0|0-4000000000": {"scheduler": "x"}}}',
        "router bgp 1\n neighbor a b\n",
    ],
)
@pytest.mark.parametrize("system", ["sonic", "nvue", "frr"])
def test_a_damaged_file_is_a_finding(system: str, text: str, tmp_path: Path) -> None:
    config = leaf(tmp_path)
    read: dict[str, tuple[Reader, Planner]] = {
        "sonic": (sonic_shape.read, sonic_planned.planned),
        "nvue": (nvue_shape.read, nvue_planned.planned),
        "frr": (frr_reader.read, partial(frr_planned.planned, system="sonic")),
    }
    assert findings(config, text, *read[system])
