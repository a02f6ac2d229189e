"""NetBox's tables hold every interface and address that a switch's configuration has."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import get_args

import pytest
from tests.switches import NUMBERED, lab_roce

from fireflyer.design.switch_config import switch_configs
from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import System
from fireflyer.render import artefacts
from fireflyer.render.exports import files
from fireflyer.render.interface_names import INTERFACE_NAMES


def table(fabric: Fabric, name: str) -> list[dict[str, str]]:
    content = dict(files(fabric))[f"netbox/{name}.csv"]
    assert isinstance(content, str)
    return list(csv.DictReader(content.splitlines(), strict=True))


@pytest.mark.parametrize("system", ["sonic", "nvue", "eos", "frr"])
@pytest.mark.parametrize("numbered", [True, False])
def test_every_address_of_a_switch_is_in_netbox(
    system: str, numbered: bool, tmp_path: Path
) -> None:
    fabric = lab_roce(tmp_path, system, NUMBERED if numbered else None)
    rows = table(fabric, "site/09-ip-addresses")
    found = {(row["device"], row["address"]): row["interface"] for row in rows}
    assert len(found) == len({row["address"] for row in rows}) == len(rows)
    between = hosts = 0
    for switch in switch_configs(fabric):
        management = switch.management
        address = f"{management.address}/{management.network.prefixlen}"
        assert (switch.name, address) in found
        assert (switch.name, f"{switch.loopback}/32") in found
        if switch.hosts is not None:
            gateway = f"{switch.hosts.gateway}/{switch.hosts.network.prefixlen}"
            assert found[switch.name, gateway].lower() == f"vlan{switch.hosts.vlan}"
            hosts += 1
        for port in switch.ports:
            if port.address is not None:
                assert found[switch.name, f"{port.address}/31"] == port.name
                between += 1
    assert hosts > 0
    assert (between > 0) == numbered


@pytest.mark.parametrize("system", ["sonic", "nvue", "eos", "frr"])
def test_every_address_stands_on_an_interface(system: str, tmp_path: Path) -> None:
    fabric = lab_roce(tmp_path, system, NUMBERED)
    interfaces = {(row["device"], row["name"]): row for row in table(fabric, "site/06-interfaces")}
    used = [(row["device"], row["interface"]) for row in table(fabric, "site/09-ip-addresses")]
    assert set(used) <= set(interfaces)
    for switch in fabric.switches:
        names = INTERFACE_NAMES[get_system(fabric)]
        assert interfaces[switch.name, names.management]["mgmt_only"] == "true"
        assert interfaces[switch.name, names.loopback]["type"] == "virtual"


def get_system(fabric: Fabric) -> System:
    assert fabric.system is not None
    return fabric.system


def test_every_system_has_names() -> None:
    assert set(INTERFACE_NAMES) == set(get_args(System))


@pytest.mark.parametrize("system", ["sonic", "nvue", "eos"])
def test_the_names_are_those_of_the_configuration(system: str, tmp_path: Path) -> None:
    """Each name that NetBox is told stands as a word in the file that the switch is given."""
    fabric = lab_roce(tmp_path, system)
    contents = artefacts(fabric, (system,))
    leaf = next(switch for switch in switch_configs(fabric) if switch.hosts is not None)
    assert leaf.hosts is not None
    text = "\n".join(t for name, t in contents.items() if f"/{leaf.name}" in f"/{name}")
    assert text, sorted(contents)
    names = INTERFACE_NAMES[get_system(fabric)]
    for name in (names.management, names.loopback, names.of_vlan(leaf.hosts.vlan)):
        assert name in text.replace('"', " ").replace("|", " ").replace(":", " ").split(), name
