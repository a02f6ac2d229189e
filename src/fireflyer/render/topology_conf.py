"""Slurm's topology: the tree alone, the blocks alone, and both for partitions to choose from."""

from __future__ import annotations

from collections.abc import Mapping

from fireflyer.model.fabric import Fabric
from fireflyer.render.slurm import blocks, topology
from fireflyer.render.template import render


def files(fabric: Fabric) -> Mapping[str, str]:
    """Return `topology.conf` (plugin topology/tree), `topology-block.conf` and `topology.yaml`.

    Slurm reads one of them: topology.conf(5) for either plugin, topology.yaml(5) from 25.05.
    """
    values = {"site": fabric.intent.name, "entries": topology(fabric), "found": blocks(fabric)}
    return {
        "topology.conf": render("slurm/topology.conf.j2", **values),
        "topology-block.conf": render("slurm/topology-block.conf.j2", **values),
        "topology.yaml": render("slurm/topology.yaml.j2", **values),
    }
