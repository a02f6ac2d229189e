"""The lab on Ethernet with each switch system, and rendered trees of its switches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import make_site_in
from tests.sites import ETHERNET

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.render import stream

NUMBERED: dict[str, Any] = {
    "cluster.fabric.ethernet": {"numbered_links": True},
    "cluster.addresses.links": "10.89.8.0/24",
}
MARKED: dict[str, Any] = {
    "cluster.fabric.ethernet": {"dcqcn": True},
}
ADAPTIVE: dict[str, Any] = {
    "cluster.fabric.ethernet": {"dcqcn": True, "load_balancing": "adaptive"},
}
"""Not for SONiC, which has no configuration for it."""
WATCHED: dict[str, Any] = {
    "cluster.switch_management": {
        "monitoring": "gnmi",
        "allowed_sources": ["10.0.0.0/8", "192.168.0.0/16"],
    },
    "cluster.ntp_servers": ["10.89.0.1"],
    "cluster.syslog_servers": ["10.89.0.2"],
}


def lab_roce(folder: Path, system: str, changes: dict[str, Any] | None = None) -> Fabric:
    """Return the lab on Ethernet, its switches running a system."""
    found = ETHERNET | {"cluster.fabric.system": system} | (changes or {})
    return design(load_site(make_site_in(folder, "lab", found, f"lab-{system}")))


def rendered(fabric: Fabric, folder: Path) -> Path:
    """Write the group of the fabric's system; return the tree."""
    assert fabric.system is not None
    tree = folder / "tree"
    for path, content in stream(fabric, (fabric.system,)):
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        assert isinstance(content, str)
        target.write_text(content)
    return tree
