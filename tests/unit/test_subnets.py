"""InfiniBand subnets: one a plane, each with its managers, its prefix and its own ports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.conftest import MakeSite
from tests.sites import ETHERNET, INFINIBAND_PLANES, THREE_LAYERS

from fireflyer.design import design
from fireflyer.design.subnets import subnet_fabric
from fireflyer.errors import IntentError
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Layer
from fireflyer.prove.infiniband.groups import Group, read_group
from fireflyer.render import artefacts
from fireflyer.render.opensm import FILES

GUID = re.compile(r"0x[0-9a-f]{16}")
LISTS = ("cn-guids.conf", "io-guids.conf", "guid-routing-order.conf", "qos-policy.conf")


@pytest.fixture
def planes(make_site: MakeSite) -> Fabric:
    return design(load_site(make_site("lab", INFINIBAND_PLANES)))


def option(text: str, name: str) -> str:
    match = re.search(rf"(?m)^{name} (.*)$", text)
    assert match, name
    return match[1]


def opensm(fabric: Fabric) -> Mapping[str, str]:
    return artefacts(fabric, ("opensm",))


def test_joined_zones_are_one_subnet_in_the_hosts_folder(lab: Fabric) -> None:
    (subnet,) = lab.subnets
    assert (subnet.name, subnet.trees, subnet.folder) == ("lab", ("a", "b"), "")
    assert subnet.prefix == "0xfe80000000000000"
    assert {switch.layer for switch in subnet.roots} == {"interzone"}
    assert set(opensm(lab)) == {f"opensm/mg01/{name}" for name in FILES}


def test_ethernet_has_no_subnet(make_site: MakeSite) -> None:
    fabric = design(load_site(make_site("lab", ETHERNET)))
    assert fabric.subnets == ()
    assert opensm(fabric) == {}


def test_every_plane_has_a_master_and_a_standby_on_its_own_ports(planes: Fabric) -> None:
    text = opensm(planes)
    for number, plane in enumerate(planes.trees):
        prefixes = set()
        for host, priority in (("mg01", 14), ("mg02", 13)):
            options = text[f"opensm/{host}/{plane}/opensm.conf"]
            port = planes.node[host].ports[number]
            assert port.tree == plane
            assert option(options, "guid") == str(port.guid)
            assert option(options, "sm_priority") == str(priority)
            assert f"/etc/opensm/{plane}/root-guids.conf" in options
            prefixes.add(option(options, "subnet_prefix"))
        assert prefixes == {f"0xfe8000000000000{number + 1}"}


def test_a_planes_lists_hold_its_own_ports_and_all_of_them(planes: Fabric) -> None:
    text = opensm(planes)
    of_plane = {plane: set[str]() for plane in planes.trees}
    for port in planes.node_port.values():
        of_plane[port.tree].add(str(port.guid))
    for plane, own in of_plane.items():
        held = {name: set(GUID.findall(text[f"opensm/mg01/{plane}/{name}"])) for name in LISTS}
        assert held["guid-routing-order.conf"] == own
        for name in ("cn-guids.conf", "io-guids.conf", "qos-policy.conf"):
            assert held[name] < own
            assert held[name]
        roots = set(GUID.findall(text[f"opensm/mg01/{plane}/root-guids.conf"]))
        assert roots == {str(s.guid) for s in planes.switches_of(Layer.SPINE, plane)}
        names = set(re.findall(r'"([^" ]+)', text[f"opensm/mg01/{plane}/node-name-map.conf"]))
        switches = {switch.name for switch in planes.switches if switch.tree == plane}
        assert names == switches | set(planes.node)


def test_planes_are_started_by_name(planes: Fabric) -> None:
    """Debian's opensm.service starts opensm@NAME.service for every NAME of PORTS."""
    text = opensm(planes)
    assert 'PORTS="p1 p2"' in text["opensm/mg02/default"]
    unit = text["opensm/mg02/opensm@.service.d/planes.conf"]
    assert "ExecStart=\nExecStart=/usr/sbin/opensm --config /etc/opensm/%i/opensm.conf" in unit
    assert "OSM_CACHE_DIR=/var/cache/opensm/%i" in unit


def test_a_subnets_part_of_the_fabric_is_whole(planes: Fabric) -> None:
    parts = [subnet_fabric(planes, subnet) for subnet in planes.subnets]
    assert sum(len(part.switches) for part in parts) == len(planes.switches)
    assert sum(len(part.cables) for part in parts) == len(planes.cables)
    assert [len(part.nodes) for part in parts] == [len(planes.nodes)] * 2
    for part in parts:
        assert subnet_fabric(part, part.subnets[0]) is part
        for cable in part.cables:
            assert part.far_end[cable.a] == cable.z
            assert part.guid(cable.a) == planes.guid(cable.a)


def test_ipoib_has_the_slowest_links_rate_and_the_smallest_mtu(make_site: MakeSite) -> None:
    site = load_site(make_site("lab"))
    assert "rate=17, mtu=5, sl=0" in opensm(design(site))["opensm/mg01/partitions.conf"]
    nodes = dict(site.catalogue.nodes)
    storage = nodes["lab-storage"]
    small = storage.nics[1].model_copy(update={"infiniband_mtu_bytes": 2048})
    nodes["lab-storage"] = storage.model_copy(update={"nics": (storage.nics[0], small)})
    changed = replace(site, catalogue=replace(site.catalogue, nodes=nodes))
    assert "rate=17, mtu=4, sl=0" in opensm(design(changed))["opensm/mg01/partitions.conf"]


def test_a_speed_that_infiniband_has_not_is_refused(make_site: MakeSite) -> None:
    site = load_site(make_site("lab"))
    switches = {
        name: model.model_copy(update={"port_gbps": 150})
        for name, model in site.catalogue.switches.items()
    }
    changed = replace(site, catalogue=replace(site.catalogue, switches=switches))
    with pytest.raises(IntentError, match="InfiniBand has no rate of 150 Gb/s; choose a model"):
        design(changed)


def test_the_broadcast_group_is_read_from_what_saquery_prints() -> None:
    said = """MCMemberRecord group dump:
\t\tMGID....................ff12:601b:ffff::16
\t\tMlid....................0xC001
\t\tMtu.....................0x84
\t\tpkey....................0xFFFF
\t\tRate....................0x83
\t\tSL......................0x1
MCMemberRecord group dump:
\t\tMGID....................ff12:401b:ffff::ffff:ffff
\t\tMlid....................0xC000
\t\tMtu.....................0x85
\t\tpkey....................0xFFFF
\t\tRate....................0x95
\t\tSL......................0x2
"""
    assert read_group(said) == Group(mtu_bytes=4096, gbps=400, pkey=0xFFFF, sl=2)
    assert read_group("") is None


def test_hosts_on_one_leaf_under_three_layers_are_not_given_to_ftree(make_site: MakeSite) -> None:
    """OpenSM says that it falls back, and `prove` reports that it said so."""
    alone = {
        "cluster.compute.nodes": 0,
        "cluster.storage.nodes": 0,
        "cluster.addresses.ipoib": ["10.89.1.0/24"],
    }
    one = design(load_site(make_site("lab", THREE_LAYERS | alone, name="one")))
    assert option(opensm(one)["opensm/mg01/opensm.conf"], "routing_engine") == "updn"
    full = design(load_site(make_site("lab", THREE_LAYERS, name="full")))
    assert option(opensm(full)["opensm/mg01/opensm.conf"], "routing_engine") == "ftree,updn"
