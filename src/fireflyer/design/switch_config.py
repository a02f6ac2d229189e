"""What each switch should hold: the fabric seen from one switch, in no vendor's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from math import ceil

from netaddr import IPAddress, IPNetwork

from fireflyer.design import bgp
from fireflyer.design.asn import asn
from fireflyer.design.lossless import lossless
from fireflyer.design.traffic import queues
from fireflyer.model.fabric import Cable, CableRole, Fabric, Layer, Port, Switch
from fireflyer.model.switch_config import (
    Bgp,
    HostNetwork,
    Management,
    PortConfig,
    PortRole,
    Prefixes,
    SwitchConfig,
)


@lru_cache(maxsize=1)
def switch_configs(fabric: Fabric) -> tuple[SwitchConfig, ...]:
    """Return the configuration of every switch in order; none where nothing is configured."""
    if fabric.system is None:
        return ()
    view = _View(fabric)
    return tuple(view.configure(switch) for switch in fabric.switches)


class _View:
    """The fabric, indexed for switch after switch."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric, self.cluster = fabric, fabric.intent
        self.ethernet = self.cluster.fabric.ethernet if fabric.is_ethernet else None
        assert fabric.system is not None
        self.system = fabric.system
        self.queues = queues(self.cluster) if self.ethernet else ()

    @cached_property
    def cabled(self) -> Mapping[str, dict[int, tuple[Cable, Port]]]:
        """Each switch's cables and far ends, by port."""
        found: dict[str, dict[int, tuple[Cable, Port]]] = {s: {} for s in self.fabric.switch}
        for cable in self.fabric.cables:
            for near, far in ((cable.a, cable.z), (cable.z, cable.a)):
                if near.device in found:
                    found[near.device][near.number] = (cable, far)
        return found

    @cached_property
    def links(self) -> Mapping[str, IPAddress]:
        """The lower address of each numbered link between switches, by cable."""
        network = self.fabric.networks.get("links")
        if network is None:
            return {}
        between = (cable for cable in self.fabric.cables if cable.role is not CableRole.HOST)
        return {cable.id: IPAddress(network.first + 2 * n, 4) for n, cable in enumerate(between)}

    @cached_property
    def host_networks(self) -> Mapping[str, HostNetwork]:
        """The network of each leaf with hosts."""
        assert self.ethernet is not None
        return {
            port.leaf.device: HostNetwork(
                vlan=self.ethernet.host_vlan, network=port.network, gateway=port.gateway
            )
            for port in self.fabric.node_port.values()
            if port.gateway is not None
        }

    @cached_property
    def asns(self) -> Mapping[str, int]:
        """Each switch's autonomous system; empty on InfiniBand."""
        if self.ethernet is None:
            return {}
        trees = {tree: index for index, tree in enumerate(self.fabric.trees)}
        intent = self.cluster.fabric
        per_pod = intent.spine.count // intent.pods_per_zone
        return {
            switch.name: asn(
                self.ethernet.asn_first,
                switch.layer,
                trees[switch.tree] if switch.tree else 0,
                switch.index // per_pod if switch.layer is Layer.SPINE else 0,
                switch.index,
            )
            for switch in self.fabric.switches
        }

    @cached_property
    def accepted(self) -> tuple[Prefixes, ...]:
        """What any switch may announce."""
        return bgp.fabric_prefixes(self.fabric)

    @cached_property
    def between(self) -> frozenset[str]:
        """The switches between zones."""
        return frozenset(switch.name for switch in self.fabric.switches_of(Layer.INTERZONE))

    @cached_property
    def allowed_sources(self) -> tuple[IPNetwork, ...]:
        """The networks that may reach a switch."""
        allowed = self.cluster.switch_management.allowed_sources
        own = (self.fabric.networks["management"],)
        return tuple(IPNetwork(text) for text in allowed) or own

    @cached_property
    def port_names(self) -> Mapping[str, Sequence[str]]:
        """The names of each device's ports in order, as the device itself spells them."""
        models = {switch.model.name: switch.model for switch in self.fabric.switches}
        of_model = {name: model.port_names(self.system) for name, model in models.items()}
        names: dict[str, Sequence[str]] = {
            switch.name: of_model[switch.model.name] for switch in self.fabric.switches
        }
        for node in self.fabric.nodes:
            names[node.name] = [port.name if self.ethernet else port.hca for port in node.ports]
        return names

    def configure(self, switch: Switch) -> SwitchConfig:
        cluster, ethernet = self.cluster, self.ethernet
        cabled = self.cabled[switch.name]
        ports = tuple(
            self._port(switch, number, cabled.get(number))
            for number in range(1, switch.model.ports + 1)
        )
        hosts = self.host_networks.get(switch.name) if ethernet else None
        return SwitchConfig(
            name=switch.name,
            layer=switch.layer,
            model=switch.model,
            place=str(switch.place),
            management=Management(
                domain=cluster.domain,
                address=switch.management,
                network=self.fabric.networks["management"],
                gateway=cluster.addresses.gateway or "",
                ntp_servers=cluster.ntp_servers,
                syslog_servers=cluster.syslog_servers,
                allowed_sources=self.allowed_sources,
                monitoring=cluster.switch_management.monitoring,
            ),
            loopback=switch.loopback,
            ports=ports,
            mtu=ethernet.mtu if ethernet else 0,
            adaptive_routing=ethernet is not None and ethernet.load_balancing == "adaptive",
            bgp=self._bgp(switch, ports, hosts) if ethernet else None,
            hosts=hosts,
            queues=self.queues,
            lossless=lossless(cluster, switch.model, ports) if ethernet else None,
        )

    def _port(self, switch: Switch, number: int, end: tuple[Cable, Port] | None) -> PortConfig:
        name = self.port_names[switch.name][number - 1]
        if end is None:
            return PortConfig(
                number=number, name=name, role=PortRole.UNUSED, gbps=switch.model.port_gbps
            )
        cable, far = end
        to_host = cable.role is CableRole.HOST
        own = peer = None
        if (lower := self.links.get(cable.id)) is not None:
            near_is_a = cable.a.device == switch.name
            own, peer = (lower, lower + 1) if near_is_a else (lower + 1, lower)
        return PortConfig(
            number=number,
            name=name,
            role=PortRole.HOST if to_host else PortRole.SWITCH,
            peer=far.device,
            peer_port=self.port_names[far.device][far.number - 1],
            peer_asn=0 if to_host else self.asns.get(far.device, 0),
            address=own,
            peer_address=peer,
            gbps=cable.gbps,
            cable_m=ceil(cable.length_m),
        )

    def _bgp(self, switch: Switch, ports: tuple[PortConfig, ...], hosts: HostNetwork | None) -> Bgp:
        loopback = IPNetwork((int(switch.loopback), 32))
        return Bgp(
            asn=self.asns[switch.name],
            router_id=switch.loopback,
            networks=(loopback, hosts.network) if hosts else (loopback,),
            accepted=self.accepted,
            transit=bgp.is_transit(switch.layer, ports, self.between),
            maximum_paths=max(1, sum(port.role is PortRole.SWITCH for port in ports)),
            unnumbered=self.ethernet is not None and not self.ethernet.numbered_links,
            keepalive_s=bgp.KEEPALIVE_S,
            hold_s=bgp.HOLD_S,
            connect_s=bgp.CONNECT_S,
            bfd_interval_ms=bgp.BFD_INTERVAL_MS,
            bfd_multiplier=bgp.BFD_MULTIPLIER,
        )
