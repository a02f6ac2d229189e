"""The fabric for ibsim, the InfiniBand simulator.

ibsim numbers an adapter's port GUID one above its node GUID, so the node GUID here is the
port GUID less one; switches have one GUID. `w=3 s=7 e=7` is four lanes of up to HDR, the
fastest link that ibsim 0.10 knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fireflyer.model.fabric import Fabric, Port
from fireflyer.render.template import render

LINK = "w=3 s=7 e=7"


@dataclass(frozen=True, slots=True)
class Link:
    """One port's line."""

    number: int
    peer_id: str
    peer_number: int


@dataclass(frozen=True, slots=True)
class Device:
    """One switch or adapter."""

    id: str
    guid: str
    ports: int
    description: str
    placeholder: bool
    links: tuple[Link, ...]


def node_guid(fabric: Fabric, port: Port) -> int:
    """Return the node GUID that ibsim has for the device, or for the adapter at a port."""
    guid = fabric.guid(port).value
    return guid if port.device in fabric.switch else guid - 1


def node_id(fabric: Fabric, port: Port) -> str:
    """Return the name ibsim and ibnetdiscover give a node: kind and GUID."""
    kind = "S" if port.device in fabric.switch else "H"
    return f"{kind}-{node_guid(fabric, port):016x}"


def files(fabric: Fabric) -> Mapping[str, str]:
    """Return `fabric.net`; no file on Ethernet."""
    if fabric.is_ethernet:
        return {}
    cabled: dict[str, list[tuple[int, Port]]] = {}
    for near, far in fabric.far_end.items():
        cabled.setdefault(near.device, []).append((near.number, far))
    switches = [
        Device(
            id=f"S-{switch.guid.value:016x}",
            guid=str(switch.guid),
            ports=switch.model.ports,
            description=switch.name,
            placeholder=switch.guid.placeholder,
            links=tuple(
                _link(fabric, number, far) for number, far in sorted(cabled.get(switch.name, []))
            ),
        )
        for switch in fabric.switches
    ]
    adapters = [
        Device(
            id=node_id(fabric, Port(node.name, port.number)),
            guid=f"0x{port.guid.value - 1:016x}",
            ports=1,
            description=f"{node.name} {port.hca}",
            placeholder=port.guid.placeholder,
            links=(_link(fabric, 1, port.leaf),),
        )
        for node in fabric.nodes
        for port in node.ports
    ]
    text = render(
        "ibsim/fabric.net.j2",
        site=fabric.intent.name,
        switches=switches,
        adapters=adapters,
        link=LINK,
    )
    return {"fabric.net": text}


def _link(fabric: Fabric, number: int, far: Port) -> Link:
    """Return a port's line; an adapter has one port in ibsim, whichever of its node it is."""
    return Link(number, node_id(fabric, far), far.number if far.device in fabric.switch else 1)
