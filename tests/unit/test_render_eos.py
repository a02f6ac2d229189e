"""EOS: the text of a small switch, and laws that need no judge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.switches import MARKED, NUMBERED, WATCHED, lab_roce

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.switch_config import PortRole
from fireflyer.prove.switches.eos_avd import differences, lines
from fireflyer.render import eos


@pytest.mark.parametrize("name", ["a-leaf01", "interzone01"])
def test_text(name: str, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    golden(f"lab-roce/eos/{name}.cfg", dict(eos.files(lab_roce(tmp_path, "eos")))[f"{name}.cfg"])


@pytest.mark.parametrize("changes", [{}, NUMBERED, MARKED, WATCHED])
def test_no_command_twice_in_a_section(changes: dict[str, Any], tmp_path: Path) -> None:
    for config in switch_configs(lab_roce(tmp_path, "eos", changes)):
        found = list(lines(eos.text(config)))
        assert len(found) == len(set(found))


def test_a_session_at_each_link_to_a_switch(tmp_path: Path) -> None:
    for config in switch_configs(lab_roce(tmp_path, "eos", NUMBERED)):
        found = set(lines(eos.text(config)))
        assert config.bgp is not None
        for port in config.ports_of(PortRole.SWITCH):
            bgp = f"router bgp {config.bgp.asn} > neighbor {port.peer_address}"
            assert f"{bgp} remote-as {port.peer_asn}" in found
            assert f"interface {port.name} > ip address {port.address}/31" in found


def test_marking_at_lossless_queues_alone(tmp_path: Path) -> None:
    for config in switch_configs(lab_roce(tmp_path, "eos", MARKED)):
        found = [line for line in lines(eos.text(config)) if "random-detect" in line]
        assert len(found) == sum(queue.lossless for queue in config.queues)


def test_differences_name_the_section() -> None:
    ours = "interface Ethernet1/1\n   mtu 9216\n"
    theirs = "interface Ethernet1/1\n   mtu 1500\n"
    said = [finding.message for finding in differences("eos/x.cfg", ours, theirs)]
    assert said == [
        "has a line that pyavd has not: interface Ethernet1/1 > mtu 9216",
        "lacks a line that pyavd has: interface Ethernet1/1 > mtu 1500",
    ]
