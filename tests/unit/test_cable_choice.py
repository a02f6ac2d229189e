"""Which cable is bought: it reaches, it fits, and what shares a cage is bought together."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import make_site_in
from tests.intents import changes
from tests.sites import PLANES

from fireflyer.design import design
from fireflyer.design.cables import cable_family
from fireflyer.design.materials import materials
from fireflyer.errors import IntentError
from fireflyer.load import Site, load_site
from fireflyer.load.catalogue import load_catalogue
from fireflyer.model.cable_parts import MEDIA
from fireflyer.model.fabric import Cable, Fabric, Port
from fireflyer.model.hardware import Catalogue

NEAR = PLANES | {
    "cluster.compute.nodes": 10,
    "cluster.racks.units": 12,
    "cluster.racks.pitch_m": 0.5,
    "cluster.racks.row_pitch_m": 1.0,
    "cluster.racks.tray_m": 0.0,
    "cluster.racks.slack_m": 0.1,
    "cluster.racks.network": {"per_row": 2, "devices": 10},
}
"""Two planes in racks so low and near that copper reaches everything."""


@cache
def twin_catalogue(connector: str) -> Catalogue:
    """Return the hardware with the laboratory's Ethernet at 400 Gb/s, two ports a cage."""
    found = load_catalogue()
    nic = {"gbps": 400, "connector": connector}
    switch = {"port_gbps": 400, "connector": "osfp", "ports_per_cage": 2}
    nodes = {
        name: model.model_copy(update={"nics": tuple(n.model_copy(update=nic) for n in model.nics)})
        for name, model in found.nodes.items()
        if name.startswith("lab-roce")
    }
    switches = {"lab-8-roce": found.switches["lab-8-roce"].model_copy(update=switch)}
    return replace(found, nodes={**found.nodes, **nodes}, switches={**found.switches, **switches})


def site_of(change: Mapping[str, Any], connector: str | None = None) -> Site:
    """Load a changed lab; with a connector, it is one of twin-port cages."""
    with tempfile.TemporaryDirectory() as folder:
        site = load_site(make_site_in(Path(folder), "lab", change))
    return replace(site, catalogue=twin_catalogue(connector)) if connector else site


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    """Any small fabric in a room of any measures."""
    change = draw(changes()) | {
        "cluster.racks.pitch_m": draw(st.floats(0.5, 1.5)),
        "cluster.racks.row_pitch_m": draw(st.floats(1.0, 3.0)),
        "cluster.racks.slack_m": draw(st.floats(0.0, 1.0)),
        "cluster.racks.tray_m": draw(st.floats(0.0, 1.0)),
    }
    connector = draw(st.sampled_from(["osfp", "qsfp112"]))
    ethernet = change.get("cluster.fabric.technology") == "ethernet"
    twin = ethernet and draw(st.booleans())
    return design(site_of(change, connector if twin else None))


@settings(max_examples=40, deadline=None)
@given(fabrics())
def test_every_cable_reaches_and_is_the_shortest_sold(fabric: Fabric) -> None:
    offers = {offer.part: offer for offer in fabric.family.offers}
    assemblies: dict[str, list[Cable]] = defaultdict(list)
    for cable in fabric.cables:
        assemblies[cable.assembly].append(cable)
    for legs in assemblies.values():
        need_m, offer = max(leg.need_m for leg in legs), offers[legs[0].part]
        assert {leg.medium for leg in legs} == {offer.medium}
        assert {leg.length_m for leg in legs} == {
            min(length for length in offer.lengths_m if length >= need_m)
        }
        assert need_m <= offer.reach_m
        if offer.medium == "dac":
            assert legs[0].length_m <= 3.0


@settings(max_examples=40, deadline=None)
@given(fabrics())
def test_one_cage_takes_one_plug(fabric: Fabric) -> None:
    offers = {offer.part: offer for offer in fabric.family.offers}
    plugged: dict[tuple[str, int], set[tuple[str, str]]] = defaultdict(set)
    for cable in fabric.cables:
        for port, optic in ((cable.a, cable.a_optic), (cable.z, cable.z_optic)):
            connector, links, cage = cage_of(fabric, port)
            own = "" if cable.medium == "fibre" else cable.assembly
            plugged[cage].add((optic, own))
            fitting = [
                plug.part
                for plug in offers[cable.part].plugs
                if (plug.connector, plug.links) == (connector, links)
            ]
            assert optic in fitting
    assert all(len(plugs) == 1 for plugs in plugged.values())
    bought = sum(item.quantity for item in materials(fabric) if item.kind == "transceivers")
    assert bought == sum(bool(optic) for plugs in plugged.values() for optic, _ in plugs)


def cage_of(fabric: Fabric, port: Port) -> tuple[str, int, tuple[str, int]]:
    """Return a port's connector, the ports of its cage, and the cage."""
    if port.device in fabric.switch:
        model = fabric.switch[port.device].model
        cage = (port.device, model.cage(port.number)[0])
        return model.connector, model.ports_per_cage, cage
    nic = fabric.node[port.device].model.nics[port.number - 1]
    return nic.connector, 1, (port.device, port.number)


@settings(max_examples=30, deadline=None)
@given(fabrics())
def test_a_bundle_joins_two_racks_and_long_ones_are_pulled_first(fabric: Fabric) -> None:
    racks: dict[str, set[frozenset[str]]] = defaultdict(set)
    for cable in fabric.cables:
        ends = (fabric.device_place(cable.a.device), fabric.device_place(cable.z.device))
        racks[cable.bundle].add(frozenset(end.rack for end in ends))
    assert all(len(pairs) == 1 for pairs in racks.values())
    joined = [pair for pairs in racks.values() for pair in pairs]
    assert len(joined) == len(set(joined))  # two racks have one bundle, whichever end is a
    first = sorted((c for c in fabric.cables if c.assembly == c.id), key=lambda c: c.pull)
    assert [cable.pull for cable in first] == list(range(1, len(first) + 1))
    runs = [run_m(fabric, cable) for cable in first]
    assert all(run >= after - 1e-9 for run, after in pairwise(runs))
    order = list(dict.fromkeys(cable.bundle for cable in first))
    grouped = [cable.bundle for cable in first]
    assert grouped == sorted(grouped, key=order.index)  # a bundle is pulled without a break


def run_m(fabric: Fabric, cable: Cable) -> float:
    """Return the way between a cable's racks, with trays over every column."""
    a, z = fabric.device_place(cable.a.device), fabric.device_place(cable.z.device)
    racks = fabric.intent.racks
    rows = abs(a.row - z.row) * racks.row_pitch_m
    return abs(a.column - z.column) * racks.pitch_m + rows


def test_splitters_only_where_both_legs_are_near() -> None:
    media = {cable.medium for cable in design(site_of(NEAR, "osfp")).cables}
    assert "dac-splitter" in media
    far = NEAR | {"cluster.racks.pitch_m": 2.0}
    media = {cable.medium for cable in design(site_of(far, "osfp")).cables}
    assert "fibre" in media


def test_legs_of_a_splitter_share_part_length_and_turn() -> None:
    fabric = design(site_of(NEAR, "qsfp112"))
    legs: dict[str, list[Cable]] = defaultdict(list)
    for cable in fabric.cables:
        if cable.medium == "dac-splitter":
            legs[cable.assembly].append(cable)
    assert legs
    for pair in legs.values():
        assert len(pair) == 2
        assert len({(leg.part, leg.length_m, leg.pull) for leg in pair}) == 1
        assert pair[0].part == "MCP7Y10-N"


def test_a_medium_that_is_not_allowed_is_not_bought() -> None:
    only = {"media": {"host": ["fibre"], "tree": ["fibre", "dac"]}}
    fabric = design(site_of(NEAR | {"cluster.cabling": only}, "osfp"))
    assert {c.medium for c in fabric.cables if c.role == "host"} == {"fibre"}
    assert {c.medium for c in fabric.cables} <= {"fibre", "dac"}


def test_a_port_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(IntentError) as refused:
        design(site_of(PLANES, "qsfp-dd"))
    (problem,) = refused.value.problems
    assert str(problem).endswith(
        "cluster.fabric.leaf.model is lab-8-roce: port of the wrong kind: no cable of"
        " ethernet-400g joins qsfp-dd to osfp with 2 ports a cage (6 host cable(s), such as"
        " a-cn0001/1 to p1-leaf01/1); choose a model with other ports, or add an offer to"
        " hardware/cables/ethernet-400g.yml"
    )


def test_the_intent_may_name_every_medium(lab: Fabric) -> None:
    assert lab.intent.cabling.media.host == MEDIA
    assert cable_family(site_of({})).name == "infiniband-200g"
