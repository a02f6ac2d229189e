"""Which module prints which consumer's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fireflyer.model.fabric import Fabric
from fireflyer.render.exports import (
    air,
    astra_sim,
    containerlab,
    cvt,
    dhcp,
    hfreduce,
    htsim,
    ibdiagnet,
    nccl,
    netbox,
    netlab,
    prometheus,
    ptm,
    simgrid,
    ufm,
)
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
    "nccl": nccl.files,
    "netbox": netbox.files,
    "netlab": netlab.files,
    "prometheus": prometheus.files,
    "ptm": ptm.files,
    "simgrid": simgrid.files,
    "ufm": ufm.files,
}

CONSUMERS: Final = tuple(_PRINTERS)


def files(fabric: Fabric) -> Iterator[tuple[str, str | bytes]]:
    """Yield `<consumer>/<file>` and its content, consumer by consumer."""
    found = wiring(fabric)
    for consumer, printer in _PRINTERS.items():
        for name, content in printer(found):
            yield f"{consumer}/{name}", content
