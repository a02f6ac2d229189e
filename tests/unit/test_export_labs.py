"""Labs start switches with their own configuration, in its ports, at the plan's addresses."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import MakeSite
from tests.sites import ETHERNET

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.render.artefacts import artefacts

KINDS = {"sonic": "sonic-vs", "nvue": "nvidia_cumulusvx", "eos": "arista_ceos", "frr": "linux"}
"""Kinds of containerlab's published schema, of its releases of 2026."""
CONFIGURED = {"sonic": "sonic/{}.json", "eos": "eos/{}.cfg", "frr": "frr/{}.conf"}
"""The configuration that a switch of a kind starts with; Cumulus VX takes none."""


def lab(make_site: MakeSite, system: str, **changes: Any) -> tuple[Fabric, dict[str, Any], Path]:
    """Return a fabric, its containerlab topology and the rendered tree."""
    intent = ETHERNET | {"cluster.fabric.system": system, **changes}
    site = make_site("lab", {key: value for key, value in intent.items() if value != ""})
    fabric = design(load_site(site))
    tree = site / "out"
    for path, content in artefacts(fabric, ("exports", "frr", system)).items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(content)
    text = (tree / "exports/containerlab/lab.clab.yml").read_text()
    return fabric, yaml.safe_load(re.sub(r"\$\{\w+:=([^}]*)\}", r"\1", text)), tree


@pytest.fixture(params=KINDS)
def system(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def files_of(node: Mapping[str, Any]) -> dict[str, str]:
    """Return what a node finds under which path, from the topology's folder."""
    pairs = [bind.split(":")[:2] for bind in node.get("binds", ())]
    files = {inside: outside for outside, inside in pairs}
    return files | ({"startup": node["startup-config"]} if "startup-config" in node else {})


def test_a_switch_starts_with_its_own_configuration(make_site: MakeSite, system: str) -> None:
    fabric, topology, tree = lab(make_site, system)
    folder = tree / "exports/containerlab"
    for switch in fabric.switches:
        node = topology["topology"]["nodes"][switch.name]
        assert node["kind"] == KINDS[system]
        files = {inside: (folder / path).resolve() for inside, path in files_of(node).items()}
        assert [str(path) for path in files.values() if not path.is_file()] == []
        expected = tree / CONFIGURED.get(system, "").format(switch.name)
        assert (expected.resolve() in files.values()) == (system in CONFIGURED)


def test_eos_finds_the_ports_that_are_configured(make_site: MakeSite) -> None:
    _, topology, tree = lab(make_site, "eos")
    nodes = topology["topology"]["nodes"]
    for link in topology["topology"]["links"]:
        for name, port in (end.split(":") for end in link["endpoints"]):
            if nodes[name]["kind"] == "linux":
                continue
            files = files_of(nodes[name])
            folder = tree / "exports/containerlab"
            mapping = json.loads((folder / files["/mnt/flash/EosIntfMapping.json"]).read_text())
            assert mapping["ManagementIntf"] == {"eth0": "Management1"}
            configuration = (folder / files["startup"]).read_text()
            interface = mapping["EthernetIntf"][port]
            peer = next(end for end in link["endpoints"] if not end.startswith(f"{name}:"))
            block = configuration.split(f"interface {interface}\n")[1].split("\n!")[0]
            assert f"description {peer.split(':')[0]} " in block
            assert "interface Management1\n" in configuration


@pytest.mark.parametrize("gateway", ["10.89.0.254", ""])
def test_management_is_the_plans(make_site: MakeSite, gateway: str) -> None:
    fabric, topology, _ = lab(make_site, "eos", **{"cluster.addresses.gateway": gateway})
    management = topology["mgmt"]
    network = ipaddress.ip_network(management["ipv4-subnet"])
    assert str(network) == str(fabric.networks["management"])
    addresses = {switch.name: str(switch.management) for switch in fabric.switches}
    addresses |= {node.name: str(node.management) for node in fabric.nodes}
    given = {name: node["mgmt-ipv4"] for name, node in topology["topology"]["nodes"].items()}
    assert given == addresses
    assert ipaddress.ip_address(management["ipv4-gw"]) in network
    assert management["ipv4-gw"] not in given.values()
    assert gateway in ("", management["ipv4-gw"])


def test_hosts_have_their_addresses(make_site: MakeSite) -> None:
    fabric, topology, _ = lab(make_site, "frr")
    for node in fabric.nodes:
        commands = topology["topology"]["nodes"][node.name]["exec"]
        for port in node.ports:
            address = f"{port.address}/{port.network.prefixlen}"
            assert f"ip address add {address} dev {port.name}" in commands
        routes = [line.split()[3] for line in commands if line.startswith("ip route add")]
        assert len(routes) == len(set(routes)) == len({port.tree for port in node.ports})


def test_a_lab_of_frr_bridges_a_leafs_hosts(make_site: MakeSite) -> None:
    """The configuration has an address on vlan100: Linux makes it, with the host ports in it."""
    fabric, topology, tree = lab(make_site, "frr")
    for switch in fabric.switches:
        node = topology["topology"]["nodes"][switch.name]
        ports = {
            cable.z.number
            for cable in fabric.cables
            if cable.id.split(":")[0] in fabric.node
            if cable.z.device == switch.name
        }
        bridged = {f"ip link set swp{number} master vlan100" for number in ports}
        assert bridged <= set(node.get("exec", ()))
        assert ("interface vlan100" in (tree / f"frr/{switch.name}.conf").read_text()) == bool(
            ports
        )


def test_netlab_has_the_plans_addresses(make_site: MakeSite, system: str) -> None:
    fabric, _, tree = lab(make_site, system)
    topology = yaml.safe_load((tree / "exports/netlab/topology.yml").read_text())
    addresses = {switch.name: str(switch.management) for switch in fabric.switches}
    addresses |= {node.name: str(node.management) for node in fabric.nodes}
    given = {name: node["mgmt"]["ipv4"] for name, node in topology["nodes"].items()}
    assert given == addresses
    for switch in fabric.switches:
        assert topology["nodes"][switch.name]["loopback"] == {"ipv4": f"{switch.loopback}/32"}
    hosts = [link for link in topology["links"] if link["prefix"]]
    assert len(hosts) == len(fabric.node_port)
    for link in hosts:
        (name,) = set(link) & set(fabric.node)
        port = fabric.node[name].ports[link[name]["ifindex"] - 1]
        assert link[name]["ipv4"] == f"{port.address}/{port.network.prefixlen}"
        assert link["prefix"] == {"ipv4": str(port.network)}
