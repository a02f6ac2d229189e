"""FRR itself, in namespaces: a fabric that is well, and each thing that can be wrong with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from tests.conftest import REPO, make_site_in
from tests.processes import descendants, running

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import CableRole, Fabric
from fireflyer.prove.ethernet.kernel import room_for_neighbours
from fireflyer.prove.ethernet.living import living
from fireflyer.prove.ethernet.neighbours import cabling, lldp
from fireflyer.prove.ethernet.part import frr_files, living_fabric, not_possible
from fireflyer.prove.ethernet.routing import configurations, prove_routing
from fireflyer.prove.ethernet.scaled import scaled_down

pytestmark = pytest.mark.skipif(bool(why := not_possible()), reason=why)
QUIET_S = 15.0
TINY = {
    "cluster.fabric.leaf.count": 3,
    "cluster.fabric.spine.count": 2,
    "cluster.compute.nodes": 8,
    "cluster.storage.nodes": 2,
}
"""Two zones of three leaves and two spines, two switches between them."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Fabric:
    site = make_site_in(tmp_path_factory.mktemp("tiny"), "fire-flyer-roce", TINY)
    return scaled_down(design(load_site(site)))


@cache
def whole() -> Fabric:
    return design(load_site(REPO / "inventory" / "fire-flyer-roce"))


def silent(step: str) -> None:
    """Take no note of progress."""


def test_a_fabric_that_is_well(tiny: Fabric) -> None:
    proof = prove_routing(tiny, configurations(tiny), silent)
    between = [cable for cable in tiny.cables if cable.role is not CableRole.HOST]
    assert proof.findings == ()
    assert proof.links_heard == proof.cables == len(between)
    assert proof.walked.reached == proof.walked.pairs > proof.walked.across > 0
    # Two spines, two cables to each: a spine takes two of four next hops, a cable one.
    assert [outcome.narrowed for outcome in proof.outcomes] == ["4 to 2"] * 2 + ["4 to 3"] * 2
    assert all(outcome.after.sent and not outcome.after.lost for outcome in proof.outcomes)


def test_planes_that_are_well() -> None:
    small = scaled_down(design(load_site(REPO / "inventory" / "next-gen")))
    proof = prove_routing(small, configurations(small), silent, hurt=False)
    assert proof.findings == ()
    assert proof.refused > 0


def test_a_wrong_neighbour_and_a_missing_one(tiny: Fabric) -> None:
    """Both narrow what the leaves have: the sessions are named, and so are the routes."""
    configs = dict(configurations(tiny))
    first, second = re.findall(r"^ neighbor (\S+) interface", configs["a-leaf01"], re.MULTILINE)[:2]
    configs["a-leaf01"] = re.sub(
        rf"(neighbor {first} interface remote-as) \d+", r"\1 65000", configs["a-leaf01"]
    )
    missing = re.compile(rf"^ neighbor {second} .*\n", re.MULTILINE)
    configs["a-leaf02"] = missing.sub("", configs["a-leaf02"])
    proof = prove_routing(tiny, configs, silent, quiet_s=QUIET_S)
    sessions = {
        finding.subject: finding for finding in proof.findings if finding.check == "session"
    }
    assert f"a-leaf01 {first}" in sessions
    assert second in sessions["a-leaf02"].message
    routing = {finding.subject: finding for finding in proof.findings if finding.check == "routing"}
    assert "3 next hops" in routing["a-leaf01"].message
    assert "designed 4 next hops" in routing["a-leaf01"].message
    assert "a-leaf02" in routing
    assert proof.outcomes == ()


def test_crossed_cables_are_found(tiny: Fabric) -> None:
    with living(tiny, configurations(tiny)) as alive:
        by_spine = {up[0]: (name, up) for name, (_, up) in alive.plan.cables.items()}
        (one, (near, port)), (two, (far, other)) = (by_spine[f"a-spine0{n}"] for n in (1, 2))
        alive.box.each(
            [
                f"-n {near} link set {port} down",
                f"-n {far} link set {other} down",
                f"-n {near} link set {port} name crossing netns {far}",
                f"-n {far} link set {other} name {port} netns {near}",
                f"-n {far} link set crossing name {other}",
                f"-n {near} link set {port} up",
                f"-n {far} link set {other} up",
            ]
        )
        with lldp(alive):
            heard, findings = cabling(alive, wait_s=5)
    assert heard == len(alive.plan.cables)
    (finding,) = findings
    assert finding.subject == " and ".join(sorted((one, two)))
    assert "crossed" in finding.message


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    (folder / "frr").mkdir()
    for name, text in configurations(whole()).items():
        (folder / "frr" / f"{name}.conf").write_text(text)
    return folder


def test_every_file_is_read(tree: Path) -> None:
    part = frr_files(whole(), tree, silent)
    assert part.findings == ()
    assert part.data["files"] == len(whole().switches)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("maximum-paths 32", "maximum-paths many"),
        ("ip address 10.30.4.5/32", "ip address 10.30.4.555/32"),
        ("bgp bestpath as-path multipath-relax", "bgp bestpath as-path multipath-relaxed"),
    ],
)
def test_a_line_that_frr_does_not_know(right: str, wrong: str, tree: Path) -> None:
    file = tree / "frr" / "a-leaf03.conf"
    text = file.read_text()
    assert text.count(f" {right}\n") == 1
    try:
        file.write_text(text.replace(f" {right}\n", f" {wrong}\n"))
        (finding,) = frr_files(whole(), tree, silent).findings
    finally:
        file.write_text(text)
    line = text[: text.index(f" {right}\n")].count("\n") + 1
    assert finding.subject == "frr/a-leaf03.conf"
    assert finding.message.startswith(f"line {line}: ")
    assert wrong in finding.message


def test_neighbour_tables_get_room_and_their_limits_back() -> None:
    files = sorted(Path("/proc/sys/net").glob("ipv[46]/neigh/default/gc_thresh[23]"))
    before = [file.read_text() for file in files]
    with room_for_neighbours(100_000) as notes:
        assert all(int(file.read_text()) >= 400_000 for file in files)
        assert len(notes) == len(files)
    assert [file.read_text() for file in files] == before


RUN = """
import signal, sys
from pathlib import Path
from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.prove.ethernet.part import living_fabric
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
living_fabric(design(load_site(Path(sys.argv[1]))), Path(), lambda step: print(step, flush=True))
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(how: signal.Signals, tmp_path: Path) -> None:
    site = make_site_in(tmp_path, "fire-flyer-roce", TINY)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    names = outside()
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(site)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"TMPDIR": str(scratch)},
    ) as process:
        assert process.stdout is not None
        while "waiting" not in process.stdout.readline():
            assert process.poll() is None
        wanted = {"zebra", "bgpd", "bfdd", "lldpd"}
        while not wanted <= set((started := dict(descendants(process.pid))).values()):
            assert process.poll() is None, started
            time.sleep(0.05)
        process.send_signal(how)
        process.communicate()
    deadline = time.monotonic() + 20
    while left := [name for pid, name in started.items() if running(pid, name)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    assert outside() == names
    assert list(scratch.iterdir()) == []


def outside() -> Mapping[str, frozenset[str]]:
    """Return what a fabric might leave on the machine: namespaces, files of daemons, links."""
    folders = ("/run/netns", "/run/frr", "/run/lldpd", "/var/tmp/frr", "/sys/class/net")
    return {folder: frozenset(file.name for file in Path(folder).glob("*")) for folder in folders}


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    part = living_fabric(whole(), Path(), silent)
    assert part.lines == ()
    assert part.skipped == (
        "network namespaces need root: no route, failover or neighbour was proved"
    )
