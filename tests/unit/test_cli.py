"""The command line's promises: exit status, one JSON object, messages on standard error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import REPO, MakeSite
from tests.lab import access

from fireflyer.cli import main
from fireflyer.prove import programs
from fireflyer.prove.part import Proof

THREE = str(REPO / "inventory" / "three-layer-1600")
FF2 = str(REPO / "inventory" / "fire-flyer-2")


def test_plan_of_fire_flyer_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", FF2, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["switches"]["total"] == 122
    assert found["compute"]["nodes"] == 1200
    assert found["compute"]["gpus"] == 9600
    assert found["storage"]["nodes"] == 180
    assert found["cables"]["total"] == 3200
    for zone in "ab":
        ports = found["ports"]["zones"][zone]
        assert ports["total"] == 800
        assert ports["used"] + ports["free"] == 800
        bisection = found["bisection"]["zones"][zone]
        assert bisection == {"full": True, "oversubscription": 1.0, "tbps": 80.0}


def test_plan_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", FF2]) == 0
    page = capsys.readouterr().out
    assert "switches         122   80 leaf, 40 spine, 2 interzone" in page
    assert "  zone a         800      600      180      4         16    800      0" in page


def test_compare_gives_the_papers_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Table III: 122 against 200 switches for 1,600 ports, at full bisection both."""
    assert main(["compare", FF2, THREE, "--json"]) == 0
    two_zones, three_layers = json.loads(capsys.readouterr().out)["sites"]
    assert [site["switches"]["total"] for site in (two_zones, three_layers)] == [122, 200]
    for site in (two_zones, three_layers):
        assert sum(zone["total"] for zone in site["ports"]["zones"].values()) == 1600
        assert all(zone["full"] for zone in site["bisection"]["zones"].values())
    assert three_layers["relative_price"]["network"] == 600


def test_compare_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", FF2, THREE]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["fire-flyer-2", "three-layer-1600"]
    assert "switches                               122               200" in table
    assert len({len(line) for line in table[:-1]}) == 1


def test_compare_tells_what_is_wrong_with_every_site(
    make_site: MakeSite, capsys: pytest.CaptureFixture[str]
) -> None:
    sites = [
        make_site("lab", {"cluster.compute.nodes": 99}, name="one"),
        make_site("lab", {"cluster.storage.nodes": 99}, name="two"),
    ]
    assert main(["compare", FF2, *map(str, sites)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "one/group_vars" in printed.err
    assert "two/group_vars" in printed.err


def test_an_oversubscribed_zone_says_so(
    make_site: MakeSite, capsys: pytest.CaptureFixture[str]
) -> None:
    site = make_site("lab", {"cluster.fabric.cables_per_pair": 1})
    assert main(["plan", str(site), "--json"]) == 0
    bisection = json.loads(capsys.readouterr().out)["bisection"]["zones"]["a"]
    assert bisection == {"full": False, "oversubscription": 3.0, "tbps": 0.6}


def test_a_missing_program_names_its_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "_SBIN", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["prove", str(REPO / "inventory" / "lab")]) == 2
    said = capsys.readouterr().err
    assert "prove needs ibsim, opensm, ibdmchk, ibnetdiscover, saquery, stdbuf; install" in said
    assert "apt-get install coreutils ibsim-utils ibutils infiniband-diags opensm" in said


def test_proving_a_folder_that_was_not_rendered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = str(REPO / "inventory" / "lab")
    assert main(["prove", lab, "--artefacts", str(tmp_path)]) == 2
    assert "it is not a rendered tree" in capsys.readouterr().err


def test_a_folder_of_the_sites_name_that_was_not_rendered_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A lab once kept its keys in build/lab: `prove inventory/lab` must not stop at that."""
    key = tmp_path / "build/lab/ssh/id_ed25519"
    key.parent.mkdir(parents=True)
    key.write_text("secret")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fireflyer.prove.prove", lambda *_: Proof(parts=(), findings=(), seconds=0))
    assert main(["prove", str(REPO / "inventory" / "lab")]) == 0
    said = capsys.readouterr().err
    assert "note: build/lab has no manifest.json, so it is not a rendered tree" in said
    assert "proving a fresh rendering of" in said
    assert key.read_text() == "secret"


def test_the_lab_works_outside_every_rendered_tree() -> None:
    assert access.LAB.parent == REPO / "build"
    sites = {site.parents[2].name for site in REPO.glob("inventory/*/group_vars/all/cluster.yml")}
    assert "lab" in sites
    assert access.LAB.name not in sites


UNREAD = [
    ["plan", FF2],
    ["plan", FF2, "--json"],
    ["compare", FF2, THREE],
    ["prove", "--json", str(REPO / "inventory" / "lab")],
    ["render", str(REPO / "inventory" / "lab"), "--out", "tree"],
    ["plan", "nowhere"],
]


@pytest.mark.parametrize("arguments", UNREAD, ids=lambda arguments: " ".join(arguments[:1]))
@pytest.mark.parametrize("both", [False, True], ids=["stdout", "stdout and stderr"])
def test_output_that_nobody_reads_ends_a_verb_quietly(
    arguments: list[str], both: bool, tmp_path: Path
) -> None:
    """As in `fireflyer plan SITE | head`: no words of it, and SIGPIPE's status."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "fireflyer.cli", *arguments],
            cwd=tmp_path,
            stdout=writer,
            stderr=subprocess.STDOUT if both else subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    said = done.stderr or ""
    assert "Broken pipe" not in said
    assert "Traceback" not in said
    says_it_on_stderr = arguments[0] == "render" or "nowhere" in arguments
    if both or not says_it_on_stderr:
        assert done.returncode == 141
    else:
        assert done.returncode in (0, 2)


@pytest.mark.parametrize(
    ("token", "said"),
    [("", "NETBOX_TOKEN is not set"), ("secret", "no answer from NetBox at http://127.0.0.1:1")],
)
def test_netbox_that_cannot_be_asked(
    token: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NETBOX_TOKEN", token)
    site = str(REPO / "inventory" / "lab")
    assert main(["export-netbox", site, "--url", "http://127.0.0.1:1"]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert "secret" not in printed.err
