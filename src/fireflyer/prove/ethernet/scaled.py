"""A site's fabric in small: the same intent with fewer switches, through the same design."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fireflyer.design import design
from fireflyer.design.shape import Shape, shape_of
from fireflyer.errors import IntentError, OperatingError
from fireflyer.load import Site
from fireflyer.load.assets import Assets
from fireflyer.load.catalogue import load_catalogue
from fireflyer.load.document import Document
from fireflyer.model.fabric import Fabric, Role
from fireflyer.model.hardware import Catalogue
from fireflyer.model.intent import FabricIntent

LEAVES_AND_SPINES = {1: (10, 6), 2: (6, 4), 3: (5, 3), 4: (4, 2)}
"""Of each tree, by the number of trees: 16 to 24 routers in all. More trees get two of each."""
PODS, PER_POD, CORES = 2, 2, 2
"""A three-layer tree becomes two pods of two leaves and two spines under two cores."""
CORE_LINKS = 2
"""Cables from a small pod's spine to each core."""


def scaled_down(fabric: Fabric) -> Fabric:
    """Return a fabric of this one's shape that one machine can run.

    Zones, planes, layers, trunks, gateways, numbering and models stay as they are; there are
    fewer switches of each layer, and nodes enough for one at each leaf.

    Raises:
        OperatingError: the small intent cannot be designed.
    """
    intent = fabric.intent
    catalogue = load_catalogue()
    less, catalogue = _fewer_switches(intent.fabric, catalogue)
    site = Site(
        folder=Path(intent.name),
        document=Document(file=Path(intent.name, "in small"), data=None, lines={}),
        cluster=intent.model_copy(update={"fabric": less}),
        catalogue=catalogue,
        assets=Assets(file=Path(), rows={}),
    )
    compute, storage = intent.compute, intent.storage
    nodes = min(compute.nodes, _nodes(shape_of(site)) * less.zones)
    small = site.cluster.model_copy(
        update={
            "compute": compute.model_copy(update={"nodes": nodes, "placement": "spread"}),
            "storage": storage.model_copy(update={"nodes": min(storage.nodes, 2)}),
        }
    )
    try:
        return design(replace(site, cluster=small))
    except IntentError as error:
        raise OperatingError(
            f"{intent.name} has no small fabric of its shape to run: {error.problems[0]}"
        ) from None


def _nodes(shape: Shape) -> int:
    """Return how many compute nodes give every leaf of a tree a host."""
    return -(-shape.leaves // shape.rails[Role.COMPUTE])


def _fewer_switches(fabric: FabricIntent, catalogue: Catalogue) -> tuple[FabricIntent, Catalogue]:
    leaves, spines = LEAVES_AND_SPINES.get(fabric.zones * fabric.planes, (2, 2))
    changes: dict[str, object] = {}
    if fabric.core is not None:
        pods = min(PODS, fabric.pods_per_zone)
        leaves = spines = PER_POD * pods
        cores = min(CORES, fabric.core.count)
        # A core with as many ports as it needs: a full one would be cabled in full.
        model = catalogue.switches[fabric.core.model]
        ports = max(2, min(model.ports, spines * CORE_LINKS))
        small = model.model_copy(update={"name": f"{model.name}-small", "ports": ports})
        catalogue = replace(catalogue, switches={**catalogue.switches, small.name: small})
        core = fabric.core.model_copy(update={"model": small.name, "count": cores})
        changes |= {"core": core, "pods_per_zone": pods}
    if (between := fabric.interzone) is not None:
        switches = min(2, between.switches)
        links = switches * min(2, between.links_per_zone // between.switches)
        changes["interzone"] = between.model_copy(
            update={"switches": switches, "links_per_zone": links}
        )
    for name, layer, count in (
        ("leaf", fabric.leaf, leaves),
        ("spine", fabric.spine, spines),
    ):
        changes[name] = layer.model_copy(update={"count": min(count, layer.count)})
    return fabric.model_copy(update=changes), catalogue
