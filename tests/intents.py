"""Random intents: any small site that its switches can hold."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.sites import ETHERNET, ONE_ZONE, PLANES, THREE_LAYERS

PORTS = 8
"""Of the laboratory switches."""
ROOMY = {
    "cluster.racks.power_kw": 1000.0,
    "cluster.racks.per_row": 100,
    "cluster.racks.network.per_row": 10,
}
BLOCKS = {
    "management": {"first": 1, "size": 1000},
    "storage": {"first": 1001, "size": 1000},
    "compute": {"first": 2001, "size": 1000},
    "switch": {"first": 3001, "size": 4000},
}
BASES: dict[str, dict[str, Any]] = {
    "infiniband zones": {},
    "infiniband zone": ONE_ZONE,
    "infiniband layers zone": THREE_LAYERS,
    "ethernet zones": ETHERNET,
    "ethernet planes": PLANES,
}


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """Any site of one or two zones, or of two planes, that its switches can hold."""
    base = draw(st.sampled_from(sorted(BASES)))
    ethernet, planes = "ethernet" in base, "planes" in base
    zones = 2 if base.endswith("zones") else 1
    trees = 2 if planes else zones
    trunk = draw(st.integers(1, 2))
    spines = draw(st.integers(1, 6 // trunk))
    leaves = draw(st.integers(2, PORTS // trunk))
    pods = 2 if "layers" in base else 1
    if pods > 1:  # each pod has half of both; its spines keep ports for the two cores
        spines, leaves = 2 * spines, 2 * min(leaves, (PORTS - 2) // trunk)
    host_ports = PORTS - spines // pods * trunk
    room = (leaves - (zones > 1)) * host_ports
    links = draw(st.integers(1, min(host_ports - 1, 4)))
    compute_rails = 2 if ethernet and not planes else 1
    storage_rails = 2 if trees == 1 else 1
    on_leaves = 1 if zones == 1 and not planes else 0  # management where there is no gateway
    storage = draw(st.integers(0, (room - on_leaves) // storage_rails))
    spare = room - on_leaves - storage * storage_rails
    compute = draw(st.integers(0, spare // compute_rails))
    spare -= compute * compute_rails
    most = host_ports - links if zones > 1 else on_leaves + spare
    kind = "roce" if ethernet else "ipoib"
    networks = trees * (storage_rails if storage and not ethernet else 1)
    numbered = ethernet and draw(st.booleans())
    found = BASES[base] | ROOMY
    found |= {
        "cluster.addresses": {
            "management": "10.0.0.0/16",
            "loopback": "10.9.0.0/16",
            kind: [f"10.{n + 1}.0.0/16" for n in range(networks)],
            "blocks": BLOCKS,
        }
        | ({"links": "10.8.0.0/16"} if numbered else {})
        | ({"gateway": "10.0.255.1"} if ethernet else {}),
        "cluster.fabric.leaf.count": leaves,
        "cluster.fabric.spine.count": spines,
        "cluster.fabric.cables_per_pair": trunk,
        "cluster.compute.nodes": compute * zones,
        "cluster.storage.nodes": storage,
        "cluster.management.nodes": draw(st.integers(1, 3 if planes else most)),
    }
    if ethernet:
        found["cluster.fabric.ethernet"] = {"numbered_links": numbered}
    if zones > 1:
        found["cluster.fabric.interzone.switches"] = 1
        found["cluster.fabric.interzone.links_per_zone"] = links
    return {key: value for key, value in found.items() if not key.startswith("cluster.addresses.")}
