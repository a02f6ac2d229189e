"""What monitoring looks at (file_sd), and what it should see (text format).

An alert compares what exporters report with `fireflyer_expected_link`; a target's labels say
where a device stands and what it is for. Each begins with `fabric_`: where a target and a metric
have a label of one name, Prometheus renames the metric's, and node exporter's metrics have
`device`, `zone` and `type` of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fireflyer.model.fabric import Fabric, Node, Switch
from fireflyer.render.exports.wiring import Files, Wiring
from fireflyer.render.sonic.system import GNMI_PORT

_NODE_EXPORTER: Final = 9100
SNMP: Final = 161
"""UDP port of SNMP agents."""
_GNMI: Final[Mapping[str, int]] = {"sonic": GNMI_PORT, "nvue": 9339, "eos": 6030}
"""TCP port of a system's gNMI server: as rendered for SONiC, the vendor's default elsewhere."""
_HELP: Final = "# HELP {name} {text}\n# TYPE {name} gauge\n"


def files(wiring: Wiring) -> Files:
    """Yield `nodes.json`, `switches.json` and `expected.prom`."""
    fabric = wiring.fabric
    yield (
        "nodes.json",
        _targets(
            _target(node, _NODE_EXPORTER, role=node.role, zone=node.zone) for node in fabric.nodes
        ),
    )
    port = monitoring_port(fabric)
    monitored = () if port is None else fabric.switches
    yield (
        "switches.json",
        _targets(
            _target(switch, port or 0, role=switch.layer, **{fabric.tree_kind: switch.tree or ""})
            for switch in monitored
        ),
    )
    yield "expected.prom", _expected(wiring)


def monitoring_port(fabric: Fabric) -> int | None:
    """Return the port at which switches answer monitoring; None if they are not to answer.

    FRR runs on a Linux host and is reached through that host's node exporter.
    """
    how = fabric.intent.switch_management.monitoring
    if how == "none":
        return None
    if fabric.system == "frr":
        return _NODE_EXPORTER
    return SNMP if how == "snmpv3" else _GNMI.get(fabric.system or "", SNMP)


def _target(device: Node | Switch, port: int, **labels: str) -> str:
    labels = {"device": device.name, **labels, "rack": device.place.rack}
    pairs = ", ".join(f'"fabric_{name}": "{value}"' for name, value in labels.items())
    return f'{{"targets": ["{device.management}:{port}"], "labels": {{{pairs}}}}}'


def _targets(targets: Iterable[str]) -> str:
    return "[\n" + ",\n".join(targets) + "\n]\n"


def _expected(wiring: Wiring) -> str:
    """Return each cabled port of each device, with its peer: a cable has two lines."""
    name = "fireflyer_expected_link"
    parts = [_HELP.format(name=name, text="A port that must be up, in Gb/s, and its peer.")]
    for link in wiring.links:
        a, z = f'="{link.a}"', f'="{link.z}"'
        a_port, z_port = f'="{link.a_port}"', f'="{link.z_port}"'
        parts.append(
            f"{name}{{device{a},port{a_port},peer{z},peer_port{z_port}}} {link.gbps}\n"
            f"{name}{{device{z},port{z_port},peer{a},peer_port{a_port}}} {link.gbps}\n"
        )
    return "".join(parts)
