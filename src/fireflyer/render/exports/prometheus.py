"""What monitoring looks at (file_sd), and what it should see (text format).

An alert compares what exporters report with `fireflyer_expected_link`; a target's labels say
where a device stands and what it is for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fireflyer.render.exports.wiring import Files, Wiring

_NODE_EXPORTER: Final = 9100
"""Port of the node exporter."""
_HELP: Final = "# HELP {name} {text}\n# TYPE {name} gauge\n"


def files(wiring: Wiring) -> Files:
    """Yield `nodes.json`, `switches.json` and `expected.prom`."""
    fabric = wiring.fabric
    yield (
        "nodes.json",
        _targets(
            f'{{"targets": ["{node.management}:{_NODE_EXPORTER}"],'
            f' "labels": {{"device": "{node.name}",'
            f' "role": "{node.role}", "zone": "{node.zone}", "rack": "{node.place.rack}"}}}}'
            for node in fabric.nodes
        ),
    )
    yield (
        "switches.json",
        _targets(
            f'{{"targets": ["{switch.management}"], "labels": {{"device": "{switch.name}",'
            f' "role": "{switch.layer}", "{fabric.tree_kind}": "{switch.tree or ""}",'
            f' "rack": "{switch.place.rack}"}}}}'
            for switch in fabric.switches
        ),
    )
    yield "expected.prom", _expected(wiring)


def _targets(targets: Iterable[str]) -> str:
    return "[\n" + ",\n".join(targets) + "\n]\n"


def _expected(wiring: Wiring) -> str:
    """Return each cabled port of each device, with its far end: a cable has two lines."""
    name = "fireflyer_expected_link"
    parts = [_HELP.format(name=name, text="A port that must be up, in Gb/s, and its far end.")]
    for link in wiring.links:
        a, z = f'="{link.a}"', f'="{link.z}"'
        a_port, z_port = f'="{link.a_port}"', f'="{link.z_port}"'
        parts.append(
            f"{name}{{device{a},port{a_port},peer{z},peer_port{z_port}}} {link.gbps}\n"
            f"{name}{{device{z},port{z_port},peer{a},peer_port{a_port}}} {link.gbps}\n"
        )
    return "".join(parts)
