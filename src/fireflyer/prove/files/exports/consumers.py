"""What reads each consumer's folder back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.exports.astra import astra_sim
from fireflyer.prove.files.exports.device_lists import librenms, oxidized
from fireflyer.prove.files.exports.dhcp import dhcp
from fireflyer.prove.files.exports.ethernet import ptm
from fireflyer.prove.files.exports.ibdm import ibdiagnet
from fireflyer.prove.files.exports.index import index
from fireflyer.prove.files.exports.kubernetes import kubernetes
from fireflyer.prove.files.exports.labs import air, containerlab, netlab
from fireflyer.prove.files.exports.links import Link, links_of
from fireflyer.prove.files.exports.monitoring import prometheus
from fireflyer.prove.files.exports.nautobot import nautobot
from fireflyer.prove.files.exports.nccl import nccl
from fireflyer.prove.files.exports.netbox import netbox_places
from fireflyer.prove.files.exports.ranks import hfreduce
from fireflyer.prove.files.exports.sheets import cvt, ufm
from fireflyer.prove.files.exports.simulators import htsim, simgrid
from fireflyer.verify.finding import Finding

Consumer: TypeAlias = Callable[[Fabric, list[Link], Path], Iterator[Finding]]

CONSUMERS: tuple[Consumer, ...] = (
    air,
    astra_sim,
    containerlab,
    cvt,
    dhcp,
    hfreduce,
    htsim,
    ibdiagnet,
    index,
    kubernetes,
    librenms,
    nautobot,
    nccl,
    netbox_places,
    netlab,
    oxidized,
    prometheus,
    ptm,
    simgrid,
    ufm,
)
"""Readers, each of a folder or two."""


def exports(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    """Return where the exports differ from the fabric."""
    links = links_of(fabric)
    return tuple(finding for read in CONSUMERS for finding in read(fabric, links, tree))
