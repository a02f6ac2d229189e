"""The other subnet managers in real OpenSM: they stand by, and route alike when they take over."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import MakeSite

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Manager
from fireflyer.prove.infiniband.dumps import read_links, read_subnet
from fireflyer.prove.infiniband.prove import prove_infiniband
from fireflyer.prove.infiniband.simulator import simulator, view
from fireflyer.prove.infiniband.standby import files_of, host_of
from fireflyer.prove.infiniband.subnet_manager import SubnetManager, subnet_manager
from fireflyer.render import batches
from fireflyer.render.opensm import FILES, directory_of
from fireflyer.render.tree import write_tree
from fireflyer.verify.finding import Finding
from fireflyer.verify.log import MASTER, STANDBY, UP

TWO = {
    "cluster.management.nodes": 2,
    "cluster.services.subnet_manager": ["mg01", "mg02"],
}
GROUPS = ("ibsim", "opensm")


@pytest.fixture
def fabric(make_site: MakeSite) -> Fabric:
    return design(load_site(make_site("lab", TWO)))


@pytest.fixture
def tree(fabric: Fabric, tmp_path: Path) -> Path:
    write_tree(tmp_path / "tree", fabric.intent.name, batches(fabric, GROUPS), GROUPS)
    return tmp_path / "tree"


def found(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    return prove_infiniband(fabric, tree, lambda _: None).findings


def edit(tree: Path, old: str, new: str) -> None:
    file = tree / "opensm/mg02/opensm.conf"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_second_manager_stands_by(fabric: Fabric, tree: Path) -> None:
    assert found(fabric, tree) == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sm_priority 13", "sm_priority 15", "took the subnet over from mg01"),
        ("routing_engine updn", "routing_enginee updn", "Unrecognized token"),
        ("guid 0x02", "guid 0x03", "opensm"),
        ("qos TRUE", "qos TRUE\ndaemon TRUE", "daemon TRUE would leave OpenSM running"),
    ],
)
def test_a_second_manager_that_would_not_stand_by_is_found(
    fabric: Fabric, tree: Path, old: str, new: str, said: str
) -> None:
    edit(tree, old, new)
    (finding,) = found(fabric, tree)
    assert finding.check == "managers"
    assert finding.subject == "OpenSM on mg02 mlx5_0"
    assert said in finding.message


def test_a_missing_file_of_a_second_manager_is_found(fabric: Fabric, tree: Path) -> None:
    (tree / "opensm/mg02/root-guids.conf").unlink()
    (finding,) = found(fabric, tree)
    assert "root-guids.conf" in finding.message


def test_a_second_manager_takes_over_and_routes_alike(
    fabric: Fabric, tree: Path, tmp_path: Path
) -> None:
    """The first is killed; the second notices after one poll, instead of four of 10 s."""
    hasty = "sm_priority 13\nsminfo_polling_timeout 200\npolling_retry_number 1"
    edit(tree, "sm_priority 13", hasty)
    (subnet,) = fabric.subnets
    first, second = subnet.managers

    with ExitStack() as stack:
        sim = stack.enter_context(simulator(tree / "ibsim/fabric.net", host_of(first), tmp_path))

        def running(manager: Manager) -> AbstractContextManager[SubnetManager]:
            own = view(sim, host_of(manager), tmp_path / manager.host)
            return subnet_manager(own, files_of(tree, subnet, manager), FILES, directory_of(subnet))

        with running(first) as master:
            master.said_until(UP)
            links = read_links(sim.run("ibnetdiscover"))
            before = read_subnet(fabric, links, master.folder)
            standby = stack.enter_context(running(second))
            standby.said_until(STANDBY)
        said = standby.said_until(UP)
        after = read_subnet(fabric, links, standby.folder)
    assert any(MASTER in line for line in said)
    assert np.array_equal(before.forward, after.forward)
