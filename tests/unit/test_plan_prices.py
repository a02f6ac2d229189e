"""Money: sums over the bill of materials, what the list lacks, what it has wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import REPO

from fireflyer.cli import main
from fireflyer.design.materials import materials
from fireflyer.design.prices import cost
from fireflyer.model.fabric import Fabric
from fireflyer.model.prices import CablePrice, PriceList

LAB = str(REPO / "inventory" / "lab")
FF2 = str(REPO / "inventory" / "fire-flyer-2")


def test_every_piece_is_priced_once(fire_flyer_2: Fabric) -> None:
    """At a price of one for everything the cost is the number of things."""
    prices = PriceList(
        currency="XXX",
        switches={"qm8700": 1},
        nodes={"fire-flyer-2-compute": 1, "fire-flyer-2-storage": 1, "management-1u": 1},
        cables=(CablePrice(part="MCP1650-H", each=1), CablePrice(part="MFS1S00-H", each=1)),
        fittings={"cable-manager-1u": 1, "cable-manager-vertical": 1},
    )
    found = cost(materials(fire_flyer_2), prices)
    assert found.missing == ()
    assert found.built_in == {
        "switches": 122,
        "cables": 3200,
        "transceivers": 0,
        "nodes": 1388,
        "fittings": 62 + 12,  # one for two switches of each rack; two beside each of six racks
    }
    assert found.network == 3396
    assert found.total == 4784
    assert found.spares == sum(item.spares for item in materials(fire_flyer_2))


def test_a_metre_has_a_price_and_a_length_its_own(fire_flyer_2: Fabric) -> None:
    cables = [cable for cable in fire_flyer_2.cables if cable.part == "MFS1S00-H"]
    short = sum(cable.length_m == 5.0 for cable in cables)
    rest_m = sum(cable.length_m for cable in cables if cable.length_m != 5.0)
    prices = PriceList(
        currency="XXX",
        cables=(
            CablePrice(part="MFS1S00-H", each=0, per_metre=2),
            CablePrice(part="MFS1S00-H", length_m=5.0, each=1000),
        ),
    )
    found = cost(materials(fire_flyer_2), prices)
    assert found.built_in["cables"] == pytest.approx(1000 * short + 2 * rest_m)


def test_what_has_no_price_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text("currency: EUR\nswitches: {lab-8: 100}\n")
    assert main(["plan", LAB, "--prices", str(prices), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    priced = found["cost"]
    assert (priced["switches"], priced["total"], priced["complete"]) == (1100.0, 1100.0, False)
    unpriced = [item["part"] for item in found["materials"] if item["kind"] != "switches"]
    assert [text.split()[1] for text in priced["missing"]] == unpriced
    assert main(["plan", LAB, "--prices", str(prices)]) == 0
    page = capsys.readouterr().out
    assert "cost           1,100   EUR, at least; switches 1,100, cables 0" in page
    assert "  no price for nodes: lab-compute (4)" in page
    assert main(["compare", LAB, "--prices", str(prices)]) == 0
    table = capsys.readouterr().out
    assert ["cost", ">", "1,100", "EUR"] in [line.split() for line in table.splitlines()]


def test_the_example_prices_all_of_fire_flyer_2(capsys: pytest.CaptureFixture[str]) -> None:
    example = str(REPO / "docs" / "prices.example.yml")
    assert main(["plan", FF2, "--prices", example, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"]["complete"] is True


def test_without_a_list_there_is_no_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", LAB, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cost"] is None


WRONG = {
    "switches: {qm870: 1}": ("{}:2: switches.qm870: is not under hardware/; did you mean qm8700?",),
    "nodes: {dgx-a100: -1}": (
        "{}:2: nodes.dgx-a100 is -1: must be at least 0.0; change the number",
    ),
    "nodes: {dgx-a100: .inf}": (
        "{}:2: nodes.dgx-a100 is inf: must be a finite number; change the number",
    ),
    "nodes: {dgx-a100: .nan}": (
        "{}:2: nodes.dgx-a100 is nan: must be a finite number; change the number",
    ),
    "nodes: {dgx-a100: 1.0e+13}": (
        "{}:2: nodes.dgx-a100 is 10000000000000.0: must be at most 1000000000000.0;",
    ),
    "transceivers: {MMS4X00-NS: free}": (
        "{}:2: transceivers.MMS4X00-NS is 'free': must be a number; change its type",
    ),
    "cabels: []": ("{}:2: cabels: unknown key; did you mean cables?",),
    "cables:\n- {part: MFS1S00-H, each: 1}\n- {part: MFS1S00-H, each: 2}\n- {part: x, each: 1}": (
        "{}:4: cables.1.part is MFS1S00-H: has a price for this length in row 1 already; keep one",
        "{}:5: cables.2.part is x: is not under hardware/; remove it; known: ",
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_list_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text(f"currency: EUR\n{text}\n")
    assert main(["plan", LAB, "--prices", str(prices)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    said = printed.err.splitlines()[:-1]
    wanted = [f"error: {line.format(prices)}" for line in WRONG[text]]
    assert len(said) == len(wanted)
    assert all(line.startswith(start) for line, start in zip(said, wanted, strict=True))


def test_compare_says_what_is_wrong_with_the_list_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text("currency: euro\n")
    assert main(["compare", LAB, FF2, "--prices", str(prices)]) == 2
    assert capsys.readouterr().err.count("currency is 'euro'") == 1
