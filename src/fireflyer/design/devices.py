"""Every switch and node of a site: its name, place, addresses and ports."""

from __future__ import annotations

from collections.abc import Iterator

from netaddr import IPAddress

from fireflyer.design import identity, room, wiring
from fireflyer.design.addresses import (
    AddressPlan,
    ipoib_name,
)
from fireflyer.design.budget import budgets, share
from fireflyer.design.names import numbered, tree_names, zone_names
from fireflyer.design.network_racks import Group
from fireflyer.design.placement import Demand, place
from fireflyer.design.shape import Shape
from fireflyer.load import Site
from fireflyer.model.fabric import (
    Fitting,
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


def network_groups(site: Site, shape: Shape) -> list[list[Group]]:
    """Return what stands in each zone's network racks, each rack's lowest devices first.

    Spines, leaves and cores, tree by tree; then the zone's share of interzone switches, then
    its management nodes, those with a subnet manager first.
    """
    cluster = site.cluster
    fabric = cluster.fabric
    zones: list[list[Group]] = [[] for _ in range(fabric.zones)]
    for tree, name in enumerate(tree_names(fabric.zones, fabric.planes)):
        zones[tree % fabric.zones] += _tree_groups(wiring.tree_switches(name, shape), shape)
    managers = numbered("mg", cluster.management.nodes, 2)
    model = site.catalogue.nodes[cluster.management.model]
    for zone, groups in enumerate(zones):
        if fabric.interzone is not None:
            names = numbered("interzone", fabric.interzone.switches, 2)[zone :: fabric.zones]
            units = site.catalogue.switches[fabric.interzone.model].rack_units
            groups.append(Group(Layer.INTERZONE, names, units))
        own = managers[zone :: fabric.zones]
        first = [name for name in own if name in cluster.services.subnet_manager]
        names = (*first, *(name for name in own if name not in first))
        groups.append(Group(Role.MANAGEMENT, names, model.rack_units))
    return zones


def _tree_groups(names: wiring.TreeSwitches, shape: Shape) -> Iterator[Group]:
    each = shape.spines_per_pod
    for pod in range(shape.pods):
        spines = names.spines[pod * each : (pod + 1) * each]
        yield Group(Layer.SPINE, spines, shape.spine.rack_units)
    yield Group(Layer.LEAF, names.leaves, shape.leaf.rack_units)
    if shape.core is not None:
        yield Group(Layer.CORE, names.cores, shape.core.rack_units)


class Devices:
    """The site's values that every device needs, and the devices made of them."""

    def __init__(self, site: Site, shape: Shape, addresses: AddressPlan) -> None:
        """Name the switches and find their places; the problems of the site were looked for."""
        self.site, self.shape, self.addresses = site, shape, addresses
        self.zones = zone_names(site.cluster.fabric.zones)
        self.trees = tree_names(site.cluster.fabric.zones, site.cluster.fabric.planes)
        self.names = [wiring.tree_switches(tree, shape) for tree in self.trees]
        interzone = site.cluster.fabric.interzone
        self.between = numbered("interzone", interzone.switches if interzone else 0, 2)
        self.room = room.Room(site.cluster.racks, self.zones)
        self.network: dict[str, Place] = {}
        self.cable_managers: list[Fitting] = []
        for zone, groups in enumerate(network_groups(site, shape)):
            places, managers = self.room.network(zone, groups)
            self.network |= places
            self.cable_managers += managers
        self.leaf_networks = {
            leaf: addresses.leaf_network(tree, index, shape.leaf.ports)
            for tree, names in zip(self.trees, self.names, strict=True)
            for index, leaf in enumerate(names.leaves)
            if site.cluster.fabric.technology == "ethernet"
        }

    def switches(self) -> Iterator[Switch]:
        """Yield a tree's spines, leaves and cores, tree by tree, then those between zones."""
        shape = self.shape
        for tree, names in enumerate(self.names):
            for layer, layer_names, model in (
                (Layer.SPINE, names.spines, shape.spine),
                (Layer.LEAF, names.leaves, shape.leaf),
                (Layer.CORE, names.cores, shape.core or shape.spine),
            ):
                for index, name in enumerate(layer_names):
                    yield self._switch(name, layer, tree, index, model)
        interzone = self.site.cluster.fabric.interzone
        if interzone is not None:
            model = self.site.catalogue.switches[interzone.model]
            for index, name in enumerate(self.between):
                yield self._switch(name, Layer.INTERZONE, 0, index, model)

    def _switch(self, name: str, layer: Layer, tree: int, index: int, model: SwitchModel) -> Switch:
        asset = identity.asset_of(self.site.assets, name)
        number = self.addresses.switch(layer, tree, index)
        return Switch(
            name=name,
            layer=layer,
            tree=None if layer is Layer.INTERZONE else self.trees[tree],
            index=index,
            model=model,
            guid=identity.guid(asset, identity.placeholder(layer, tree, index, 0)),
            place=self.network[name],
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
        shape, compute = self.shape, self.site.cluster.compute
        for names, budget in zip(
            self.names, budgets(self.site.cluster, shape).values(), strict=True
        ):
            counts = [shape.host_ports] * shape.leaves
            counts[-1] -= budget.interzone
            placed = place(
                list(zip(names.leaves, counts, strict=True)),
                shape.leaves_per_pod,
                Demand(
                    compute=budget.compute,
                    storage=budget.storage,
                    management=budget.management,
                    rails=shape.rails[Role.COMPUTE],
                    uplinks=shape.leaf_uplinks,
                    spread=compute.placement == "spread",
                    per_leaf=compute.per_leaf,
                ),
            )
            yield {
                Role.COMPUTE: placed.compute,
                Role.STORAGE: placed.storage,
                Role.MANAGEMENT: placed.management,
            }

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
            leaves = {
                tree: self._rails(ports, tree, Role.MANAGEMENT, index // count)
                for tree in self._trees_of(home)
            }
            number = self.addresses.management(index)
            where = self.network[name]
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
