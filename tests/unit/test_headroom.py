"""Memory for lossless classes is what SONiC computes, and fits the ASIC."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import REPO, MakeSite
from tests.sites import ETHERNET

from fireflyer.design import design
from fireflyer.design.headroom import RESPONSE_QUANTA, Headroom, headroom, reserved_bytes
from fireflyer.design.switch_config import switch_configs
from fireflyer.errors import IntentError
from fireflyer.load import load_site
from fireflyer.load.catalogue import load_catalogue
from fireflyer.model.hardware import SwitchModel

CATALOGUE = load_catalogue()
SN4600, SN5600 = CATALOGUE.switches["sn4600"], CATALOGUE.switches["sn5600"]
CELLS = {1: 96, 3: 144, 4: 192}
"""Of Spectrum's generations: sonic-buildimage, platform/mellanox/asic_table.j2."""


def spectrum(
    generation: int, small_packet_percent: int, lanes: int, gearbox_ns: int
) -> SwitchModel:
    """Return a switch with the ASIC of a generation."""
    assert SN4600.buffer is not None
    change = {
        "cell_bytes": CELLS[generation],
        "tile_ns": 120 if generation == 4 else 0,
        "small_packet_percent": small_packet_percent,
        "gearbox_ns": gearbox_ns,
    }
    buffer = SN4600.buffer.model_copy(update=change)
    return SN4600.model_copy(update={"buffer": buffer, "lanes_per_port": lanes})


def test_headroom_is_sonics() -> None:
    text = (Path(__file__).parent / "sonic_headroom.csv").read_text()
    count = 0
    for row in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        value = {key: int(number) for key, number in row.items()}
        model = spectrum(
            value["spectrum"], value["small_packet_percent"], value["lanes"], value["gearbox_ns"]
        )
        found = headroom(model, value["gbps"], value["cable_m"], value["mtu"])
        assert found == Headroom(value["xon"], value["xoff"], value["size"]), row
        count += 1
    assert count == 192


@pytest.mark.parametrize(
    ("cables", "pool"),
    [
        ({2: 4, 5: 12, 10: 20, 15: 7, 20: 6, 30: 13, 50: 1}, 27_687_920),
        ({5: 44, 10: 8}, 34_443_248),
        ({5: 8, 10: 44}, 34_111_472),
        ({5: 10, 10: 26, 15: 9, 20: 4, 30: 13, 50: 2}, 27_018_224),
        ({5: 8, 10: 8}, 52_469_744),
    ],
)
def test_the_shared_pool_is_sonics(cables: dict[int, int], pool: int) -> None:
    """An SN4600 with cables by length, three lossless classes, 9,214-byte frames.

    The pools: sonic-swss at e6b0c5b5, cfgmgr/buffer_pool_mellanox.lua, run with Lua 5.1 on the
    tables of a `config_db.json` with such ports.
    """
    assert SN4600.buffer is not None
    kept = 3 * sum(headroom(SN4600, 200, m, 9214).size * n for m, n in cables.items())
    reserved = reserved_bytes(SN4600, sum(cables.values()), kept)
    assert SN4600.buffer.total_bytes - reserved == pool


@given(st.sampled_from(sorted(RESPONSE_QUANTA)), st.integers(0, 500), st.integers(1500, 9216))
@pytest.mark.parametrize("model", [SN4600, SN5600], ids=lambda model: model.name)
def test_headroom_holds_what_is_on_its_way(
    model: SwitchModel, gbps: int, cable_m: int, mtu: int
) -> None:
    assert model.buffer is not None
    found = headroom(model, gbps, cable_m, mtu)
    # Packets of 64 bytes, one a cell: a frame, the round trip in fibre, and the response time.
    arriving = mtu + 2 * cable_m / 2.1e8 * gbps * 1e9 / 8 + RESPONSE_QUANTA[gbps] * 64
    assert found.xoff >= arriving / 64 * model.buffer.cell_bytes + mtu
    assert found.size >= found.xoff + found.xon
    assert found.xoff <= headroom(model, gbps, cable_m + 1, mtu).xoff


def test_the_page_has_the_figures_that_are_computed() -> None:
    page = (REPO / "docs" / "ethernet.md").read_text()
    rows = re.findall(r"^\| (\d+) Gb/s \| (\d+) m \| ([0-9,]+) bytes", page, re.MULTILINE)
    assert len(rows) == 4
    for gbps, cable_m, said in rows:
        model = {200: SN4600, 400: SN5600}[int(gbps)]
        found = headroom(model, int(gbps), int(cable_m), 9214).xoff
        assert found == int(said.replace(",", ""))


def test_reserves_and_pool_are_the_memory(make_site: MakeSite) -> None:
    fabric = design(load_site(make_site("lab", ETHERNET)))
    for config in switch_configs(fabric):
        lossless = config.lossless
        assert lossless is not None
        assert config.model.buffer is not None
        assert lossless.pool_bytes + lossless.reserved_bytes == config.model.buffer.total_bytes
        used = {(port.gbps, port.cable_m) for port in config.ports_in_use}
        assert {(profile.gbps, profile.cable_m) for profile in lossless.profiles} == used


@pytest.mark.parametrize(
    "name", [n for n, m in CATALOGUE.switches.items() if m.technology == "ethernet"]
)
def test_every_switch_has_room_for_three_classes_at_every_port(name: str) -> None:
    """At 30 m of cable; what is left to share is at least an eighth of the memory."""
    model = CATALOGUE.switches[name]
    assert model.buffer is not None
    kept = 3 * model.ports * headroom(model, model.port_gbps, 30, 9214).size
    left = model.buffer.total_bytes - reserved_bytes(model, model.ports, kept)
    assert left >= model.buffer.total_bytes / 8


def test_classes_that_the_memory_has_no_room_for_are_refused(make_site: MakeSite) -> None:
    """Cable lengths decide how much and by which switch, so numbers and names are left out."""
    lossless = [
        {"name": name, "sl": n, "vl": n, "priority": "high", "weight": 1, "dscp": [n]}
        | {"lossless": True}
        for n, name in enumerate(("one", "two", "three", "storage"), start=1)
    ]
    other = {"name": "other", "sl": 0, "vl": 0, "priority": "low", "weight": 1}
    site = make_site("next-gen", {"cluster.traffic.classes": [*lossless, other]})
    with pytest.raises(IntentError) as refused:
        design(load_site(site))
    texts = {
        re.sub(r"p\d-(leaf|spine)\d+", "SWITCH", re.sub(r"[0-9]+(,[0-9]{3})+", "N", str(problem)))
        for problem in refused.value.problems
    }
    cause = (
        "is sn5600: SWITCH reserves N of N bytes, most of it as headroom of its 4 lossless classes,"
        " and must leave N to share; make fewer classes lossless, shorten its cables, or lower"
        " fabric.ethernet.mtu"
    )
    assert {text.partition("model ")[2] for text in texts} == {cause}
