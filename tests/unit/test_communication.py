"""What HFReduce is told of a site."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from tests.conftest import MakeSite
from tests.switches import lab_roce

from fireflyer.design import design
from fireflyer.errors import IntentError
from fireflyer.load import load_site
from fireflyer.load.document import read
from fireflyer.load.typed import parse
from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import NodeModel
from fireflyer.paths import HARDWARE
from fireflyer.render.communication import Marking, markings, positions, profiles


def test_the_fire_flyer_node(fire_flyer_2: Fabric) -> None:
    (profile,) = profiles(fire_flyer_2).values()
    assert profile.name == "fire-flyer-2-compute"
    assert [gpu.root_port for gpu in profile.gpus] == [0, 1, 2, 3, 4, 5, 5, 6]
    assert asdict(profile.nics[0]) == {"gbit_per_s": 200, "numa": 1, "root_port": 7}
    assert (profile.memory_gbytes_per_s, profile.root_port_gbytes_per_s) == (320.0, 37.5)


def test_infiniband_is_told_a_service_level(lab: Fabric) -> None:
    assert markings(lab)["hfreduce"] == Marking(service_level=1, traffic_class=None)


def test_ethernet_is_told_the_code_point_where_the_packet_has_it(tmp_path: Path) -> None:
    found = markings(lab_roce(tmp_path, "sonic"))
    assert found["hfreduce"] == Marking(service_level=None, traffic_class=34 * 4)
    assert found["other"] == Marking(service_level=None, traffic_class=None)


def test_ranks_go_through_one_zone_after_the_other(fire_flyer_2: Fabric) -> None:
    found = positions(fire_flyer_2)
    for zone in "ab":
        own = sorted(place for name, place in found.items() if name.startswith(f"{zone}-"))
        assert own == [*range(600)]
    assert len(found) == 1200


def test_a_site_without_compute_nodes_has_no_positions(make_site: MakeSite) -> None:
    site = make_site("lab", {"cluster.compute.nodes": 0})
    assert positions(design(load_site(site))) == {}


@pytest.mark.parametrize("pairs", ["[[0, 1], [1, 2]]", "[[0, 8]]"])
def test_a_bridge_to_no_gpu_is_refused(pairs: str, tmp_path: Path) -> None:
    text = (HARDWARE / "nodes" / "fire-flyer-2-compute.yml").read_text()
    file = tmp_path / "node.yml"
    file.write_text(f"{text}nvlink_pairs: {pairs}\n")
    with pytest.raises(IntentError, match="names a GPU twice, or one that is not there"):
        parse(read(file), NodeModel)
