"""Changes that turn the lab's intent into other shapes of fabric."""

from __future__ import annotations

from typing import Any, Final

ONE_ZONE: Final[dict[str, Any]] = {
    "cluster.fabric.zones": 1,
    "cluster.fabric.interzone": None,
    "cluster.addresses.ipoib": ["10.89.1.0/24"],
}
"""One two-layer tree; management nodes hang on ordinary leaves."""

THREE_LAYERS: Final[dict[str, Any]] = ONE_ZONE | {
    "cluster.fabric.layers": 3,
    "cluster.fabric.pods_per_zone": 2,
    "cluster.fabric.leaf.count": 4,
    "cluster.fabric.spine.count": 4,
    "cluster.fabric.core": {"model": "lab-8", "count": 2},
    "cluster.compute.nodes": 8,
}
"""Two pods of two leaves and two spines under two cores."""
