"""The tables of docs/comparison.md are what the program prints."""

from __future__ import annotations

import re
import shlex

import pytest
import yaml
from tests.conftest import REPO, MakeSite

from fireflyer.cli import main
from fireflyer.design import design
from fireflyer.design.plan import plan
from fireflyer.design.shape import shape_of
from fireflyer.load import load_site
from fireflyer.render.report_figures import summary

PAGE = REPO / "docs" / "comparison.md"
BLOCK = re.compile(r"```console\n\$ \.venv/bin/fireflyer (?P<command>.*)\n(?P<printed>[^`]*)```")


def test_the_tables_are_current(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(REPO)
    page = PAGE.read_text()

    def block(found: re.Match[str]) -> str:
        assert main(shlex.split(found["command"])) == 0
        printed = capsys.readouterr().out
        return f"```console\n$ .venv/bin/fireflyer {found['command']}\n{printed}```"

    current, tables = BLOCK.subn(block, page)
    assert tables == 2
    if request.config.getoption("--update-golden"):
        PAGE.write_text(current)
    assert current == PAGE.read_text(), "if meant: pytest --update-golden"


def test_the_papers_table() -> None:
    """Switches of Table III, by layer; prices within 5 % of the paper's."""
    paper = {
        "fire-flyer-2": ([80, 40, 0, 2], 350, 11_250),
        "three-layer-1600": ([80, 80, 40, 0], 600, 11_250),
        "three-layer-10000": ([500, 500, 320, 0], 4_000, 19_000),
    }
    for name, (switches, network, servers) in paper.items():
        site = load_site(REPO / "inventory" / name)
        found = plan(design(site), shape_of(site))
        assert list(found.switches.values()) == switches
        assert found.network_price == pytest.approx(network, rel=0.05)
        assert found.server_price == pytest.approx(servers, rel=0.05)


def test_250_cores_are_not_full_in_plan_and_report(make_site: MakeSite) -> None:
    site = load_site(make_site("three-layer-10000", {"cluster.fabric.core.count": 250}))
    fabric = design(site)
    (tree,) = plan(fabric, shape_of(site)).trees.values()
    assert (tree.bisection_tbps, tree.hosts_tbps) == (990.0, 1000.0)
    assert not tree.is_full
    tile = next(figure for figure in summary(fabric).figures if figure.name == "bisection")
    assert (tile.value, tile.detail) == ("990", "99.0% of full, a zone each way")


def test_the_example_of_prices_says_that_it_is_one() -> None:
    text = (REPO / "docs" / "prices.example.yml").read_text()
    assert "An example" in text
    assert "invented" in text
    assert yaml.safe_load(text)["currency"] == "EUR"
