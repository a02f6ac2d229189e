"""Which module renders which consumer's folder, and the index of those that a site has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fireflyer.model.fabric import Fabric
from fireflyer.render.exports import (
    air,
    astra_sim,
    containerlab,
    cvt,
    device_lists,
    dhcp,
    hfreduce,
    htsim,
    ibdiagnet,
    kubernetes,
    nautobot,
    nccl,
    netbox,
    netlab,
    prometheus,
    ptm,
    simgrid,
    ufm,
)
from fireflyer.render.exports.index import INDEX, page
from fireflyer.render.exports.wiring import Printer, wiring

_PRINTERS: Final[Mapping[str, Printer]] = {
    "air": air.files,
    "astra-sim": astra_sim.files,
    "containerlab": containerlab.files,
    "cvt": cvt.files,
    "dnsmasq": dhcp.dnsmasq,
    "hfreduce": hfreduce.files,
    "htsim": htsim.files,
    "ibdiagnet": ibdiagnet.files,
    "kea": dhcp.kea,
    "kubernetes": kubernetes.files,
    "librenms": device_lists.librenms,
    "nautobot": nautobot.files,
    "nccl": nccl.files,
    "netbox": netbox.files,
    "netlab": netlab.files,
    "oxidized": device_lists.oxidized,
    "prometheus": prometheus.files,
    "ptm": ptm.files,
    "simgrid": simgrid.files,
    "ufm": ufm.files,
}

CONSUMERS: Final = tuple(_PRINTERS)


def files(fabric: Fabric) -> Iterator[tuple[str, str | bytes]]:
    """Yield `<consumer>/<file>` and its content, consumer by consumer, then the index."""
    links = wiring(fabric)
    names: dict[str, list[str]] = {}
    for consumer, printer in _PRINTERS.items():
        for name, content in printer(links):
            names.setdefault(consumer, []).append(name)
            yield f"{consumer}/{name}", content
    yield INDEX, page(fabric.intent.name, names)
