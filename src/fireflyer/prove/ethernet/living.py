"""A fabric alive: FRR in a namespace for each switch, a host at each leaf, every cable between.

The kernel forwards; FRR reads the very text that is rendered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fireflyer.model.fabric import Fabric, NodePort, Port
from fireflyer.prove.ethernet.expected import Plan, Routes
from fireflyer.prove.ethernet.namespaces import Box, box
from fireflyer.render.frr import port_interface, vlan_interface

DAEMONS = ("zebra", "bgpd", "bfdd")
FRR = Path("/usr/lib/frr")
FOLDER = Path("/run/fabric")
"""Where daemons of each switch keep sockets and logs, in the box."""
_ROUTER_SYSCTLS = (
    ("ipv4/ip_forward", 1),
    ("ipv6/conf/all/forwarding", 1),
    ("ipv4/conf/all/rp_filter", 0),
    ("ipv4/conf/default/rp_filter", 0),
    # As systems for switches set them: flows are told apart by their ports, and a next hop
    # behind a dead cable is not used while the routing has not heard of it.
    ("ipv4/fib_multipath_hash_policy", 1),
    ("ipv4/conf/all/ignore_routes_with_linkdown", 1),
    ("ipv4/conf/default/ignore_routes_with_linkdown", 1),
)
_SILENT = """
table inet silent {{
  chain from {{ type filter hook prerouting priority -300; iifname "{interface}" drop; }}
  chain to {{ type filter hook postrouting priority 300; oifname "{interface}" drop; }}
}}
"""


@dataclass(frozen=True)
class Host:
    """A host's adapter, in a namespace of its own."""

    namespace: str
    port: NodePort


@dataclass(frozen=True)
class Living:
    """A fabric whose routers run."""

    plan: Plan
    box: Box
    hosts: Mapping[str, Host]
    """By leaf."""
    configs: Mapping[str, str] = field(repr=False)

    @property
    def fabric(self) -> Fabric:
        return self.plan.fabric

    def routes(self) -> Routes:
        """Return the routes that each switch's kernel has from BGP, by interfaces that are up."""
        names = " ".join(self.configs)
        script = f"for n in {names}; do echo $n; ip -j -n $n -4 route show proto bgp; done"
        lines = iter(self.box.run("sh", stdin=script).splitlines())
        found: dict[str, dict[str, frozenset[str]]] = {name: {} for name in self.configs}
        for line in lines:
            if line in found:
                current = found[line]
            elif line.strip():
                current |= _parsed(line)
        return found

    def start_routing(self, switches: Iterable[str], daemons: tuple[str, ...] = DAEMONS) -> None:
        """Start daemons of switches and give them their configuration."""
        script = ["set -e"]
        for name in switches:
            at = FOLDER / name
            lines = [
                f"ip netns exec {name} {FRR}/{daemon} -d --vty_socket {at} -z {at}/zserv.api"
                f" -i {at}/{daemon}.pid --log file:{at}/{daemon}.log"
                + (f" --bfdctl {at}/bfdd.sock" if daemon == "bfdd" else "")
                for daemon in daemons
            ]
            lines.append(f"vtysh --vty_socket {at} -f {at}/frr.conf")
            body = " && ".join(f"{line} >>{at}/start.log 2>&1" for line in lines)
            script.append(f"( {body} || touch {at}/failed ) &")
        self.box.run("sh", stdin="\n".join([*script, "wait", ""]))

    def failures(self) -> Mapping[str, str]:
        """Return the switches whose daemons did not start, with the last that was said there."""
        found = {}
        for file in sorted(self.box.outside(FOLDER).glob("*/failed")):
            said = (file.parent / "start.log").read_text().strip().splitlines()
            found[file.parent.name] = said[-1] if said else "nothing was said"
        return found

    def kill_routing(self, switch: str, daemon: str = "bgpd") -> None:
        """End a daemon as a crash would."""
        self.box.run("sh", "-c", f"kill -9 $(cat {FOLDER / switch / daemon}.pid)")

    def set_links(self, cables: Iterable[str], *, up: bool) -> None:
        """Pull cables, or plug them in again, at their upper ends."""
        ends = (self.plan.cables[cable][1] for cable in cables)
        state = "up" if up else "down"
        self.box.each(f"-n {switch} link set {interface} {state}" for switch, interface in ends)

    def set_silent(self, cable: str, *, silent: bool) -> None:
        """Have a cable carry nothing though both of its ends are up, or carry again."""
        switch, interface = self.plan.cables[cable][1]
        rules = "delete table inet silent\n"
        if silent:
            rules = _SILENT.format(interface=interface)
        self.box.run("ip", "netns", "exec", switch, "nft", "-f", "-", stdin=rules)

    def sessions(self) -> Mapping[str, Mapping[str, Mapping[str, object]]]:
        """Return what each router says of its BGP neighbours."""
        names = " ".join(self.configs)
        ask = f"vtysh --vty_socket {FOLDER}/$n -c 'show bgp neighbors json' | tr -d '\\n'"
        script = f"for n in {names}; do printf '%s ' $n; {ask}; echo; done"
        found = {}
        for line in self.box.run("sh", stdin=script).splitlines():
            name, _, text = line.partition(" ")
            said = json.loads(text) if text.startswith("{") else {}
            found[name] = {key: value for key, value in said.items() if isinstance(value, dict)}
        return found


@contextmanager
def living(fabric: Fabric, configs: Mapping[str, str]) -> Iterator[Living]:
    """Cable a fabric up in a box; nothing routes yet.

    Args:
        fabric: a small one.
        configs: each switch's FRR configuration.
    """
    plan = Plan(fabric)
    with box() as made:
        hosts = _hosts(fabric)
        made.batch(_namespaces(fabric, hosts))
        made.batch(_cables(plan, hosts))
        made.each(_devices(plan, hosts))
        for name in configs:
            made.sysctl(name, _ROUTER_SYSCTLS)
        for name, text in configs.items():
            folder = made.outside(FOLDER / name)
            folder.mkdir(parents=True)
            (folder / "frr.conf").write_text(text)
        made.run("chown", "-R", "frr:frrvty", *(str(FOLDER / name) for name in configs))
        yield Living(plan=plan, box=made, hosts=hosts, configs=configs)


def _hosts(fabric: Fabric) -> Mapping[str, Host]:
    """Return the adapter in the lowest used port of each leaf."""
    found: dict[str, Host] = {}
    by_leaf = sorted(fabric.node_port.values(), key=lambda port: port.leaf)
    names = {port.leaf: end.device for end, port in fabric.node_port.items()}
    for port in by_leaf:
        found.setdefault(port.leaf.device, Host(f"{names[port.leaf]}-{port.name}", port))
    return found


def _namespaces(fabric: Fabric, hosts: Mapping[str, Host]) -> Iterator[str]:
    for name in (*fabric.switch, *(host.namespace for host in hosts.values())):
        yield f"netns add {name}"


def _cables(plan: Plan, hosts: Mapping[str, Host]) -> Iterator[str]:
    for (low, low_port), (up, up_port) in plan.cables.values():
        yield f"link add name {low_port} netns {low} type veth peer name {up_port} netns {up}"
    for leaf, host in hosts.items():
        port = port_interface(plan.fabric, host.port.leaf)
        yield (
            f"link add name {port} netns {leaf} type veth"
            f" peer name {host.port.name} netns {host.namespace}"
        )


def _devices(plan: Plan, hosts: Mapping[str, Host]) -> Iterator[str]:
    """Yield what makes switches and hosts of namespaces: ports up, a bridge, addresses."""
    ethernet = plan.fabric.intent.fabric.ethernet
    assert ethernet is not None
    for end in (end for ends in plan.cables.values() for end in ends):
        yield f"-n {end[0]} link set {end[1]} up"
    for name in plan.fabric.switch:
        yield f"-n {name} link set lo up"
    vlan = vlan_interface(plan.fabric.system, ethernet.host_vlan)
    for leaf, host in hosts.items():
        port = port_interface(plan.fabric, Port(leaf, host.port.leaf.number))
        yield f"-n {leaf} link add name {vlan} type bridge"
        yield f"-n {leaf} link set {vlan} up"
        yield f"-n {leaf} link set {port} up master {vlan}"
        at, own = host.namespace, f"{host.port.address}/{host.port.network.prefixlen}"
        yield f"-n {at} link set lo up"
        yield f"-n {at} addr add {own} dev {host.port.name}"
        yield f"-n {at} link set {host.port.name} up"
        yield f"-n {at} route add default via {host.port.gateway}"


def _parsed(line: str) -> dict[str, frozenset[str]]:
    found = {}
    for route in json.loads(line):
        hops = route.get("nexthops", [route])
        alive = (hop for hop in hops if not {"dead", "linkdown"} & set(hop.get("flags", ())))
        found[route["dst"]] = frozenset(hop["dev"] for hop in alive)
    return found
