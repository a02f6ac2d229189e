"""Slurm's topology.conf."""

from __future__ import annotations

from collections.abc import Mapping

from fireflyer.model.fabric import Fabric
from fireflyer.render.slurm import topology
from fireflyer.render.template import render


def files(fabric: Fabric) -> Mapping[str, str]:
    """Return `topology.conf` (topology.conf(5), plugin topology/tree)."""
    text = render("slurm/topology.conf.j2", site=fabric.intent.name, entries=topology(fabric))
    return {"topology.conf": text}
