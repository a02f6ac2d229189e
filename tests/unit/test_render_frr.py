"""Laws of the FRR configurations: what one end says of a session, the other says too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import pytest
from tests.conftest import REPO, MakeSite

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import CableRole, Fabric, Layer
from fireflyer.render import frr

SITES = ("fire-flyer-roce", "next-gen")


@cache
def fabric_of(site: str) -> Fabric:
    return design(load_site(REPO / "inventory" / site))


@cache
def files_of(site: str) -> Mapping[str, str]:
    return dict(frr.files(fabric_of(site)))


def found(pattern: str, text: str) -> list[str]:
    """Return what one group matches."""
    return [match[1] for match in re.finditer(pattern, text, re.MULTILINE)]


def pairs(pattern: str, text: str) -> list[tuple[str, str]]:
    """Return what two groups match."""
    return [(match[1], match[2]) for match in re.finditer(pattern, text, re.MULTILINE)]


@pytest.mark.parametrize("site", SITES)
def test_one_file_a_switch(site: str) -> None:
    assert list(files_of(site)) == [f"{switch.name}.conf" for switch in fabric_of(site).switches]


@pytest.mark.parametrize("site", SITES)
def test_both_ends_of_a_cable_name_each_other(site: str) -> None:
    fabric, files = fabric_of(site), files_of(site)
    system = fabric.system
    assert system is not None
    assert fabric.system is not None
    own = {name: found(r"^router bgp (\d+)$", text)[0] for name, text in files.items()}
    sessions = {
        (name.removesuffix(".conf"), port): asn
        for name, text in files.items()
        for port, asn in pairs(r"^ neighbor (\S+) interface remote-as (\d+)$", text)
    }
    planned = {}
    for cable in fabric.cables:
        if cable.role is CableRole.HOST:
            continue
        for near, far in ((cable.a, cable.z), (cable.z, cable.a)):
            port = fabric.switch[near.device].model.interface(fabric.system, near.number)
            planned[near.device, port] = own[f"{far.device}.conf"]
    assert sessions == planned


@pytest.mark.parametrize("site", SITES)
def test_nothing_is_announced_but_loopbacks_and_host_networks(site: str) -> None:
    fabric = fabric_of(site)
    hosts = {port.leaf.device: port.network for port in fabric.node_port.values()}
    for switch in fabric.switches:
        text = files_of(site)[f"{switch.name}.conf"]
        networks = [f"{switch.loopback}/32"]
        networks += [str(hosts[switch.name])] if switch.name in hosts else []
        assert found(r"^  network (\S+)$", text) == networks
        assert found(r"^ip prefix-list OWN permit (\S+)$", text) == networks
        assert "redistribute" not in text


@pytest.mark.parametrize("site", SITES)
def test_a_leaf_of_hosts_passes_nothing_on(site: str) -> None:
    fabric = fabric_of(site)
    gateways = {c.a.device for c in fabric.cables if c.role is CableRole.INTERZONE}
    for switch in fabric.switches:
        told = found(
            r"^ match ip address prefix-list (\S+)$", files_of(site)[f"{switch.name}.conf"]
        )
        own = switch.layer is Layer.LEAF and switch.name not in gateways
        assert told == ["FABRIC", "OWN" if own else "FABRIC"]


def test_infiniband_has_none(lab: Fabric) -> None:
    assert dict(frr.files(lab)) == {}


def test_numbered_links_meet_in_a_31(make_site: MakeSite) -> None:
    changes = {
        "cluster.fabric.ethernet.numbered_links": True,
        "cluster.addresses.links": "10.40.0.0/16",
    }
    fabric = design(load_site(make_site("fire-flyer-roce", changes)))
    files = dict(frr.files(fabric))
    own = {
        (address, found(r"^router bgp (\d+)$", text)[0])
        for text in files.values()
        for address in found(r"^ ip address (\S+)/31$", text)
    }
    neighbours = {
        pair
        for text in files.values()
        for pair in pairs(r"^ neighbor (10\.\S+) remote-as (\d+)$", text)
    }
    between = [cable for cable in fabric.cables if cable.role is not CableRole.HOST]
    assert own == neighbours
    assert len(own) == 2 * len(between)


def test_eos_is_proved_under_names_that_linux_takes(make_site: MakeSite) -> None:
    layers = ("leaf", "spine", "interzone")
    changes = {f"cluster.fabric.{layer}.model": "arista-7060dx5-64s" for layer in layers}
    site = make_site("fire-flyer-roce", changes | {"cluster.fabric.system": "eos"})
    fabric = design(load_site(site))
    for text in dict(frr.files(fabric)).values():
        names = found(r"^interface (\S+)$", text)
        assert all(re.fullmatch(r"lo|vlan100|swp\d+", name) for name in names)
