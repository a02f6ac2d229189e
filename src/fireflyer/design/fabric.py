"""Put the parts together: a site in, a fabric out, or everything that is in the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fireflyer.design import identity, room, wiring
from fireflyer.design.addresses import (
    address_problems,
    leaf_network_problems,
    plan_addresses,
)
from fireflyer.design.asn import asn_problems
from fireflyer.design.budget import budget_problems, budgets
from fireflyer.design.cables import cable_family, cables
from fireflyer.design.devices import Devices, network_groups
from fireflyer.design.lossless import buffer_problems
from fireflyer.design.models import model_problems
from fireflyer.design.names import numbered
from fireflyer.design.services import serial_problems, service_problems
from fireflyer.design.shape import shape_of, shape_problems
from fireflyer.design.subnets import subnet_problems, subnets
from fireflyer.design.systems import system_of
from fireflyer.design.traffic import traffic_problems
from fireflyer.errors import IntentError
from fireflyer.load import Site
from fireflyer.model.fabric import (
    CableRole,
    Fabric,
    Node,
    Port,
)


def design(site: Site) -> Fabric:
    """Return the fabric that the site's intent asks for.

    Raises:
        IntentError: with every problem that can be seen at once.
    """
    cluster = site.cluster
    managers = numbered("mg", cluster.management.nodes, 2)
    problems = traffic_problems(site) + service_problems(site, managers) + asn_problems(site)
    models = model_problems(site)
    problems += models or shape_problems(site)
    problems += address_problems(site, models_fit=not models) + subnet_problems(site)
    if problems:
        raise IntentError(problems)
    shape = shape_of(site)
    found = budgets(cluster, shape)
    problems = budget_problems(site, shape)
    problems += room.room_problems(site, network_groups(site, shape))
    if problems := problems + leaf_network_problems(site, shape):
        raise IntentError(problems)
    devices = Devices(site, shape, plan_addresses(site))
    switches = tuple(devices.switches())
    nodes = tuple(devices.nodes(managers))
    known = [switch.name for switch in switches]
    for node in nodes:
        known += [node.name, *(f"{node.name}:{port.hca}" for port in node.ports)]
    boxes = [room.Box(s.place, s.model.rack_units, s.model.rack_power_w) for s in switches]
    boxes += [room.Box(n.place, n.model.rack_units, n.model.rack_power_w) for n in nodes]
    boxes += [room.Box(f.place, f.rack_units, 0.0) for f in devices.cable_managers]
    problems = room.rack_problems(site, devices.room, boxes) + identity.asset_problems(
        site.assets, known, {f"{n.name}:{n.ports[0].hca}" for n in nodes if n.ports}
    )
    guids = [(switch.name, switch.guid) for switch in switches]
    guids += [(f"{n.name}:{port.hca}", port.guid) for n in nodes for port in n.ports]
    problems += serial_problems(site, switches)
    if problems := problems + identity.guid_problems(site.assets, guids):
        raise IntentError(problems)
    fittings = devices.cable_managers
    cabled = cables(site, _wires(devices, nodes), switches, nodes, fittings)
    if problems := room.panel_problems(site, cabled.panels):
        raise IntentError(problems)
    pulled = cabled.cables
    if problems := buffer_problems(site, {s.name: s for s in switches}, pulled):
        raise IntentError(problems)
    return Fabric(
        intent=cluster,
        zones=devices.zones,
        trees=devices.trees,
        switches=switches,
        nodes=nodes,
        cables=pulled,
        family=cable_family(site),
        budgets=found,
        networks=devices.addresses.networks,
        system=system_of(site),
        subnets=subnets(cluster, devices.trees, switches, nodes),
        fittings=(*fittings, *cabled.panels),
        trunks=cabled.trunks,
    )


def _wires(devices: Devices, nodes: Iterable[Node]) -> Iterator[wiring.Wire]:
    for node in nodes:
        for port in node.ports:
            yield wiring.Wire(Port(node.name, port.number), port.leaf, CableRole.HOST)
    for names in devices.names:
        yield from wiring.tree(devices.shape, names)
    interzone = devices.site.cluster.fabric.interzone
    if interzone is not None:
        gateways = tuple(names.leaves[-1] for names in devices.names)
        links = interzone.links_per_zone
        yield from wiring.between_zones(devices.shape, gateways, devices.between, links)
