"""Configurations a second, beside what others make: `python -m tests.bench.peers`.

One zone of 20 spines, 40 leaves and 20 hosts a leaf, Arista EOS, for all of them; a file for
each of the 60 switches. `wall` and `CPU` are of the whole command; `work` begins once the
tool's modules are read, and is what grows with a site. Each peer comes from PyPI into a virtual
environment of its own under .cache/. Prints figures and asserts nothing.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.measure import Run, load, median, run
from tests.conftest import REPO, make_site_in

SPINES, LEAVES, HOSTS = 20, 40, 20
SWITCHES = SPINES + LEAVES
PYAVD, NETLAB = "pyavd==6.4.0", "networklab==26.10"
OUR_RUNS = 5
GOAL = 50
"""Times the faster of the peers."""
ZONE: dict[str, Any] = {
    "cluster.fabric.zones": 1,
    "cluster.fabric.interzone": None,
    "cluster.fabric.system": "eos",
    "cluster.fabric.leaf.model": "arista-7060dx5-64s",
    "cluster.fabric.spine.model": "arista-7060dx5-64s",
    "cluster.fabric.leaf.count": LEAVES,
    "cluster.fabric.spine.count": SPINES,
    "cluster.fabric.cables_per_pair": 1,
    "cluster.compute.nodes": LEAVES * HOSTS,
    "cluster.storage.nodes": 0,
    "cluster.management.model": "management-1u-offside",
    "cluster.addresses.roce": ["10.20.0.0/16"],
    "cluster.racks.network": {"per_row": 6, "devices": 14, "first_row": 4},
}
"""Changes of fire-flyer-roce; its leaves have 44 ports for hosts, and 24 of them stay shut."""


@dataclass(frozen=True, slots=True)
class Result:
    """One tool's run."""

    name: str
    took: Run
    work_s: float
    files: int
    lines: int
    what: str


def main() -> None:
    """Print a row for each tool, then how many times the fastest peer we are."""
    print(f"{SPINES} spines, {LEAVES} leaves, {HOSTS} hosts a leaf; {load()}")
    print(
        f"{'':<22}{'wall s':>8}{'CPU s':>8}{'work s':>8}{'switches/s':>12}{'files':>7}{'lines':>8}"
    )
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for result in (_ours(Path(folder)), *_pyavd(Path(folder)), _netlab(Path(folder))):
            results.append(result)
            took = result.took
            print(
                f"{result.name:<22}{took.wall_s:>8.2f}{took.cpu_s:>8.2f}"
                f"{result.work_s:>8.2f}{SWITCHES / result.work_s:>12.1f}{result.files:>7}"
                f"{result.lines:>8,}"
                f"   {result.what}",
                flush=True,
            )
    ours, *peers = results
    print(f"times as many switches a second; the goal is {GOAL} times the fastest peer")
    for peer in sorted(peers, key=lambda result: result.work_s):
        work, wall = peer.work_s / ours.work_s, peer.took.wall_s / ours.took.wall_s
        print(f"  {peer.name:<20}{work:>6.0f} by work{wall:>6.0f} by the whole command")
    print(load())


def _ours(folder: Path) -> Result:
    site = make_site_in(folder, "fire-flyer-roce", ZONE, name="zone")
    program = str(Path(sys.executable).with_name("fireflyer"))
    command = [program, "render", str(site), "--out", str(folder / "ours"), "--only", "eos"]
    took = median([run(command) for _ in range(OUR_RUNS)])
    out, seconds = folder / "work", folder / "work-seconds"
    out.mkdir()
    worker = str(Path(__file__).with_name("peer_ours.py"))
    works = []
    for _ in range(OUR_RUNS):
        run([sys.executable, worker, str(site), "--out", str(out), "--took", str(seconds)])
        works.append(float(seconds.read_text()))
    what = "design of the fabric, eBGP, a routed VLAN a leaf, PFC and queues; median of 5"
    counted = _count(folder / "ours" / "eos", "*.cfg")
    return Result("fireflyer", took, statistics.median(works), *counted, what)


def _pyavd(folder: Path) -> Iterator[Result]:
    python = _environment(PYAVD)
    worker = str(Path(__file__).with_name("peer_pyavd.py"))
    shape = f"--spines {SPINES} --leaves {LEAVES} --hosts {HOSTS}".split()
    what = "eBGP, a routed VLAN a leaf, no queues"
    for name, slim, inputs in (
        ("pyavd, group vars", [], "every switch is given all hosts"),
        ("pyavd, slim", ["--slim"], "a leaf is given its own hosts"),
    ):
        out = folder / name
        out.mkdir()
        seconds = folder / f"{name} seconds"
        command = [python, worker, *shape, *slim, "--out", str(out), "--took", str(seconds)]
        took = run(command)
        work_s = float(seconds.read_text())
        yield Result(name, took, work_s, *_count(out, "*.cfg"), f"{what}; {inputs}")


def _netlab(folder: Path) -> Result:
    python = _environment(NETLAB)
    out = folder / "netlab"
    out.mkdir()
    (out / "topology.yml").write_text(_topology())
    netlab = str(Path(python).with_name("netlab"))
    start = run([netlab, "version"], out)
    took = run([netlab, "create", "--quiet"], out)
    work_s = took.wall_s - start.wall_s
    what = "eBGP, a routed port a host, no queues; lab files too; work is less `netlab version`"
    return Result("netlab", took, work_s, *_count(out / "node_files", "*/*"), what)


def _topology() -> str:
    """Return the zone as netlab's fabric plugin takes it, a stub network for each host."""
    lines = [
        "plugin: [fabric]",
        "provider: clab",
        "module: [bgp]",
        "defaults.device: eos",
        "bgp.as: 65000",
        "addressing: {lan: {ipv4: 10.64.0.0/12}}",
        f"fabric: {{leafs: {LEAVES}, spines: {SPINES}, leaf.bgp.as: '{{65000+count}}'}}",
        "links:",
    ]
    lines += [f"- L{leaf + 1}:" for leaf in range(LEAVES) for _ in range(HOSTS)]
    return "\n".join(lines) + "\n"


def _environment(package: str) -> str:
    """Return the interpreter of a virtual environment that holds one package."""
    folder = REPO / ".cache" / "peers" / package.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"installing {package} into {folder.relative_to(REPO)}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "-qq", package]
        if subprocess.run(command, check=False).returncode:
            raise SystemExit(f"{package} was not installed, so nothing is compared")
        (folder / "ready").touch()
    return str(python)


def _count(folder: Path, pattern: str) -> tuple[int, int]:
    """Return files and lines of a tool's configurations."""
    files = [file for file in folder.glob(pattern) if file.is_file()]
    return len(files), sum(file.read_bytes().count(b"\n") for file in files)


if __name__ == "__main__":
    main()
