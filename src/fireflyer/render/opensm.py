"""OpenSM's files for each host that runs a subnet manager.

Joined zones are one subnet. Up/down routing with the topmost switches as roots connects
everything without a credit loop (docs/decisions/0001), and the order in which destinations are
routed spreads them over the links of every layer (docs/decisions/0011). Each plane is a
subnet: its host runs one OpenSM a plane, an instance of the unit `opensm@.service` with its own
files, cache and log (docs/decisions/0015).
Sources: opensm(8); opensm.conf as printed by `opensm -c`; QoS policy as in OpenSM's
QoS_management_in_OpenSM.txt; units and `PORTS` as in Debian's package opensm 3.3.23.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fireflyer.design.routing_order import routing_engine, routing_order
from fireflyer.design.subnets import RATE_CODES, subnet_fabric
from fireflyer.design.traffic import arbitration, operational_vls, sl_to_vl
from fireflyer.model.fabric import Fabric, Guid, Manager, Role, Subnet
from fireflyer.model.intent import TrafficClass
from fireflyer.render.template import render

CONFIG_DIR = "/etc/opensm"
"""Where the files are installed on the subnet manager's host."""
LOG_DIR = "/var/log/opensm"
MTU_CODES = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
"""Code of an MTU in bytes (PathRecord's Mtu, IBTA vol. 1, 15.2.5.16)."""
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
"""Names of the files of one OpenSM."""
INSTANCES = ("default", "opensm@.service.d/planes.conf")
"""Files that start one OpenSM a plane: /etc/default/opensm, and below /etc/systemd/system."""
_INSTALLED = {
    "default": "/etc/default/opensm",
    "opensm@.service.d/planes.conf": "/etc/systemd/system/opensm@.service.d/planes.conf",
}


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


def directory_of(subnet: Subnet) -> str:
    """Return the folder that a subnet's files are installed in."""
    return f"{CONFIG_DIR}/{subnet.folder}" if subnet.folder else CONFIG_DIR


def files(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield the files of every OpenSM: in its host's folder, or a folder a plane below it."""
    for subnet in fabric.subnets:
        part = subnet_fabric(fabric, subnet)
        shared = _shared(part)
        below = f"{subnet.folder}/" if subnet.folder else ""
        for manager in subnet.managers:
            folder = f"{manager.host}/{below}"
            yield f"{folder}opensm.conf", _options(part, subnet, manager)
            for name, text in shared.items():
                yield f"{folder}{name}", text
    if len(fabric.subnets) > 1:
        folders = [subnet.folder for subnet in fabric.subnets]
        for host in fabric.intent.services.subnet_manager:
            for name in INSTANCES:
                text = render(
                    f"opensm/{name}.j2",
                    fabric=fabric,
                    directory=CONFIG_DIR,
                    folders=folders,
                )
                yield f"{host}/{name}", text


def installed(path: str) -> str:
    """Return where a file of a manager's folder goes on its host."""
    return _INSTALLED.get(path) or f"{CONFIG_DIR}/{path}"


def installed_files(fabric: Fabric) -> tuple[Mapping[str, str], Mapping[str, Mapping[str, str]]]:
    """Return the files that every manager has, and each host's own: contents by installed path.

    A copy of all of them for each host would be eight times as long.
    """
    own: dict[str, dict[str, str]] = {h: {} for h in fabric.intent.services.subnet_manager}
    for path, text in files(fabric):
        host, _, rest = path.partition("/")
        own[host][installed(rest)] = text
    if not any(own.values()):
        return {}, {}
    first, *others = own.values()
    shared = {p: t for p, t in first.items() if all(each.get(p) == t for each in others)}
    return shared, {
        host: {path: text for path, text in each.items() if path not in shared}
        for host, each in own.items()
    }


def _options(part: Fabric, subnet: Subnet, manager: Manager) -> str:
    return render(
        "opensm/opensm.conf.j2",
        fabric=part,
        subnet=subnet,
        manager=manager,
        qos=_qos(part),
        engine=routing_engine(part),
        directory=directory_of(subnet),
        log_directory=f"{LOG_DIR}/{subnet.folder}" if subnet.folder else "",
    )


def _shared(part: Fabric) -> Mapping[str, str]:
    """Return the files that every manager of a subnet has."""
    (subnet,) = part.subnets
    names = [NamedGuid(switch.guid, switch.name) for switch in part.switches]
    names += list(_ports(part, Role))
    roots = (NamedGuid(switch.guid, switch.name) for switch in subnet.roots)
    return {
        "root-guids.conf": _list(part, "root_guid_file", roots),
        "cn-guids.conf": _list(part, "cn_guid_file", _ports(part, [Role.COMPUTE])),
        "io-guids.conf": _list(part, "io_guid_file", _ports(part, [Role.STORAGE])),
        "guid-routing-order.conf": _list(part, "guid_routing_order_file", _order(part)),
        "node-name-map.conf": render("opensm/node-name-map.conf.j2", fabric=part, names=names),
        "partitions.conf": render(
            "opensm/partitions.conf.j2",
            fabric=part,
            subnet=subnet,
            rate=RATE_CODES[subnet.gbps],
            mtu=MTU_CODES[subnet.mtu_bytes],
            sl=part.traffic_default.sl,
        ),
        "qos-policy.conf": render(
            "opensm/qos-policy.conf.j2",
            fabric=part,
            storage=list(_ports(part, [Role.STORAGE])),
            storage_class=part.traffic_class(part.intent.traffic.storage),
            default_class=part.traffic_default,
            asked_classes=_asked(part),
        ),
    }


def _list(fabric: Fabric, option: str, entries: Iterable[NamedGuid]) -> str:
    return render("opensm/guids.conf.j2", fabric=fabric, option=option, entries=list(entries))


def _ports(fabric: Fabric, roles: Iterable[Role]) -> Iterator[NamedGuid]:
    for role in roles:
        for node in fabric.nodes_of(role):
            for port in node.ports:
                yield NamedGuid(port.guid, f"{node.name} {port.hca}")


def _order(fabric: Fabric) -> Iterator[NamedGuid]:
    """Yield every end port in the order to route it."""
    for node, port in routing_order(fabric, fabric.trees):
        yield NamedGuid(port.guid, f"{node.name} {port.hca}")


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
