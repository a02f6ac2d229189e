"""Every export says the fabric's links: each format is read back as its consumer would."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import openpyxl
import pytest
import yaml
from tests.conftest import REPO, make_site_in
from tests.sites import ETHERNET, ONE_ZONE, PLANES, THREE_LAYERS

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import CableRole, Fabric
from fireflyer.render.exports import CONSUMERS, files

Contents: TypeAlias = Mapping[str, str | bytes]
End: TypeAlias = tuple[str, str]
Links: TypeAlias = list[frozenset[End]]

SHAPES = {
    "lab": {},
    "one zone": ONE_ZONE,
    "three layers": THREE_LAYERS,
    "ethernet": ETHERNET,
    "cumulus": ETHERNET | {"cluster.fabric.system": "nvue"},
    "planes": PLANES,
}
SITES = ("fire-flyer-2", "fire-flyer-roce")


@pytest.fixture(scope="module", params=[*SHAPES, *SITES])
def fabric(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fabric:
    name: str = request.param
    if name in SITES:
        return design(load_site(REPO / "inventory" / name))
    folder = tmp_path_factory.mktemp("site")
    return design(load_site(make_site_in(folder, "lab", SHAPES[name])))


@pytest.fixture(scope="module")
def contents(fabric: Fabric) -> Contents:
    return dict(files(fabric))


def text(contents: Contents, path: str) -> str:
    found = contents[path]
    assert isinstance(found, str)
    return found


def rows(contents: Contents, path: str) -> Iterator[dict[str, str]]:
    lines = text(contents, path).removeprefix("#Fields:")
    return csv.DictReader(io.StringIO(lines), strict=True)


def by_name(fabric: Fabric) -> Links:
    """Return the fabric's links as devices name their ports."""
    names = {
        (node.name, port.number): port.name if fabric.is_ethernet else port.hca
        for node in fabric.nodes
        for port in node.ports
    }
    for switch in fabric.switches:
        for number in range(1, switch.model.ports + 1):
            model, system = switch.model, fabric.system
            uses = fabric.is_ethernet and system is not None and system in model.interfaces
            name = model.interface(system, number) if uses and system else model.port(number)
            names[switch.name, number] = name
    return [
        frozenset(
            (
                (c.a.device, names[c.a.device, c.a.number]),
                (c.z.device, names[c.z.device, c.z.number]),
            )
        )
        for c in fabric.cables
    ]


def by_number(fabric: Fabric) -> Links:
    """Return the fabric's links with the numbers of their ports."""
    return [
        frozenset(((c.a.device, str(c.a.number)), (c.z.device, str(c.z.number))))
        for c in fabric.cables
    ]


def by_device(fabric: Fabric) -> Links:
    """Return the fabric's links between adapters and switches, without ports of switches."""
    return [
        frozenset(((c.id if c.role is CableRole.HOST else c.a.device, ""), (c.z.device, "")))
        for c in fabric.cables
    ]


def netbox(contents: Contents) -> Links:
    return [
        frozenset((row[f"side_{s}_device"], row[f"side_{s}_name"]) for s in "ab")
        for row in rows(contents, "netbox/site/10-cables.csv")
    ]


def nautobot(contents: Contents) -> Links:
    """Follow the ids of cables to interfaces, and of those to devices."""
    devices = {row["id"]: row["name"] for row in rows(contents, "nautobot/site/06-devices.csv")}
    interfaces = {
        row["id"]: (devices[row["device"]], row["name"])
        for row in rows(contents, "nautobot/site/07-interfaces.csv")
    }
    return [
        frozenset(interfaces[row[f"termination_{s}_id"]] for s in "ab")
        for row in rows(contents, "nautobot/site/11-cables.csv")
    ]


def cvt(contents: Contents) -> Links:
    return [
        frozenset((row[f"{s}-Node Name"], row[f"{s}-Port"]) for s in "AZ")
        for row in rows(contents, "cvt/p2p.csv")
    ]


def workbook(contents: Contents) -> Links:
    data = contents["cvt/p2p.xlsx"]
    assert isinstance(data, bytes)
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    head, *body = ([str(cell) for cell in row] for row in book["P2P"].iter_rows(values_only=True))
    ends = [head.index(f"{side}-{column}") for side in "AZ" for column in ("Node Name", "Port")]
    return [
        frozenset(((row[a], row[a_port]), (row[z], row[z_port])))
        for row in body
        for a, a_port, z, z_port in [ends]
    ]


def ufm(contents: Contents) -> Links:
    found = []
    for name in ("switches", "hosts"):
        for row in rows(contents, f"ufm/{name}.ndt.csv"):
            assert row["LinkType"] == "Data"
            start, number = row["StartDevice"], row["StartPort"].removeprefix("Port ")
            host, _, hca = start.partition(" ")
            near = (host, str(int(hca.removeprefix("mlx5_")) + 1)) if hca else (start, number)
            found.append(
                frozenset((near, (row["EndDevice"], row["EndPort"].removeprefix("Port "))))
            )
    return found


def ibdiagnet(contents: Contents) -> Links:
    (path,) = (name for name in contents if name.endswith(".topo") and "ibdiagnet" in name)
    found: dict[frozenset[End], int] = {}
    system = ""
    for line in text(contents, path).splitlines():
        if match := re.fullmatch(r"   P(\d+) -> (\S+) (\S+) (\S+)", line):
            number, _, far, port = match.groups()
            hca = re.fullmatch(r"mlx5_(\d+)/P1", port)
            far_port = str(int(hca[1]) + 1) if hca else port.removeprefix("P")
            link = frozenset(((system, number), (far, far_port)))
            found[link] = found.get(link, 0) + 1
        elif line and not line.startswith("#"):
            system = line.split()[1]
    for link, count in found.items():  # a cable between switches stands at both of them
        assert count == sum(1 for device, _ in link if re.search("leaf|spine|core|zone", device))
    return list(found)


def ptm(contents: Contents) -> Links:
    edge = re.compile(r'"(.+?)":"(.+?)" -- "(.+?)":"(.+?)";')
    found = edge.findall(text(contents, "ptm/topology.dot"))
    return [frozenset(((a, a_port), (z, z_port))) for a, a_port, z, z_port in found]


def air(contents: Contents) -> Links:
    content = json.loads(text(contents, "air/topology.json"))["content"]
    for link in content["links"]:
        assert all(end["node"] in content["nodes"] for end in link)
    oses = {name: node["os"] for name, node in content["nodes"].items()}
    return [
        frozenset(
            (end["node"], port_number(end["interface"], oses[end["node"]].startswith("cumulus")))
            for end in link
        )
        for link in content["links"]
    ]


def port_number(name: str, cumulus: bool) -> str:
    """Return the number of a port that a lab counts: swp1 of Cumulus Linux, eth1 elsewhere."""
    match = re.fullmatch("(swp|eth)([1-9][0-9]*)", name)
    assert match is not None, name
    assert match[1] == ("swp" if cumulus else "eth")
    return match[2]


def containerlab(contents: Contents) -> Links:
    """Read the topology as containerlab wires it, with the ports that its kinds take."""
    (path,) = (name for name in contents if name.endswith(".clab.yml"))
    topology = yaml.load(text(contents, path), yaml.CSafeLoader)["topology"]
    kinds = {name: node["kind"] for name, node in topology["nodes"].items()}
    assert set(kinds.values()) == set(topology["kinds"])
    hosts = {name for name, node in topology["nodes"].items() if "role" in node["labels"]}
    found = []
    for link in topology["links"]:
        ends = [end.split(":") for end in link["endpoints"]]
        numbers = [
            (name, re.sub(r"^roce", "", port) if name in hosts else port) for name, port in ends
        ]
        found.append(
            frozenset(
                (name, str(int(port) + 1))
                if name in hosts
                else (name, port_number(port, kinds[name] == "nvidia_cumulusvx"))
                for name, port in numbers
            )
        )
    return found


def netlab(contents: Contents) -> Links:
    topology = yaml.load(text(contents, "netlab/topology.yml"), yaml.CSafeLoader)
    first = 0 if topology["defaults"]["device"] == "sonic" else 1
    hosts = {name for name, node in topology["nodes"].items() if "device" in node}
    return [
        frozenset(
            (device, str(end["ifindex"] if device in hosts else end["ifindex"] - first + 1))
            for device, end in link.items()
            if device != "prefix"
        )
        for link in topology["links"]
    ]


def expected(contents: Contents) -> Links:
    """Read the expected state: two lines a cable, of one speed, and each the other's mirror."""
    line = re.compile(
        r'fireflyer_expected_link\{device="(.+)",port="(.+)",peer="(.+)",peer_port="(.+)"\} (\d+)'
    )
    near, far = [], []
    for device, port, peer, peer_port, gbps in line.findall(
        text(contents, "prometheus/expected.prom")
    ):
        assert int(gbps) > 0
        near.append(((device, port), (peer, peer_port)))
        far.append(((peer, peer_port), (device, port)))
    assert sorted(near) == sorted(far)
    return [frozenset(ends) for ends in near if ends[0] < ends[1]]


def simgrid(contents: Contents) -> Links:
    found: Links = []
    for path in contents:
        if not path.startswith("simgrid/"):
            continue
        (zone,) = ET.fromstring(text(contents, path))
        known = {item.get("id") for item in zone if item.tag in ("host", "router")}
        speeds = {item.get("id"): item.get("bandwidth") for item in zone if item.tag == "link"}
        for route in zone.iter("route"):
            ends = (route.attrib["src"], route.attrib["dst"])
            assert set(ends) <= known
            (link,) = (item.attrib["id"] for item in route)
            legs = link.count("+") + 1
            assert speeds.pop(link) == f"{200 * legs}Gbps"
            found += [frozenset((end, "") for end in ends)] * legs
        assert not speeds
    return found


def astra_sim(contents: Contents) -> Links:
    names = dict(line.split() for line in text(contents, "astra-sim/nodes.txt").splitlines())
    head, switches, *lines = text(contents, "astra-sim/ns3-topology.txt").splitlines()
    assert [int(n) for n in head.split()] == [len(names), len(switches.split()), len(lines)]
    found = []
    for line in lines:
        a, z, speed, delay, errors = line.split()
        assert errors == "0"
        assert int(delay.removesuffix("ns")) > 0
        cables, rest = divmod(int(speed.removesuffix("Gbps")), 200)
        assert cables > 0
        assert rest == 0
        found += [frozenset(((names[a], ""), (names[z], "")))] * cables
    ends = [tuple(line.split()[:2]) for line in lines]
    assert len(ends) == len(set(ends)), "ns-3 keeps one link between two devices"
    return found


Reader: TypeAlias = Callable[[Contents], Links]
READERS: Mapping[str, tuple[str, Reader, Callable[[Fabric], Links]]] = {
    "nautobot": ("nautobot", nautobot, by_name),
    "netbox": ("netbox", netbox, by_name),
    "cvt": ("cvt", cvt, lambda f: by_name(f) if f.is_ethernet else by_number(f)),
    "workbook": ("cvt", workbook, lambda f: by_name(f) if f.is_ethernet else by_number(f)),
    "ufm": ("ufm", ufm, by_number),
    "ibdiagnet": ("ibdiagnet", ibdiagnet, by_number),
    "ptm": ("ptm", ptm, by_name),
    "air": ("air", air, by_number),
    "containerlab": ("containerlab", containerlab, by_number),
    "netlab": ("netlab", netlab, by_number),
    "prometheus": ("prometheus", expected, by_name),
    "simgrid": ("simgrid", simgrid, by_device),
    "astra-sim": ("astra-sim", astra_sim, by_device),
}
INFINIBAND_ALONE = {"ibdiagnet", "ufm"}
ETHERNET_ALONE = {"air", "containerlab", "netlab", "ptm"}
WITHOUT_LINKS = {"dnsmasq", "kea", "hfreduce", "nccl", "htsim"} | {
    *("kubernetes", "librenms", "oxidized")
}


@pytest.mark.parametrize("name", READERS)
def test_an_export_has_the_fabrics_links(fabric: Fabric, contents: Contents, name: str) -> None:
    consumer, read, links = READERS[name]
    if consumer in (INFINIBAND_ALONE if fabric.is_ethernet else ETHERNET_ALONE):
        assert not [path for path in contents if path.startswith(f"{consumer}/")]
        return
    assert sorted(map(sorted, read(contents))) == sorted(map(sorted, links(fabric)))


def test_every_consumer_is_read_back_or_has_no_links() -> None:
    assert {consumer for consumer, _, _ in READERS.values()} | WITHOUT_LINKS == set(CONSUMERS)


def test_htsim_has_the_cables_between_leaves_of_hosts_and_spines(
    fabric: Fabric, contents: Contents
) -> None:
    if fabric.intent.fabric.layers == 3:
        assert not [path for path in contents if path.startswith("htsim/")]
        return
    gateways = {c.a.device for c in fabric.cables if c.role is CableRole.INTERZONE}
    for tree in fabric.trees:
        head, *tiers = re.split(r"^Tier ", text(contents, f"htsim/{tree}.topo"), flags=re.M)
        leaf, spine = (dict(re.findall(r"^(\w+) (\d+)$", tier, re.M)) for tier in tiers)
        cables = [
            c
            for c in fabric.cables
            if c.role is CableRole.TREE
            and c.a.device not in gateways
            and fabric.switch[c.a.device].tree == tree
        ]
        leaves = {c.a.device for c in cables}
        spines = {c.z.device for c in cables}
        assert len(cables) == len(leaves) * int(leaf["Radix_Up"])
        assert len(cables) == len(spines) * int(spine["Radix_Down"])
        assert len(cables) == len(leaves) * len(spines) * int(spine["Bundle"])
        assert f"Nodes {len(leaves) * int(leaf['Radix_Down'])}\n" in head
        hosts = [p for n in fabric.nodes for p in n.ports if p.tree == tree]
        assert max(p.leaf.number for p in hosts) <= int(leaf["Radix_Down"])


def test_astra_sims_analytical_back_ends_take_what_they_are_given(contents: Contents) -> None:
    """Their parser wants equal lengths and two NPUs a dimension; the aware one, one dimension."""
    for path in (name for name in contents if name.startswith("astra-sim/analytical")):
        found = yaml.safe_load(text(contents, path))
        assert list(found) == ["topology", "npus_count", "bandwidth", "latency"]
        assert len({len(values) for values in found.values()}) == 1
        assert all(count >= 2 for count in found["npus_count"])
        assert all(speed > 0 for speed in found["bandwidth"])
        dimensions = len(found["topology"])
        assert dimensions == 1 or path == "astra-sim/analytical.yml"
        assert ("congestion-unaware" in text(contents, path)) == (dimensions > 1)


def test_the_same_fabric_gives_the_same_bytes(fabric: Fabric, contents: Contents) -> None:
    assert dict(files(fabric)) == contents


def test_rows_have_their_columns(contents: Contents) -> None:
    for path in contents:
        if path.endswith(".csv"):
            for row in rows(contents, path):
                assert None not in row, path
                assert None not in row.values(), path


def test_no_path_leaves_its_folder(contents: Contents) -> None:
    for path in contents:
        assert ".." not in Path(path).parts
        assert not Path(path).is_absolute()
