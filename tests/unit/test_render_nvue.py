"""NVUE: the text of a small switch, and that it says all its switch should hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import REPO
from tests.switches import ADAPTIVE, MARKED, NUMBERED, WATCHED, lab_roce

from fireflyer.design.switch_config import switch_configs
from fireflyer.load.catalogue import load_catalogue
from fireflyer.model.switch_config import PortRole
from fireflyer.prove.switches.nvue_planned import planned
from fireflyer.prove.switches.nvue_shape import read
from fireflyer.prove.switches.values import differences
from fireflyer.render import nvue


def tree(text: str) -> dict[str, Any]:
    found = yaml.load(text, Loader=yaml.BaseLoader)
    assert [list(part) for part in found] == [["set"]]
    return dict(found[0]["set"])


@pytest.mark.parametrize("name", ["a-leaf01", "interzone01"])
def test_text(name: str, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    fabric = lab_roce(tmp_path, "nvue")
    golden(f"lab-roce/nvue/{name}.yaml", dict(nvue.files(fabric))[f"{name}.yaml"])


@pytest.mark.parametrize("changes", [{}, NUMBERED, MARKED, WATCHED])
def test_says_what_the_switch_should_hold(changes: dict[str, Any], tmp_path: Path) -> None:
    for config in switch_configs(lab_roce(tmp_path, "nvue", changes)):
        values, faults = read(nvue.text(config))
        assert not faults
        assert not list(differences("nvue", config.name, planned(config), values))


def test_cages_are_broken_out_once(tmp_path: Path) -> None:
    model = load_catalogue(REPO / "hardware").switches["sn5600"]
    for config in switch_configs(lab_roce(tmp_path, "nvue")):
        ports = tuple(p._replace(name=model.interface("nvue", p.number)) for p in config.ports)
        found = tree(nvue.text(replace(config, model=model, ports=ports)))["interface"]
        cages = {name for name, port in found.items() if "breakout" in port.get("link", {})}
        assert cages == {"swp1", "swp2", "swp3", "swp4"}
        assert found["swp1"]["link"]["breakout"] == {"2x": {}}
        assert {f"swp{cage}s{leg}" for cage in (1, 2, 3, 4) for leg in (0, 1)} <= found.keys()


def test_adaptive_routing_at_links_to_switches(tmp_path: Path) -> None:
    for config in switch_configs(lab_roce(tmp_path, "nvue", ADAPTIVE)):
        found = tree(nvue.text(config))
        assert found["router"]["adaptive-routing"] == {"enable": "on"}
        routed = {name for name, port in found["interface"].items() if "router" in port}
        assert routed == {port.name for port in config.ports_of(PortRole.SWITCH)}


def test_memory_is_given_out_whole(tmp_path: Path) -> None:
    for config in switch_configs(lab_roce(tmp_path, "nvue")):
        pools = tree(nvue.text(config))["qos"]["traffic-pool"]
        assert sum(int(pool["memory-percent"]) for pool in pools.values()) == 100


def test_the_watchdog_waits_no_less_than_asked(tmp_path: Path) -> None:
    watchdog = {"cluster.fabric.ethernet": {"pfc_watchdog": {"detect_ms": 250}}}
    for config in switch_configs(lab_roce(tmp_path, "nvue", watchdog)):
        found = tree(nvue.text(config))["qos"]["pfc-watchdog"]
        assert found == {"polling-interval": "100", "robustness": "3"}


def test_management_port_is_closed_to_others(tmp_path: Path) -> None:
    for config in switch_configs(lab_roce(tmp_path, "nvue", WATCHED)):
        found = tree(nvue.text(config))
        rules = found["acl"]["MANAGEMENT"]["rule"]
        sources = [rules[n]["match"]["ip"].get("source-ip") for n in sorted(rules, key=int)]
        assert sources == [None, "10.0.0.0/8", "192.168.0.0/16", "ANY"]
        assert rules[max(rules, key=int)]["action"] == {"deny": {}}
        assert "snmp-server" not in found["service"]
