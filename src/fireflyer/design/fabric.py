"""Put the parts together: a site in, a fabric out, or everything that is in the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netaddr import IPAddress

from fireflyer.design import identity, room, wiring
from fireflyer.design.addresses import (
    AddressPlan,
    address_problems,
    ipoib_name,
    leaf_network_problems,
    plan_addresses,
)
from fireflyer.design.asn import asn_problems
from fireflyer.design.budget import budget_problems, budgets, share
from fireflyer.design.cables import cable_family, cables
from fireflyer.design.lossless import buffer_problems
from fireflyer.design.models import model_problems
from fireflyer.design.names import numbered, tree_names, zone_names
from fireflyer.design.placement import place
from fireflyer.design.services import service_problems
from fireflyer.design.shape import Shape, shape_of, shape_problems
from fireflyer.design.systems import system_of
from fireflyer.design.traffic import traffic_problems
from fireflyer.errors import IntentError
from fireflyer.load import Site
from fireflyer.model.fabric import (
    CableRole,
    Fabric,
    Guid,
    Layer,
    Node,
    NodePort,
    Place,
    Port,
    Role,
    Switch,
)
from fireflyer.model.hardware import Nic, SwitchModel


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
    problems += address_problems(site, models_fit=not models)
    if problems:
        raise IntentError(problems)
    shape = shape_of(site)
    found = budgets(cluster, shape)
    problems = budget_problems(site, shape)
    problems += room.room_problems(site, _network_devices(site, shape))
    if problems := problems + leaf_network_problems(site, shape):
        raise IntentError(problems)
    builder = _Builder(site, shape, plan_addresses(site))
    switches = tuple(builder.switches())
    nodes = tuple(builder.nodes(managers))
    known = [switch.name for switch in switches]
    for node in nodes:
        known += [node.name, *(f"{node.name}:{port.hca}" for port in node.ports)]
    boxes = [room.Box(s.place, s.model.rack_units, s.model.rack_power_w) for s in switches]
    boxes += [room.Box(n.place, n.model.rack_units, n.model.rack_power_w) for n in nodes]
    problems = room.rack_problems(site, builder.room, boxes) + identity.asset_problems(
        site.assets, known, {f"{n.name}:{n.ports[0].hca}" for n in nodes if n.ports}
    )
    guids = [(switch.name, switch.guid) for switch in switches]
    guids += [(f"{n.name}:{port.hca}", port.guid) for n in nodes for port in n.ports]
    if problems := problems + identity.guid_problems(site.assets, guids):
        raise IntentError(problems)
    pulled = cables(site, _wires(builder, nodes), switches, nodes)
    if problems := buffer_problems(site, {s.name: s for s in switches}, pulled):
        raise IntentError(problems)
    return Fabric(
        intent=cluster,
        zones=builder.zones,
        trees=builder.trees,
        switches=switches,
        nodes=nodes,
        cables=pulled,
        family=cable_family(site),
        budgets=found,
        networks=builder.addresses.networks,
        system=system_of(site),
    )


def _network_devices(site: Site, shape: Shape) -> list[int]:
    """Return the number of switches and management nodes that stand in each zone."""
    fabric = site.cluster.fabric
    switches = (shape.spines + shape.leaves + shape.cores) * fabric.planes
    return [
        switches
        + (fabric.interzone.switches if fabric.interzone and zone == 0 else 0)
        + share(site.cluster.management.nodes, fabric.zones, zone)
        for zone in range(fabric.zones)
    ]


class _Builder:
    """The site's values that every device needs."""

    def __init__(self, site: Site, shape: Shape, addresses: AddressPlan) -> None:
        self.site, self.shape, self.addresses = site, shape, addresses
        self.zones = zone_names(site.cluster.fabric.zones)
        self.trees = tree_names(site.cluster.fabric.zones, site.cluster.fabric.planes)
        self.names = [wiring.tree_switches(tree, shape) for tree in self.trees]
        interzone = site.cluster.fabric.interzone
        self.between = numbered("interzone", interzone.switches if interzone else 0, 2)
        self.room = room.Room(site.cluster.racks, self.zones)
        self.network = [self._network(zone) for zone in range(len(self.zones))]
        self.leaf_networks = {
            leaf: addresses.leaf_network(tree, index, shape.leaf.ports)
            for tree, names in zip(self.trees, self.names, strict=True)
            for index, leaf in enumerate(names.leaves)
            if site.cluster.fabric.technology == "ethernet"
        }

    def _network(self, zone: int) -> list[Place]:
        """Return the places of a zone's spines, leaves, cores, interzone switches and managers."""
        shape, cluster = self.shape, self.site.cluster
        heights = [shape.spine.rack_units] * shape.spines + [shape.leaf.rack_units] * shape.leaves
        if shape.core is not None:
            heights += [shape.core.rack_units] * shape.cores
        heights *= cluster.fabric.planes
        if cluster.fabric.interzone is not None and zone == 0:
            between = self.site.catalogue.switches[cluster.fabric.interzone.model]
            heights += [between.rack_units] * len(self.between)
        manager = self.site.catalogue.nodes[cluster.management.model]
        managers = share(cluster.management.nodes, len(self.zones), zone)
        return self.room.network(zone, heights + [manager.rack_units] * managers)

    def switches(self) -> Iterator[Switch]:
        """Yield a tree's spines, leaves and cores, tree by tree, then those between zones."""
        shape = self.shape
        free = [iter(places) for places in self.network]
        for tree, names in enumerate(self.names):
            places = free[tree % len(self.zones)]
            for layer, layer_names, model in (
                (Layer.SPINE, names.spines, shape.spine),
                (Layer.LEAF, names.leaves, shape.leaf),
                (Layer.CORE, names.cores, shape.core or shape.spine),
            ):
                for index, name in enumerate(layer_names):
                    yield self._switch(name, layer, tree, index, model, next(places))
        interzone = self.site.cluster.fabric.interzone
        if interzone is not None:
            model = self.site.catalogue.switches[interzone.model]
            first = shape.leaves + shape.spines + shape.cores
            for index, name in enumerate(self.between):
                where = self.network[0][first + index]
                yield self._switch(name, Layer.INTERZONE, 0, index, model, where)

    def _switch(
        self, name: str, layer: Layer, tree: int, index: int, model: SwitchModel, where: Place
    ) -> Switch:
        asset = identity.asset_of(self.site.assets, name)
        number = self.addresses.switch(layer, tree, index)
        return Switch(
            name=name,
            layer=layer,
            tree=None if layer is Layer.INTERZONE else self.trees[tree],
            index=index,
            model=model,
            guid=identity.guid(asset, identity.placeholder(layer, tree, index, 0)),
            place=where,
            management=self.addresses.address("management", number),
            loopback=self.addresses.address("loopback", number),
            serial=asset.serial if asset else "",
            mac=asset.mac if asset else "",
        )

    def nodes(self, managers: tuple[str, ...]) -> Iterator[Node]:
        """Yield compute nodes zone by zone, then storage, then management nodes."""
        cluster, count = self.site.cluster, len(self.zones)
        ports = list(self._leaf_ports())
        width = max(4, len(str(-(-cluster.compute.nodes // count))))
        model = self.site.catalogue.nodes[cluster.compute.model]
        per_rack = cluster.racks.nodes.compute
        for zone, zone_name in enumerate(self.zones):
            names = numbered(f"{zone_name}-cn", share(cluster.compute.nodes, count, zone), width)
            for index, name in enumerate(names):
                rack, position = divmod(index, per_rack)
                where = self.room.node(zone, rack, position * model.rack_units + 1)
                number = self.addresses.compute(zone, index)
                trees = self._trees_of(zone)
                leaves = {tree: self._rails(ports, tree, Role.COMPUTE, index) for tree in trees}
                yield self._node(name, Role.COMPUTE, zone, index, number, where, leaves)
        yield from self._storage(numbered("st", cluster.storage.nodes, 3), ports)
        yield from self._managers(managers, ports)

    def _leaf_ports(self) -> Iterator[dict[Role, list[Port]]]:
        """Yield the leaf ports of each role's adapters, tree by tree."""
        shape = self.shape
        for names, budget in zip(
            self.names, budgets(self.site.cluster, shape).values(), strict=True
        ):
            hosts = names.leaves[: shape.host_leaves]
            on_leaves = 0 if shape.gateway else budget.management
            compute, storage, management = place(
                hosts, shape.host_ports, budget.compute, budget.storage, on_leaves
            )
            if shape.gateway:
                management = [Port(names.leaves[-1], n + 1) for n in range(budget.management)]
            yield {Role.COMPUTE: compute, Role.STORAGE: storage, Role.MANAGEMENT: management}

    def _trees_of(self, zone: int) -> range:
        """Return the trees that a node standing in a zone reaches: its own, or every plane."""
        return range(zone, len(self.trees), len(self.zones))

    def _rails(
        self, ports: list[dict[Role, list[Port]]], tree: int, role: Role, index: int
    ) -> list[Port]:
        """Return the leaf ports of a role's node number `index` in a tree, adapter by adapter."""
        rails = self.shape.rails[role]
        return ports[tree][role][index * rails : (index + 1) * rails]

    def _storage(
        self, names: tuple[str, ...], ports: list[dict[Role, list[Port]]]
    ) -> Iterator[Node]:
        cluster, count = self.site.cluster, len(self.zones)
        nodes = self.site.catalogue.nodes
        compute, storage = nodes[cluster.compute.model], nodes[cluster.storage.model]
        base = cluster.racks.nodes.compute * compute.rack_units
        for index, name in enumerate(names):
            home = index % count
            rack, position = divmod(index // count, cluster.racks.nodes.storage)
            where = self.room.node(home, rack, base + position * storage.rack_units + 1)
            trees = range(len(self.trees))
            leaves = {tree: self._rails(ports, tree, Role.STORAGE, index) for tree in trees}
            number = self.addresses.storage(index)
            yield self._node(name, Role.STORAGE, home, index, number, where, leaves)

    def _managers(
        self, names: tuple[str, ...], ports: list[dict[Role, list[Port]]]
    ) -> Iterator[Node]:
        count = len(self.zones)
        for index, name in enumerate(names):
            home = index % count
            managers = share(len(names), count, home)
            where = self.network[home][index // count - managers]
            leaves = {
                tree: self._rails(ports, tree, Role.MANAGEMENT, index // count)
                for tree in self._trees_of(home)
            }
            number = self.addresses.management(index)
            yield self._node(name, Role.MANAGEMENT, home, index, number, where, leaves)

    def _node(
        self,
        name: str,
        role: Role,
        zone: int,
        index: int,
        number: int,
        where: Place,
        leaves: dict[int, list[Port]],
    ) -> Node:
        """Return a node; its adapters go round the trees it reaches, so adapter i is on plane i."""
        plan = self.addresses
        model = self.site.catalogue.nodes[getattr(self.site.cluster, role).model]
        rails = zip(*leaves.values(), strict=True)
        ends = [
            (tree, rail, leaf)
            for rail, of_rail in enumerate(rails)
            for tree, leaf in zip(leaves, of_rail, strict=True)
        ]
        kind_zone = zone if role is Role.COMPUTE else 0
        asset = identity.asset_of(self.site.assets, name)
        return Node(
            name=name,
            role=role,
            zone=self.zones[zone],
            index=index,
            model=model,
            ports=tuple(
                self._node_port(
                    name,
                    nic,
                    port,
                    number,
                    identity.placeholder(role, kind_zone, index, port),
                    end,
                )
                for port, (nic, end) in enumerate(zip(model.nics, ends, strict=True), start=1)
            )
            if ends
            else (),
            place=where,
            management=plan.address("management", number),
            loopback=plan.address("loopback", number),
            serial=asset.serial if asset else "",
            mac=asset.mac if asset else "",
            bmc_mac=asset.bmc_mac if asset else "",
        )

    def _node_port(
        self,
        node: str,
        nic: Nic,
        port: int,
        number: int,
        fallback: Guid,
        end: tuple[int, int, Port],
    ) -> NodePort:
        (tree, rail, leaf), plan = end, self.addresses
        name = self.trees[tree]
        if self.site.cluster.fabric.technology == "ethernet":
            network, gateway = self.leaf_networks[leaf.device]
            address = IPAddress(int(gateway) + leaf.number, 4)
        else:
            network, gateway = plan.networks[ipoib_name(name, rail)], None
            address = plan.address(ipoib_name(name, rail), number)
        asset = identity.asset_of(self.site.assets, node, nic.hca, first=port == 1)
        return NodePort(
            name=nic.name,
            hca=nic.hca,
            number=port,
            tree=name,
            leaf=leaf,
            guid=identity.guid(asset, fallback),
            gbps=min(nic.gbps, self.shape.leaf.port_gbps),
            address=address,
            network=network,
            gateway=gateway,
            rail=rail,
        )


def _wires(builder: _Builder, nodes: Iterable[Node]) -> Iterator[wiring.Wire]:
    for node in nodes:
        for port in node.ports:
            yield wiring.Wire(Port(node.name, port.number), port.leaf, CableRole.HOST)
    for names in builder.names:
        yield from wiring.tree(builder.shape, names)
    interzone = builder.site.cluster.fabric.interzone
    if interzone is not None:
        gateways = tuple(names.leaves[-1] for names in builder.names)
        links = interzone.links_per_zone
        yield from wiring.between_zones(builder.shape, gateways, builder.between, links)
