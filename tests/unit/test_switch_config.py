"""What every switch is told: routing, queues, headroom."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import REPO, MakeSite
from tests.sites import ETHERNET, PLANES

from fireflyer.design import design
from fireflyer.design.asn import LEAVES, PER_TREE, SPINES, asn
from fireflyer.design.lossless import headroom_bytes
from fireflyer.design.switch_config import switch_configs
from fireflyer.design.traffic import percentages
from fireflyer.load import load_site
from fireflyer.model.fabric import Layer
from fireflyer.model.switch_config import PortRole
from fireflyer.model.switch_parts import SwitchBuffer

BUFFER = SwitchBuffer(
    total_bytes=1 << 26, cell_bytes=144, pfc_response_quanta=905, lossless_queues=4
)


@given(st.sampled_from([100, 200, 400, 800]), st.integers(0, 500), st.integers(1500, 9216))
def test_headroom_holds_what_is_on_its_way(gbps: int, cable_m: int, mtu: int) -> None:
    found = headroom_bytes(BUFFER, gbps, cable_m, mtu)
    assert found % BUFFER.cell_bytes == 0
    # Two frames, the round trip at the speed of light in fibre, and the response time.
    least = 2 * mtu + 2 * cable_m / 2.1e8 * gbps * 1e9 / 8 + 905 * 64
    assert found >= least
    assert found <= headroom_bytes(BUFFER, gbps, cable_m + 1, mtu)


def test_the_page_has_the_figures_that_are_computed() -> None:
    page = (REPO / "docs" / "ethernet.md").read_text()
    rows = re.findall(r"^\| (\d+) Gb/s \| (\d+) m \| ([0-9,]+) bytes", page, re.MULTILINE)
    assert len(rows) == 4
    site = load_site(REPO / "inventory" / "fire-flyer-roce")
    models = {200: site.catalogue.switches["sn4600"], 400: site.catalogue.switches["sn5600"]}
    for gbps, cable_m, said in rows:
        buffer = models[int(gbps)].buffer
        assert buffer is not None
        found = headroom_bytes(buffer, int(gbps), int(cable_m), 9216)
        assert found == int(said.replace(",", ""))


@given(st.lists(st.integers(1, 255), min_size=1, max_size=8))
def test_shares_of_the_link_add_up(weights: list[int]) -> None:
    shares = percentages(weights)
    assert sum(shares) == 100
    assert min(shares) >= 1
    order = sorted(range(len(weights)), key=lambda i: weights[i])
    assert all(shares[a] <= shares[b] + 1 for a, b in pairwise(order))


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("change", [ETHERNET, PLANES], ids=["zones", "planes"])
def test_both_ends_of_a_link_agree(
    make_site: MakeSite, change: dict[str, object], numbered: bool
) -> None:
    more = change | {"cluster.fabric.ethernet": {"numbered_links": numbered}}
    if numbered:
        more |= {"cluster.addresses.links": "10.89.8.0/24"}
    fabric = design(load_site(make_site("lab", more)))
    found = {config.name: config for config in switch_configs(fabric)}
    ends = {
        (config.name, port.name): port
        for config in found.values()
        for port in config.ports_of(PortRole.SWITCH)
    }
    given_addresses = []
    for (name, port_name), port in ends.items():
        far = ends[port.peer, port.peer_port]
        assert (far.peer, far.peer_port) == (name, port_name)
        bgp = found[port.peer].bgp
        assert bgp is not None
        assert port.peer_asn == bgp.asn
        assert (port.address, port.peer_address) == (far.peer_address, far.address)
        assert (port.address is not None) == numbered
        given_addresses.append(port.address)
    if numbered:
        assert len(set(given_addresses)) == len(given_addresses)


def test_as_numbers_keep_paths_out_of_two_spines(make_site: MakeSite) -> None:
    fabric = design(load_site(make_site("lab", ETHERNET)))
    asns = {config.name: config.bgp.asn for config in switch_configs(fabric) if config.bgp}
    for tree in fabric.trees:
        spines = {asns[switch.name] for switch in fabric.switches_of(Layer.SPINE, tree)}
        assert len(spines) == 1
    leaves = [asns[switch.name] for switch in fabric.switches_of(Layer.LEAF)]
    assert len(set(leaves)) == len(leaves)
    of_layer = {(s.layer, s.tree): asns[s.name] for s in fabric.switches}
    assert len(set(of_layer.values())) == len(of_layer)


def test_no_two_switches_of_different_kinds_share_a_number() -> None:
    first, trees = 4_200_000_000, range(8)
    kinds = [{asn(first, Layer.INTERZONE, 0, 0, 0)}]
    for tree in trees:
        kinds.append({asn(first, Layer.CORE, tree, 0, 0)})
        kinds += [{asn(first, Layer.SPINE, tree, pod, 0)} for pod in range(LEAVES - SPINES)]
        kinds += [{asn(first, Layer.LEAF, tree, 0, n)} for n in range(PER_TREE - LEAVES)]
    assert len(set().union(*kinds)) == len(kinds)


@pytest.mark.parametrize("dcqcn", [False, True])
def test_marking_follows_the_intent(dcqcn: bool) -> None:
    site = load_site(REPO / "inventory" / "fire-flyer-roce")
    fabric_intent = site.cluster.fabric
    assert fabric_intent.ethernet is not None
    ethernet = fabric_intent.ethernet.model_copy(update={"dcqcn": dcqcn})
    cluster = site.cluster.model_copy(
        update={"fabric": fabric_intent.model_copy(update={"ethernet": ethernet})}
    )
    config = switch_configs(design(replace(site, cluster=cluster)))[0]
    assert config.lossless is not None
    ecn = config.lossless.ecn
    assert (ecn is not None) == dcqcn
    if ecn is not None:
        assert 0 < ecn.minimum_bytes < ecn.maximum_bytes < config.lossless.pool_bytes


def test_headroom_and_pool_are_the_memory(make_site: MakeSite) -> None:
    fabric = design(load_site(make_site("lab", ETHERNET)))
    for config in switch_configs(fabric):
        lossless = config.lossless
        assert lossless is not None
        assert config.model.buffer is not None
        assert lossless.pool_bytes + lossless.headroom_bytes == config.model.buffer.total_bytes
        used = Counter((p.gbps, p.cable_m) for p in config.ports if p.role is not PortRole.UNUSED)
        assert {(p.gbps, p.cable_m) for p in lossless.profiles} == set(used)
        queues = sum(queue.lossless for queue in config.queues)
        by_key = {(p.gbps, p.cable_m): p.headroom_bytes for p in lossless.profiles}
        assert lossless.headroom_bytes == queues * sum(
            by_key[key] * count for key, count in used.items()
        )
