"""What every switch is told: routing, queues, headroom."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import REPO, MakeSite
from tests.sites import ETHERNET, PLANES
from tests.switches import MARKED, lab_roce

from fireflyer.design import design
from fireflyer.design.asn import LEAVES, PER_TREE, SPINES, asn
from fireflyer.design.switch_config import switch_configs
from fireflyer.design.traffic import percentages
from fireflyer.load import load_site
from fireflyer.model.fabric import Layer
from fireflyer.model.switch_config import Ecn, PortRole


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


@pytest.mark.parametrize("system", ["sonic", "nvue", "eos"])
def test_marking_is_the_same_on_every_switch_of_a_site(system: str, tmp_path: Path) -> None:
    configs = switch_configs(lab_roce(tmp_path, system, MARKED))
    assert len({config.lossless.pool_bytes for config in configs if config.lossless}) > 1
    assert {config.lossless.ecn for config in configs if config.lossless} == {
        Ecn(minimum_bytes=150_000, maximum_bytes=1_500_000, maximum_percent=5)
    }


def test_an_adapter_of_either_type_has_the_name_of_its_fabric(make_site: MakeSite) -> None:
    """Fire-Flyer 2's adapters are VPI: `ib0` on InfiniBand, `roce0` on Ethernet."""
    change = {"cluster.compute.model": "fire-flyer-2-compute"}
    fabric = design(load_site(make_site("fire-flyer-roce", change)))
    assert {port.name for port in fabric.node["a-cn0001"].ports} == {"roce0"}
    peers = {port.peer_port for config in switch_configs(fabric) for port in config.ports}
    assert not any(name.startswith("ib") for name in peers)
    other = {"cluster.compute.model": "fire-flyer-roce-compute"}
    fabric = design(load_site(make_site("fire-flyer-2", other, "other")))
    assert {port.name for port in fabric.node["a-cn0001"].ports} == {"ib0"}
