"""Every wrong intent is refused with the exact message, and nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import REPO, MakeSite

from fireflyer.cli import main

HERE = Path(__file__).parent
CASES: dict[str, Any] = {
    name: case
    for file in ("cases.yml", "ethernet.yml")
    for name, case in yaml.safe_load((HERE / file).read_text()).items()
}
TEXTS: dict[str, Any] = yaml.safe_load((HERE / "texts.yml").read_text())


def refusal(site: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Render a site that must be refused; return the messages with the site's path as SITE."""
    status = main(["render", str(site), "--out", str(out)])
    printed = capsys.readouterr()
    assert status == 2, printed.err
    assert printed.out == ""
    assert not out.exists()
    lines = printed.err.replace(str(site), "SITE").splitlines()
    assert lines.pop() == f"{len(lines)} problem(s); nothing was written"
    return [line.removeprefix("error: ").removeprefix("SITE/group_vars/all/") for line in lines]


@pytest.mark.parametrize("name", CASES)
def test_wrong_intent(
    name: str, make_site: MakeSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    site = make_site(case["site"], case["change"])
    assert refusal(site, tmp_path / "out", capsys) == case["messages"]


@pytest.mark.parametrize("name", TEXTS)
def test_wrong_file(
    name: str, make_site: MakeSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = TEXTS[name]
    site = make_site("lab")
    file = site / case["file"]
    if case["text"] is None:
        file.unlink()
    else:
        file.write_text(case["text"])
    assert refusal(site, tmp_path / "out", capsys) == case["messages"]


def test_there_are_enough_wrong_intents() -> None:
    assert len(CASES) + len(TEXTS) >= 90


def test_a_missing_site_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(tmp_path / "nowhere")]) == 2
    assert "nowhere/group_vars/all/cluster.yml:1: file: there is no such file" in (
        capsys.readouterr().err
    )


def test_the_sites_of_the_repository_are_right() -> None:
    intents = (REPO / "inventory").glob("*/group_vars/all/cluster.yml")
    for site in sorted(intent.parents[2] for intent in intents):
        assert main(["plan", str(site), "--json"]) == 0
