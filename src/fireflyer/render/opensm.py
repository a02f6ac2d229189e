"""OpenSM's files for each host that runs a subnet manager.

The two zones are one subnet. Up/down routing with the topmost switches as roots connects
everything without a credit loop, and the order in which destinations are routed spreads
them over the uplinks: class by class, zone by zone, one a leaf (docs/decisions/0001).
Sources: opensm(8); opensm.conf as printed by `opensm -c`; QoS policy as in OpenSM's
QoS_management_in_OpenSM.txt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from fireflyer.design.traffic import arbitration, operational_vls, sl_to_vl
from fireflyer.model.fabric import Fabric, Guid, NodePort, Role
from fireflyer.model.intent import TrafficClass
from fireflyer.render.template import render

CONFIG_DIR = "/etc/opensm"
"""Where the files are installed on the subnet manager's host."""
FILES = (
    "opensm.conf",
    "root-guids.conf",
    "cn-guids.conf",
    "io-guids.conf",
    "guid-routing-order.conf",
    "node-name-map.conf",
    "partitions.conf",
    "qos-policy.conf",
)
"""Names of the files of one host."""
FIRST_PRIORITY = 14
"""Of the master; 15 is left for an operator's emergency."""


@dataclass(frozen=True, slots=True)
class NamedGuid:
    """A GUID and whose it is."""

    guid: Guid
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Qos:
    """Traffic classes as OpenSM's options print them."""

    max_op_vls: int
    lanes: int
    high_limit: int
    high: str
    low: str
    sl2vl: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """What differs between subnet managers."""

    host: str
    port: NamedGuid
    priority: int


def files(fabric: Fabric) -> Mapping[str, str]:
    """Return the files of every subnet-manager host, in a folder of its name."""
    if fabric.is_ethernet:
        return {}
    names = [NamedGuid(switch.guid, switch.name) for switch in fabric.switches]
    names += list(_ports(fabric, Role))
    shared = {
        "root-guids.conf": _list(
            fabric, "root_guid_file", (NamedGuid(s.guid, s.name) for s in fabric.roots)
        ),
        "cn-guids.conf": _list(fabric, "cn_guid_file", _ports(fabric, [Role.COMPUTE])),
        "io-guids.conf": _list(fabric, "io_guid_file", _ports(fabric, [Role.STORAGE])),
        "guid-routing-order.conf": _list(fabric, "guid_routing_order_file", _order(fabric)),
        "node-name-map.conf": render("opensm/node-name-map.conf.j2", fabric=fabric, names=names),
        "partitions.conf": render(
            "opensm/partitions.conf.j2", fabric=fabric, sl=fabric.traffic_default.sl
        ),
        "qos-policy.conf": render(
            "opensm/qos-policy.conf.j2",
            fabric=fabric,
            storage=list(_ports(fabric, [Role.STORAGE])),
            storage_class=fabric.traffic_class(fabric.intent.traffic.storage),
            default_class=fabric.traffic_default,
            asked_classes=_asked(fabric),
        ),
    }
    result: dict[str, str] = {}
    for rank, host in enumerate(fabric.intent.services.subnet_manager):
        port = fabric.node[host].ports[0]
        manager = Manager(
            host=host, port=NamedGuid(port.guid, host), priority=FIRST_PRIORITY - rank
        )
        result[f"{host}/opensm.conf"] = render(
            "opensm/opensm.conf.j2",
            fabric=fabric,
            manager=manager,
            qos=_qos(fabric),
            directory=CONFIG_DIR,
        )
        result |= {f"{host}/{name}": text for name, text in shared.items()}
    return result


def _list(fabric: Fabric, option: str, entries: Iterable[NamedGuid]) -> str:
    return render("opensm/guids.conf.j2", fabric=fabric, option=option, entries=list(entries))


def _ports(fabric: Fabric, roles: Iterable[Role]) -> Iterator[NamedGuid]:
    for role in roles:
        for node in fabric.nodes_of(role):
            for port in node.ports:
                yield NamedGuid(port.guid, f"{node.name} {port.hca}")


def _order(fabric: Fabric) -> Iterator[NamedGuid]:
    """Yield every end port in the order to route it: storage, compute, management.

    Each class is routed zone by zone, and within a zone in the order of placement, which
    goes round the leaves. OpenSM deals destinations over equal uplinks as they come, so
    every class is dealt evenly by itself.
    """
    for role in (Role.STORAGE, Role.COMPUTE, Role.MANAGEMENT):
        for zone in fabric.trees:
            for node, port in _in_zone(fabric, role, zone):
                yield NamedGuid(port.guid, f"{node} {port.hca}")


def _in_zone(fabric: Fabric, role: Role, zone: str) -> Iterator[tuple[str, NodePort]]:
    nodes = fabric.nodes_of(role)
    pairs = chain.from_iterable(((node.name, port) for port in node.ports) for node in nodes)
    return (pair for pair in pairs if pair[1].tree == zone)


def _asked(fabric: Fabric) -> list[TrafficClass]:
    """Return the classes that traffic must ask for: neither the default nor storage."""
    traffic = fabric.intent.traffic
    return [row for row in traffic.classes if row.name not in (traffic.default, traffic.storage)]


def _qos(fabric: Fabric) -> Qos:
    traffic = fabric.intent.traffic
    lanes = len(traffic.classes)
    return Qos(
        max_op_vls=operational_vls(lanes),
        lanes=lanes,
        high_limit=traffic.high_limit,
        high=_entries(arbitration(traffic, "high")),
        low=_entries(arbitration(traffic, "low")),
        sl2vl=",".join(str(vl) for vl in sl_to_vl(traffic)),
    )


def _entries(entries: Iterable[tuple[int, int]]) -> str:
    return ",".join(f"{vl}:{weight}" for vl, weight in entries)
