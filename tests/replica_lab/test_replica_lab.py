"""A replica's exported inventory brings the lab's containers to a working cluster.

Hosts, groups, variables and addresses are the replica's; what a container cannot be is said by the
lab's own files of variables. Some ten minutes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.images.engine import EngineError, prepare
from tests.lab import access, containers, lab
from tests.lab.site import LabError, LabSite, Source
from tests.replica_lab.site import make_replica, replica_site, role_of

from fireflyer.model.replica_plan import ReplicaPlan

pytestmark = pytest.mark.lab

Stands = tuple[ReplicaPlan, Source, LabSite]


@pytest.fixture(scope="module")
def stands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stands]:
    """Return a replica that stands as containers, configured, and remove it afterwards."""
    plan, source = make_replica(tmp_path_factory.mktemp("replica"))
    site = replica_site(plan, source)
    try:
        prepare()
        if containers.ids():
            raise LabError("the lab is on this machine and has the same names; run: make lab-down")
        lab.raise_hosts(print, site)
    except (EngineError, FileNotFoundError) as error:
        pytest.skip(f"this machine cannot run the lab: {error}")
    try:
        lab.apply(print, source=source)
        yield plan, source, site
    finally:
        lab.down(print)


@pytest.fixture
def head(stands: Stands) -> Callable[[str], str]:
    """Return `head(command)`: what the command prints on the controller, which must succeed."""

    def run(command: str) -> str:
        done = access.run(stands[2].controllers[0], command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    return run


def test_a_second_run_changes_nothing(stands: Stands) -> None:
    plan, source, _ = stands
    recap = lab.RECAP.findall(lab.apply(print, source=source))
    assert {name for name, *_ in recap} == {host.name for host in plan.hosts}
    assert [line for line in recap if line[1:] != ("0", "0", "0")] == []


def test_slurm_sees_every_node_with_the_instances_gpus(
    stands: Stands, head: Callable[[str], str]
) -> None:
    plan, _, site = stands
    printed = head("sinfo --noheader --Node --partition=all --format='%N %T %c %G'")
    instances = {host.name: host.instance for host in plan.hosts}
    assert sorted(printed.splitlines()) == [
        f"{name} idle {instances[name].vcpus} gpu:{gpus.model.lower()}:{gpus.count}"
        for name in site.job_hosts
        if (gpus := instances[name].gpus)
    ]


def test_slurm_places_jobs_by_the_replicas_zones(
    stands: Stands, head: Callable[[str], str]
) -> None:
    shown = head("scontrol show topology")
    leaves = dict(re.findall(r"SwitchName=(\S+) Level=0 .*Nodes=(\S+)", shown))
    assert leaves == stands[2].leaves
    assert set(leaves) == {"a-leaf01", "b-leaf01"}


def test_a_job_runs_on_every_node(stands: Stands) -> None:
    lab.job(print, stands[2])


def test_a_job_gets_the_gpus_it_asks_for(stands: Stands, head: Callable[[str], str]) -> None:
    nodes = len(stands[2].job_hosts)
    ask = "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"
    printed = head(f"srun --nodes={nodes} --gres=gpu:8 --time=1 sh -c '{ask}'")
    assert sorted(printed.splitlines()) == [f"{n} 0,1,2,3,4,5,6,7" for n in stands[2].job_hosts]


def test_hfreduce_is_told_of_the_instance_and_its_place(stands: Stands) -> None:
    """The gate of the role has added up over all nodes, across the zones' subnets."""
    plan, _, site = stands
    places = set()
    for name in site.job_hosts:
        told = json.loads(access.run(name, "cat /etc/hfreduce/node.json").stdout)
        host = next(host for host in plan.hosts if host.name == name)
        assert host.instance.gpus is not None
        assert told["profile"]["name"] == plan.fabric.node[name].model.name
        assert len(told["profile"]["gpus"]) == host.instance.gpus.count
        assert len(told["profile"]["nics"]) == host.instance.network.rdma_devices
        # UCX finds what the machine has; no adapter of a cloud carries a class of traffic.
        assert told["net_devices"] == []
        assert (told["numa_node"], told["service_level"], told["traffic_class"]) == (None,) * 3
        assert told["zone"] == host.zone
        places.add((told["zone"], told["position"]))
    assert places == {("a", 0), ("a", 1), ("b", 0), ("b", 1)}


def test_storage_is_a_neighbour_in_every_zone(stands: Stands) -> None:
    """Its foot in a zone is on the node's own link; its own name leads through the router."""
    site = stands[2]
    for storage in role_of(site, "storage"):
        for node in site.job_hosts:
            near = access.run(node, f"ping -c1 -W2 {storage.name}-roce-{node[0]}")
            assert "ttl=64" in near.stdout, near.stdout + near.stderr


def test_ansible_logs_in_as_the_images_user_and_root_cannot(stands: Stands) -> None:
    plan, _, site = stands
    assert site.user == plan.login == "admin"
    for host in site.hosts:
        assert access.run(host.name, "id -un").stdout == "admin\n"
        done = access.run(host.name, "sudo sshd -T -C user=root,host=x,addr=192.0.2.1")
        assert "permitrootlogin no" in done.stdout.splitlines()


def test_the_replicas_file_is_what_pulumi_exported(stands: Stands) -> None:
    plan, source, _ = stands
    exported = json.loads(Path(source.environment["FIREFLYER_REPLICA"]).read_text())
    assert {name: values["ansible_host"] for name, values in exported["hosts"].items()} == {
        host.name: str(host.address) for host in plan.hosts
    }
    assert all(values["replica_instance"].startswith("i-") for values in exported["hosts"].values())
