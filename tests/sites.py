"""Changes that turn the lab's intent into other shapes of fabric."""

from __future__ import annotations

from typing import Any, Final

ONE_ZONE: Final[dict[str, Any]] = {
    "cluster.fabric.zones": 1,
    "cluster.fabric.interzone": None,
    "cluster.addresses.ipoib": ["10.89.1.0/24", "10.89.2.0/24"],
}
"""One two-layer tree; management nodes hang on ordinary leaves, storage nodes by two adapters."""

THREE_LAYERS: Final[dict[str, Any]] = ONE_ZONE | {
    "cluster.fabric.layers": 3,
    "cluster.fabric.pods_per_zone": 2,
    "cluster.fabric.leaf.count": 4,
    "cluster.fabric.spine.count": 4,
    "cluster.fabric.core": {"model": "lab-8", "count": 2},
    "cluster.compute.nodes": 8,
}
"""Two pods of two leaves and two spines under two cores."""

_CLASSES: Final[list[dict[str, Any]]] = [
    {
        "name": name,
        "sl": lane,
        "vl": lane,
        "priority": "high",
        "weight": weight,
        "dscp": [dscp],
        "lossless": True,
    }
    for name, lane, weight, dscp in (
        ("hfreduce", 1, 128, 34),
        ("nccl", 2, 64, 26),
        ("storage", 3, 96, 18),
    )
]

ETHERNET: Final[dict[str, Any]] = {
    "cluster.fabric.technology": "ethernet",
    "cluster.fabric.ethernet": {},
    "cluster.fabric.leaf.model": "lab-8-roce",
    "cluster.fabric.spine.model": "lab-8-roce",
    "cluster.fabric.interzone.model": "lab-8-roce",
    "cluster.compute.model": "lab-roce-compute",
    "cluster.compute.nodes": 2,
    "cluster.storage.model": "lab-roce-storage",
    "cluster.management.model": "lab-roce-management",
    "cluster.services": {"slurm_controller": ["mg01"]},
    "cluster.addresses.ipoib": None,
    "cluster.addresses.roce": ["10.89.1.0/24", "10.89.2.0/24"],
    "cluster.addresses.gateway": "10.89.0.254",
    "cluster.traffic.classes": [
        *_CLASSES,
        {"name": "other", "sl": 0, "vl": 0, "priority": "low", "weight": 32},
    ],
}
"""The lab on Ethernet: two zones, compute nodes with two adapters in one of them."""

PLANES: Final[dict[str, Any]] = {
    key: value for key, value in ETHERNET.items() if "interzone" not in key
} | {
    "cluster.fabric.zones": None,
    "cluster.fabric.planes": 2,
    "cluster.fabric.interzone": None,
    "cluster.management.model": "management-1u-offside",
}
"""Two planes of Ethernet; management nodes are on the management network alone."""

INFINIBAND_PLANES: Final[dict[str, Any]] = {
    "cluster.fabric.zones": None,
    "cluster.fabric.planes": 2,
    "cluster.fabric.interzone": None,
    "cluster.compute.model": "dgx-a100",
    "cluster.management": {"model": "management-1u-dual", "nodes": 2},
    "cluster.services.subnet_manager": ["mg01", "mg02"],
    "cluster.fabric.leaf.count": 4,
    "cluster.compute.nodes": 2,
    "cluster.addresses.ipoib": [f"10.89.{n}.0/24" for n in range(1, 9)],
    "cluster.racks.power_kw": 40.0,
}
"""Two planes of InfiniBand: each is a subnet with its own managers."""

EIGHT_PLANES: Final[dict[str, Any]] = INFINIBAND_PLANES | {
    "cluster.fabric.planes": 8,
    "cluster.fabric.leaf.count": 2,
    "cluster.storage": {"model": "lab-eight-storage", "nodes": 1},
    "cluster.management": {"model": "lab-eight-management", "nodes": 2},
    "cluster.racks.network.per_row": 2,
    "cluster.addresses.blocks.switch": {"first": 141, "size": 100},
    "cluster.addresses.blocks.compute": {"first": 41, "size": 100},
}
"""Eight planes, an adapter of every node on each."""
