"""The Ethernet parts of a proof: every file read by FRR, and a fabric alive."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.ethernet.routing import configurations, data, lines, prove_routing
from fireflyer.prove.ethernet.scaled import scaled_down
from fireflyer.prove.ethernet.syntax import syntax_findings
from fireflyer.prove.part import Part, Progress
from fireflyer.prove.programs import missing, run

_PARSER = {"vtysh": "frr"}
_PACKAGES = {
    "zebra": "frr",
    "bgpd": "frr",
    "bfdd": "frr",
    "vtysh": "frr",
    "lldpd": "lldpd",
    "lldpcli": "lldpd",
    "ip": "iproute2",
    "nft": "nftables",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
"""Debian package of each program."""
_TIMEOUT_S = 10


def frr_files(fabric: Fabric, tree: Path, progress: Progress) -> Part:
    """Have FRR read every switch's file.

    Raises:
        OperatingError: vtysh fails.
    """
    name, used = "frr", "vtysh -C: FRR's own parser"
    if lacking := missing(_PARSER):
        return Part(name=name, used=used, lines=(), skipped=_install(lacking))
    files = sorted((tree / "frr").glob("*.conf"))
    progress(f"FRR: reading {len(files)} configurations")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fireflyer-vtysh-") as scratch:
        findings = syntax_findings(files, Path(scratch))
    took_s = time.monotonic() - began
    return Part(
        name=name,
        used=f"{used}, {_version()}",
        lines=(f"{len(files)} configurations read in {took_s:.1f} s",),
        data={"files": len(files), "read_s": round(took_s, 1)},
        findings=findings,
    )


def living_fabric(fabric: Fabric, tree: Path, progress: Progress) -> Part:
    """Run a small fabric of the site's shape, from a rendering of its own.

    Raises:
        OperatingError: it cannot be designed or run.
    """
    name, used = "routing", "FRR, lldpd and the kernel's forwarding in network namespaces"
    if why := not_possible():
        return Part(name=name, used=used, lines=(), skipped=why)
    small = scaled_down(fabric)
    found = prove_routing(small, configurations(small), progress)
    return Part(
        name=name,
        used=f"{used}, {_version()}",
        lines=lines(found),
        data=data(found),
        findings=found.findings,
    )


def not_possible() -> str:
    """Return why no fabric can be brought to life here, and what to do; empty if one can."""
    if lacking := missing(_PACKAGES):
        return _install(lacking)
    if os.geteuid() != 0:
        return "network namespaces need root: no route, failover or neighbour was proved"
    kinds = ("--mount", "--net", "--pid", "--fork")
    tried = run("unshare", *kinds, "true", timeout_s=_TIMEOUT_S, check=False)
    if tried.returncode:
        said = tried.stderr.strip() or "unshare failed"
        return f"no namespaces can be made here ({said}): no route or failover was proved"
    return ""


def _install(lacking: dict[str, str]) -> str:
    packages = " ".join(sorted(set(lacking.values())))
    return f"{', '.join(lacking)} not installed; apt-get install {packages}"


def _version() -> str:
    done = run("zebra", "--version", timeout_s=_TIMEOUT_S, check=False)
    words = (done.stdout.splitlines() or ["zebra"])[0].split()
    return f"FRR {words[-1]}"
