"""The fabric of a replica: what roles, Slurm and HFReduce are told of its network.

A cloud shows no switches. Each zone has one leaf that stands for whatever joins its nodes (a
placement group), so Slurm's tree, the order of ranks and the inventory are made by the same code
as those of a site with switches. An adapter for RDMA alone has no address; its node's stands.
"""

from __future__ import annotations

from collections.abc import Mapping

from netaddr import IPAddress, IPNetwork

from fireflyer.design.replica.counts import Counts
from fireflyer.design.replica.network import LOOPBACK, Layout, layout_of
from fireflyer.load.replica import Replica
from fireflyer.model.cable_parts import CableFamily
from fireflyer.model.fabric import Fabric, Guid, Layer, Node, NodePort, Place, Port, Role, Switch
from fireflyer.model.hardware import Gpu, Nic, NodeModel, SwitchModel
from fireflyer.model.instance import InstanceType
from fireflyer.model.intent import Cluster, EthernetIntent, FabricIntent, Nodes, SwitchLayer
from fireflyer.model.replica_plan import PlannedHost, PlannedSubnet

_LEAF = "cloud"
_LEAF_MODEL = SwitchModel(
    name=_LEAF,
    description="What joins the instances of a placement group; the provider shows no more of it",
    technology="ethernet",
    ports=1024,
    port_gbps=1,
    connector="qsfp56",
    port_name="{port}",
    rack_units=1,
    power_w=1.0,
    relative_price=0.0,
    source="None",
)
_NO_CABLES = CableFamily.model_construct(
    name=_LEAF, technology="ethernet", gbps=1, offers=(), source="None"
)
_KINDS = {Role.MANAGEMENT: 0, Role.STORAGE: 1, Role.COMPUTE: 2}


def node_model(instance: InstanceType, role: Role) -> NodeModel:
    """Return an instance type as a model of node.

    Its height, power and connectors are nobody's business in a cloud, and no value of a replica
    comes from them.
    """
    gpus, network = instance.gpus, instance.network
    adapters = max(network.rdma_devices, 1)
    sockets = instance.cpus.sockets
    count = gpus.count if gpus else 0
    return NodeModel(
        name=instance.type.replace(".", "-").replace("_", "-").lower(),
        description=instance.description,
        role=role.value,
        rack_units=1,
        power_w=1.0,
        relative_price=0.0,
        cpus=instance.cpus,
        memory_mb=instance.usable_memory_mb,
        nics=tuple(
            Nic(
                name=f"{_prefix(instance)[0]}{index}",
                port_type="infiniband" if network.rdma == "infiniband" else "ethernet",
                hca=f"{_prefix(instance)[1]}{index}",
                gbps=network.gbps // adapters,
                connector="qsfp56",
                numa=index * sockets // adapters,
                root_port=index * count // adapters if count else index,
            )
            for index in range(adapters)
        ),
        gpus=tuple(
            Gpu(
                model=gpus.model,
                memory_gb=gpus.memory_gb,
                numa=index * sockets // count,
                root_port=index,
            )
            for index in range(count)
        )
        if gpus
        else (),
        nvme_drives=instance.nvme.drives,
        nvme_drive_tb=instance.nvme.drive_gb / 1000,
        pcie_gts=gpus.pcie_gts if gpus else None,
        source=instance.price.source,
    )


def _prefix(instance: InstanceType) -> tuple[str, str]:
    """Return what names of a type's interfaces and RDMA devices begin with."""
    return {
        "efa": ("efa", "efa_"),
        "infiniband": ("ib", "mlx5_ib"),
        "none": ("eth", "eth"),
    }[instance.network.rdma]


def scaled_cluster(replica: Replica, found: Counts) -> Cluster:
    """Return the site's intent as it is for the replica."""
    intent, site = replica.intent, replica.site.cluster
    leaf = SwitchLayer(model=_LEAF, count=1)
    compute = sum(len(names) for names in found.compute.values())
    models = {role: _model_name(replica, role) for role in Role}
    rows = tuple(
        row.model_copy(update={"dscp": (), "lossless": False}) for row in site.traffic.classes
    )
    return site.model_copy(
        update={
            "fabric": FabricIntent(
                technology="ethernet",
                zones=len(found.zones),
                layers=2,
                leaf=leaf,
                spine=leaf,
                ethernet=EthernetIntent(),
            ),
            "compute": Nodes(model=models[Role.COMPUTE], nodes=compute),
            "storage": Nodes(model=models[Role.STORAGE], nodes=len(found.storage)),
            "management": Nodes(model=models[Role.MANAGEMENT], nodes=len(found.management)),
            "services": site.services.model_copy(update={"subnet_manager": ()}),
            "traffic": site.traffic.model_copy(update={"classes": rows}),
            "ntp_servers": intent.ntp_servers
            or (replica.instances.clouds[intent.provider].time_server,),
            "syslog_servers": (),
        }
    )


def _model_name(replica: Replica, role: Role) -> str:
    nodes = getattr(replica.intent, role)
    instance = replica.instances.types[replica.intent.provider, nodes.instance]
    return node_model(instance, role).name


def fabric_of(
    replica: Replica,
    found: Counts,
    hosts: tuple[PlannedHost, ...],
    subnets: Mapping[str, PlannedSubnet],
) -> Fabric:
    """Return the fabric of the planned hosts."""
    layout = layout_of(replica)
    networks = {"management": layout.network}
    networks |= {f"roce_{zone}": subnets[f"zone-{zone}"].network for zone in found.zones}
    networks["loopback"] = layout.piece(LOOPBACK)
    builder = _Nodes(replica.intent.place, found.zones, layout, subnets)
    return Fabric(
        intent=scaled_cluster(replica, found),
        zones=found.zones,
        trees=found.zones,
        switches=tuple(_leaf(zone, layout.network) for zone in found.zones),
        nodes=tuple(builder.node(host) for host in hosts),
        cables=(),
        family=_NO_CABLES,
        budgets={},
        networks=networks,
        system=None,
    )


def leaf_name(zone: str) -> str:
    """Return the name of what joins a zone's nodes."""
    return f"{zone}-leaf01"


def _leaf(zone: str, network: IPNetwork) -> Switch:
    """Return what stands for a zone's network; no play and no inventory has it as a host."""
    nowhere = IPAddress(network.first, 4)
    return Switch(
        name=leaf_name(zone),
        layer=Layer.LEAF,
        tree=zone,
        index=0,
        model=_LEAF_MODEL,
        guid=Guid(0, placeholder=True),
        place=Place(_LEAF, 1, 1, 1),
        management=nowhere,
        loopback=nowhere,
        serial="",
    )


class _Nodes:
    """Makes nodes, and counts the ports of each zone's leaf and the hosts of each role."""

    def __init__(
        self,
        rack: str,
        zones: tuple[str, ...],
        layout: Layout,
        subnets: Mapping[str, PlannedSubnet],
    ) -> None:
        self.rack, self.zones, self.layout, self.subnets = rack, zones, layout, subnets
        self.ports = dict.fromkeys(zones, 0)
        self.seen: dict[tuple[Role, str], int] = {}

    def node(self, host: PlannedHost) -> Node:
        zone = self.zones.index(host.zone)
        # Compute nodes are counted in each zone, the others over all of them.
        key = (host.role, host.zone if host.role is Role.COMPUTE else "")
        index = self.seen[key] = self.seen.get(key, -1) + 1
        model = node_model(host.instance, host.role)
        dealt = (len(self.zones), zone) if host.role is Role.COMPUTE else (1, 0)
        kind = _KINDS[host.role]
        serial = kind << 24 | (zone << 20 if host.role is Role.COMPUTE else 0) | index
        return Node(
            name=host.name,
            role=host.role,
            zone=host.zone,
            index=index,
            model=model,
            ports=tuple(self._ports(host, model, serial)),
            place=Place(self.rack, index + 1, 1, 1),
            management=host.address,
            loopback=self.layout.loopback(kind, *dealt, index),
            serial="",
            mac="",
            bmc_mac="",
        )

    def _ports(self, host: PlannedHost, model: NodeModel, serial: int) -> list[NodePort]:
        """Return a compute node's adapters, or a storage node's foot in each zone."""
        if host.role is Role.COMPUTE:
            ends = [(nic.name, nic.hca, nic.gbps, host.zone, host.address) for nic in model.nics]
        else:
            ends = [
                (f"eth{number}", f"eth{number}", host.instance.network.gbps, zone, foot.address)
                for number, foot in enumerate(host.interfaces)
                for zone in self.zones
                if foot.subnet == f"zone-{zone}" and foot.address is not None
            ]
        ports = []
        for number, (name, hca, gbps, zone, address) in enumerate(ends, start=1):
            self.ports[zone] += 1
            subnet = self.subnets[f"zone-{zone}"]
            ports.append(
                NodePort(
                    name=name,
                    hca=hca,
                    number=number,
                    tree=zone,
                    leaf=Port(leaf_name(zone), self.ports[zone]),
                    guid=Guid(0x02 << 56 | serial << 8 | number, placeholder=True),
                    gbps=gbps,
                    address=address,
                    network=subnet.network,
                    gateway=subnet.router,
                    rail=number - 1 if host.role is Role.COMPUTE else 0,
                )
            )
        return ports
