"""Random intents of every shape that the models in `hardware/` can be put together to.

`intents()` draws whole intents, of either technology and each speed: zones or planes, two layers or
three, trunks, every switch system, nodes with one adapter or eight, any table of traffic classes.
Whether an intent is valid follows from its own arithmetic here, not from the code that is tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hypothesis import assume
from hypothesis import strategies as st

from fireflyer.load.catalogue import load_catalogue
from fireflyer.model.hardware import Nic, NodeModel, SwitchModel

CATALOGUE = load_catalogue()
MOST_NODES = 12
"""Of each role in a zone: what is wrong with a shape shows at few nodes, too."""
BLOCKS = {
    "management": {"first": 1, "size": 500},
    "storage": {"first": 501, "size": 500},
    "compute": {"first": 1001, "size": 1000},
    "switch": {"first": 2001, "size": 8000},
}


@dataclass(frozen=True, slots=True)
class Family:
    """Models of one technology and speed, which can be cabled together."""

    technology: str
    gbps: int
    switches: tuple[SwitchModel, ...]
    nodes: tuple[NodeModel, ...]

    def of(self, role: str) -> list[NodeModel]:
        """Return the models of a role; those without adapters fit every family."""
        return [node for node in self.nodes if node.role == role]


def _can_be(nic: Nic, technology: str) -> bool:
    return nic.port_type == technology or nic.vpi_name is not None


def _families() -> list[Family]:
    found = []
    for technology, gbps in sorted(CATALOGUE.cables):
        switches = tuple(
            model
            for _, model in sorted(CATALOGUE.switches.items())
            if (model.technology, model.port_gbps) == (technology, gbps)
        )
        nodes = tuple(
            model
            for _, model in sorted(CATALOGUE.nodes.items())
            if all(nic.gbps == gbps and _can_be(nic, technology) for nic in model.nics)
        )
        family = Family(technology, gbps, switches, nodes)
        if switches and all(map(family.of, ("compute", "storage", "management"))):
            found.append(family)
    return found


FAMILIES = _families()


def as_text(cluster: dict[str, Any]) -> bytes:
    """Return an intent's file."""
    return yaml.safe_dump({"cluster": cluster}, sort_keys=False).encode()


def written(folder: Path, text: bytes) -> Path:
    """Write a site folder with this file of intent."""
    file = folder / "site" / "group_vars" / "all" / "cluster.yml"
    file.parent.mkdir(parents=True)
    file.write_bytes(text)
    return folder / "site"


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the rest of an intent has to fit."""

    zones: int
    planes: int
    fabric: dict[str, Any]
    models: tuple[SwitchModel, ...]
    room: int
    """Ports of a tree for hosts: all below the uplinks but for the links between zones."""
    network_devices: int
    """Switches in the racks of the fullest zone."""

    @property
    def trees(self) -> int:
        return self.zones * self.planes


@st.composite
def intents(draw: st.DrawFn) -> dict[str, Any]:
    """Return the text of a valid intent's one key, `cluster`, as data."""
    technology = draw(st.sampled_from(sorted({family.technology for family in FAMILIES})))
    family = draw(st.sampled_from([f for f in FAMILIES if f.technology == technology]))
    zones, planes = draw(
        st.sampled_from([(1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (1, 4), (1, 8)]).filter(
            lambda trees: _candidates(family, "management", trees[1])
        )
    )
    shape = draw(_shapes(family, zones, planes))
    ethernet = family.technology == "ethernet"
    systems = [
        s for s in shape.models[0].interfaces if all(s in m.interfaces for m in shape.models)
    ]
    system = draw(st.sampled_from(systems))
    fabric = dict(shape.fabric)
    if system != next(iter(shape.models[0].interfaces)) or draw(st.booleans()):
        fabric["system"] = system
    numbered = ethernet and draw(st.booleans())
    if ethernet:
        fabric["ethernet"] = draw(_ethernet(system, numbered))
    elif draw(st.booleans()):
        fabric["subnet_prefix"] = draw(
            st.sampled_from(["0xfe80000000000000", "0xfec0000000001234"])
        )
    nodes, networks = draw(_nodes(family, shape))
    managers = [f"mg{n + 1:02d}" for n in range(nodes["management"]["nodes"])]
    services = {"slurm_controller": draw(_some(managers, 2))}
    if not ethernet:
        services["subnet_manager"] = draw(_some(managers, 8))
    addresses: dict[str, Any] = {
        "management": "10.0.0.0/16",
        "loopback": "10.250.0.0/16",
        "roce" if ethernet else "ipoib": [f"10.{n + 1}.0.0/16" for n in range(networks)],
        "blocks": BLOCKS,
    }
    if numbered:
        addresses["links"] = "10.251.0.0/16"
    if system == "sonic" or draw(st.booleans()):
        addresses["gateway"] = "10.0.255.1"
    return {
        "name": draw(st.sampled_from(["s", "site-1", "a" * 40])),
        "domain": draw(st.sampled_from(["example.internal", "x"])),
        "fabric": fabric,
        **nodes,
        "services": services,
        "traffic": draw(_traffic(ethernet)),
        "addresses": addresses,
        "racks": draw(_racks(shape, nodes)),
        **draw(_around(system)),
    }


def _some(names: list[str], most: int) -> st.SearchStrategy[list[str]]:
    return st.permutations(names).flatmap(
        lambda order: st.integers(1, min(most, len(order))).map(lambda count: list(order[:count]))
    )


def _candidates(family: Family, role: str, trees: int) -> list[NodeModel]:
    """Return the models whose adapters divide over the trees a node of the role reaches."""
    least = 1 if role != "management" or family.technology == "infiniband" else 0
    return [m for m in family.of(role) if len(m.nics) >= least and len(m.nics) % trees == 0]


@st.composite
def _shapes(draw: st.DrawFn, family: Family, zones: int, planes: int) -> _Shape:
    three = zones == 1 and draw(st.booleans())
    switch = st.sampled_from(family.switches)
    leaf = draw(switch)
    above = switch.filter(lambda model: set(model.interfaces) & set(leaf.interfaces))
    spine = draw(above)
    common = set(leaf.interfaces) & set(spine.interfaces)
    third = switch.filter(lambda model: set(model.interfaces) & common)
    trunk = draw(st.integers(1, 3))
    pods = draw(st.integers(1, 3)) if three else 1
    spines = draw(st.integers(1, min(3, (leaf.ports - 1) // trunk)))
    leaves = draw(st.integers(2 if zones > 1 else 1, min(4, (spine.ports - three) // trunk)))
    host_ports = leaf.ports - spines * trunk
    fabric: dict[str, Any] = {
        "technology": family.technology,
        "layers": 3 if three else 2,
        "leaf": {"model": leaf.name, "count": leaves * pods},
        "spine": {"model": spine.name, "count": spines * pods},
    }
    models = [leaf, spine]
    switches = planes * (leaves + spines) * pods
    for key, value, default in (
        ("zones", zones, 1), ("planes", planes, 1), ("cables_per_pair", trunk, 1),
        ("pods_per_zone", pods, 1),
    ):  # fmt: skip
        if value != default or draw(st.booleans()):
            fabric[key] = value
    if three:
        core = draw(third.filter(lambda model: model.ports >= pods * spines))
        models.append(core)
        links = spine.ports - leaves * trunk
        # As many cores as each spine has links to; each core has at least one from each pod.
        fits = [
            count
            for count in range(1, 4)
            if (up := min(links, count * core.ports // (spines * pods))) and spines * up >= count
        ]
        cores = draw(st.sampled_from(fits))
        fabric["core"] = {"model": core.name, "count": cores}
        switches += planes * cores
    links = 0
    if zones > 1:
        between = draw(third.filter(lambda model: model.ports >= zones))
        models.append(between)
        count = draw(st.integers(1, max(1, min(3, host_ports - 1))))
        each = draw(
            st.integers(1, max(1, min(3, between.ports // zones, (host_ports - 1) // count)))
        )
        fabric["interzone"] = {
            "model": between.name,
            "switches": count,
            "links_per_zone": count * each,
        }
        links = count * each
        switches += count
    return _Shape(
        zones=zones,
        planes=planes,
        fabric=fabric,
        models=tuple(models),
        room=leaves * pods * host_ports - links,
        network_devices=switches,
    )


@st.composite
def _nodes(draw: st.DrawFn, family: Family, shape: _Shape) -> tuple[dict[str, Any], int]:
    """Draw the nodes of each role, as many as there are ports for; count the networks too."""
    reach = {"compute": shape.planes, "storage": shape.trees, "management": shape.planes}
    chosen: dict[str, NodeModel] = {}
    rails: dict[str, int] = {}
    left = shape.room
    counts: dict[str, int] = {}
    for role in ("management", "storage", "compute"):
        fitting = _candidates(family, role, reach[role])
        fitting = [model for model in fitting if len(model.nics) // reach[role] <= left]
        assume(fitting or role != "management")
        # A role that no model fits is left empty; its model has the fabric's speed all the same.
        model = draw(st.sampled_from(fitting or family.of(role)))
        chosen[role], rails[role] = model, len(model.nics) // reach[role]
        most = min(MOST_NODES, left // rails[role] if rails[role] else MOST_NODES) if fitting else 0
        zones = 1 if role == "storage" else shape.zones
        counts[role] = draw(st.integers(1 if role == "management" else 0, most * zones))
        left -= -(-counts[role] // zones) * rails[role]
    networks = shape.trees
    if family.technology == "infiniband":
        networks *= max(1, *(rails[role] for role in counts if counts[role]))
    nodes: dict[str, dict[str, Any]] = {
        role: {"model": chosen[role].name, "nodes": counts[role]} for role in counts
    }
    if draw(st.booleans()):
        nodes["compute"]["placement"] = draw(st.sampled_from(["leaf", "spread"]))
        nodes["compute"]["per_leaf"] = draw(st.integers(1, 20))
    return nodes, networks


@st.composite
def _ethernet(draw: st.DrawFn, system: str, numbered: bool) -> dict[str, Any]:
    options: dict[str, Any] = {"numbered_links": True} if numbered else {}
    if draw(st.booleans()):
        options["dcqcn"] = draw(st.booleans())
        options["mtu"] = draw(st.sampled_from([1500, 4200, 9000, 9214]))
        options["host_vlan"] = draw(st.sampled_from([2, 100, 4094]))
        options["asn_first"] = draw(st.sampled_from([4_200_000_000, 4_200_012_345]))
        options["pfc_watchdog"] = {
            "detect_ms": 200,
            "restore_ms": draw(st.sampled_from([400, 900])),
        }
    if system in ("nvue", "eos") and draw(st.booleans()):
        options["load_balancing"] = "adaptive"
    return options


@st.composite
def _traffic(draw: st.DrawFn, ethernet: bool) -> dict[str, Any]:
    count = draw(st.integers(1, 7 if ethernet else 8))
    sls = draw(st.permutations(range(15)))
    vls = draw(st.permutations(range(count)))
    queues = draw(st.permutations(range(7))) if draw(st.booleans()) else None
    points = [point for point in draw(st.permutations(range(64))) if point != 48]
    default = draw(st.integers(0, count - 1))
    low = draw(st.integers(0, count - 1))
    lossless = draw(st.integers(0, 2)) if ethernet else 0
    rows = []
    for index in range(count):
        row: dict[str, Any] = {
            "name": f"class-{index}",
            "sl": sls[index],
            "vl": vls[index],
            "priority": "low" if index == low else draw(st.sampled_from(["high", "low"])),
            "weight": draw(st.integers(1, 255)),
        }
        if ethernet and queues is not None:
            row["queue"] = queues[index]
        if ethernet and index != default:
            row["dscp"] = points[3 * index : 3 * index + draw(st.integers(1, 3))]
            row["lossless"] = lossless > 0
            lossless -= 1
        rows.append(row)
    return {
        "classes": rows,
        "default": f"class-{default}",
        "storage": f"class-{draw(st.integers(0, count - 1))}",
        "high_limit": draw(st.integers(0, 255)),
    }


@st.composite
def _racks(draw: st.DrawFn, shape: _Shape, nodes: dict[str, Any]) -> dict[str, Any]:
    """Racks with room to spare: what a tight room refuses has its own tests."""
    devices = 8
    managers = -(-nodes["management"]["nodes"] // shape.zones)
    wanted = -(-(shape.network_devices + managers) // devices) + 4
    per_row = draw(st.integers(2, 6))
    racks: dict[str, Any] = {
        "units": 60,
        "power_kw": 1000.0,
        "per_row": draw(st.integers(8, 20)),
        "nodes": {"compute": draw(st.integers(1, 4)), "storage": draw(st.integers(1, 2))},
        # Rows that cannot share a tree's leaves evenly have one more of each plane.
        "network": {
            "per_row": per_row,
            "rows": -(-wanted // per_row),
            "devices": devices + shape.planes,
        },
    }
    if draw(st.booleans()):
        racks["network"]["first_row"] = draw(st.integers(1, 3))
        racks["cross_columns"] = draw(st.lists(st.integers(1, 8), min_size=1, max_size=2))
        racks["slack_m"] = draw(st.sampled_from([0.0, 1.5]))
        racks["row_pitch_m"] = draw(st.sampled_from([1.2, 3.0]))
        racks["pitch_m"] = draw(st.sampled_from([0.6, 1.0]))
        racks["power_feeds"] = draw(st.integers(1, 4))
    return racks


@st.composite
def _around(draw: st.DrawFn, system: str) -> dict[str, Any]:
    """Draw what does not touch the fabric's shape."""
    found: dict[str, Any] = {}
    if draw(st.booleans()):
        found["ntp_servers"] = ["10.0.254.1", "ntp.example.org"]
        found["syslog_servers"] = ["10.0.254.2"]
    if draw(st.booleans()):
        found["switch_management"] = {
            "monitoring": draw(st.sampled_from(["snmpv3", "gnmi", "none"])),
            "allowed_sources": draw(st.sampled_from([[], ["10.0.0.0/16", "192.168.7.0/24"]])),
        }
        if system in (
            "sonic",
            "eos",
        ):  # nvue: with every switch's serial number, which has its tests
            found["switch_management"]["ztp_url"] = "http://10.0.254.3/site"
            found["switch_management"]["onie_image_url"] = "http://10.0.254.3/image"
    if draw(st.booleans()):
        found["cabling"] = {"spares_percent": {"cables": draw(st.sampled_from([0.0, 100.0]))}}
    return found
