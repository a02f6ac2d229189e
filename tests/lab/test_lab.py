"""What a site must do once its playbooks have run, tried on the lab: `pytest -m lab`."""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Callable

import pytest
from tests.images.engine import podman
from tests.lab import access, lab
from tests.lab.site import LabError, LabSite

pytestmark = pytest.mark.lab

NODE_LOST_WITHIN_S = 120


def state(head: Callable[[str], str], node: str) -> str:
    """Return what Slurm thinks of a node; a star means that it does not answer."""
    return head(f"sinfo --noheader --nodes={node} --partition=all --format=%T").strip()


def wait_for_state(head: Callable[[str], str], node: str, wanted: str, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while (now := state(head, node)) != wanted:
        assert time.monotonic() < deadline, f"{node} is {now}, not {wanted}, after {within_s} s"
        time.sleep(2)


def test_a_second_run_changes_nothing(site: LabSite) -> None:
    """Every role is applied once more, whatever the hosts' stamps say."""
    recap = lab.RECAP.findall(lab.apply(print, "-e", "site_full=true"))
    assert {name for name, *_ in recap} == {host.name for host in site.hosts}
    assert [line for line in recap if line[1:] != ("0", "0", "0")] == []


def test_a_check_run_of_a_converged_site_finds_nothing_to_do(site: LabSite) -> None:
    recap = lab.RECAP.findall(lab.apply(print, "--check", "-e", "site_full=true"))
    assert len(recap) == len(site.hosts)
    assert [line for line in recap if line[1:] != ("0", "0", "0")] == []


def test_a_role_is_applied_alone_by_its_tag(site: LabSite) -> None:
    """What is missing is put there by a role that this one includes."""
    node, python = site.job_hosts[0], "/opt/hfreduce/bin/python"
    gone = access.run(node, f"{python} -m pip uninstall --yes hfreduce")
    assert gone.returncode == 0, gone.stderr
    recap = lab.RECAP.findall(lab.apply(print, "--tags", "hfreduce"))
    assert [line for line in recap if line[1:] != ("0", "0", "0")] == [(node, "1", "0", "0")]
    assert access.run(node, f"{python} -c 'import hfreduce'").returncode == 0


def test_a_job_runs_on_every_node(site: LabSite, head: Callable[[str], str]) -> None:
    printed = head(f"srun --nodes={len(site.job_hosts)} --time=1 hostname")
    assert sorted(printed.split()) == list(site.job_hosts)


def test_slurm_places_jobs_by_the_fabric(site: LabSite, head: Callable[[str], str]) -> None:
    shown = head("scontrol show topology")
    leaves = dict(re.findall(r"SwitchName=(\S+) Level=0 .*Nodes=(\S+)", shown))
    assert leaves == site.leaves


def test_a_job_in_a_zone_stays_in_it(site: LabSite, head: Callable[[str], str]) -> None:
    in_zone_b = [host for host in site.job_hosts if host.startswith("b-")]
    printed = head(f"srun --partition=zone-b --nodes={len(in_zone_b)} --time=1 hostname")
    assert sorted(printed.split()) == in_zone_b


def rows(*arguments: str) -> list[tuple[str, str, str]]:
    """Measure the allreduce; return nodes, ranks on each and bytes as printed."""
    printed = lab.apply(print, "-e", *arguments, playbook="playbooks/check/allreduce.yml")
    assert [line for line in lab.RECAP.findall(printed) if line[1:] != ("0", "0", "0")] == []
    found: list[tuple[str, str, str]] = re.findall(r" (\d+) +(\d+) +([\d,]+) +\d+\.\d\d ", printed)
    return found


def test_the_allreduce_is_a_job_of_the_schedulers(
    site: LabSite, head: Callable[[str], str]
) -> None:
    before = last_job(head)
    nodes = str(len(site.job_hosts))
    assert rows("allreduce_bytes=64K,1M") == [(nodes, "2", "65,536"), (nodes, "2", "1,048,576")]
    assert last_job(head) == before + 2


def test_a_check_leaves_out_who_is_not_asked(site: LabSite) -> None:
    two = ",".join(site.job_hosts[:2])
    assert rows("allreduce_bytes=64K", "--limit", two) == [("2", "2", "65,536")]


def test_a_check_waits_for_users_and_says_for_whom(
    site: LabSite, head: Callable[[str], str]
) -> None:
    busy = site.job_hosts[0]
    job = head(f"sbatch --parsable --exclusive --nodelist={busy} --chdir=/tmp --wrap='sleep 200'")
    try:
        wait_for_state(head, busy, "allocated", within_s=30)
        with pytest.raises(LabError, match="check_wait_s"):
            rows("allreduce_bytes=64K", "-e", "check_wait_s=3")
    finally:
        head(f"scancel {job}")
        wait_for_state(head, busy, "idle", within_s=60)


def last_job(head: Callable[[str], str]) -> int:
    """Return the highest number of a job that the scheduler knows."""
    numbers = re.findall(r"JobId=(\d+)", head("scontrol --oneliner show jobs"))
    return max(map(int, numbers), default=0)


def test_every_host_answers_prometheus_on_its_management_address(site: LabSite) -> None:
    for host in site.hosts:
        with urllib.request.urlopen(f"http://{host.address}:9100/metrics", timeout=10) as answer:
            metrics = answer.read().decode()
        assert f'nodename="{host.name}"' in metrics


def test_hosts_know_each_other_by_name_on_every_network(site: LabSite) -> None:
    for host in site.hosts:
        names = "; ".join(f"getent ahostsv4 {other.name}.lab.internal" for other in site.hosts)
        printed = access.run(host.name, names).stdout
        assert {line.split()[0] for line in printed.splitlines()} == {o.address for o in site.hosts}


def test_storage_is_reached_over_the_fabric_from_both_zones(site: LabSite) -> None:
    storage = next(host for host in site.hosts if host.role == "storage")
    for node in site.job_hosts:
        done = access.run(node, f"ping -c1 -W2 {storage.name}-ib-{node[0]}")
        assert done.returncode == 0, done.stdout + done.stderr


def test_munge_refuses_what_another_key_signed(site: LabSite, head: Callable[[str], str]) -> None:
    """A second daemon with a key of its own signs on a node; the controller must refuse it."""
    foreign = (
        "set -e; cd $(mktemp -d); chmod 755 .; chown munge .; in_munge='runuser -u munge --';"
        " $in_munge mungekey --create --keyfile=$PWD/key;"
        " $in_munge munged --key-file=$PWD/key --socket=$PWD/socket --pid-file=$PWD/pid"
        " --log-file=$PWD/log --seed-file=$PWD/seed --force > /dev/null 2>&1;"
        " munge --no-input --socket=$PWD/socket; kill $(cat pid)"
    )
    signed = access.run(site.job_hosts[0], foreign)
    assert signed.stdout.startswith("MUNGE:"), signed.stderr
    head(
        f"printf %s '{access.run(site.job_hosts[0], 'munge --no-input').stdout.strip()}' | unmunge"
    )
    refused = access.run(site.controllers[0], f"printf %s '{signed.stdout.strip()}' | unmunge")
    assert refused.returncode != 0
    assert "Invalid credential" in refused.stderr


def test_a_new_key_of_munges_reaches_all_at_once_and_jobs_run(
    site: LabSite, head: Callable[[str], str]
) -> None:
    members = (*site.controllers, *site.job_hosts)

    def keys() -> set[str]:
        return {access.run(host, "sha256sum /etc/munge/munge.key").stdout for host in members}

    before = keys()
    head("runuser -u munge -- mungekey --create --force && systemctl start stamps.service")
    lab.apply(print)
    after = keys()
    assert len(before) == len(after) == 1
    assert before != after
    printed = head(f"srun --nodes={len(site.job_hosts)} --time=1 hostname")
    assert sorted(printed.split()) == list(site.job_hosts)


def test_an_operator_logs_in_with_the_key_and_becomes_root(site: LabSite) -> None:
    for host in site.hosts:
        done = access.run(host.name, "id -un; sudo --non-interactive id -un", user="operator")
        assert done.stdout.split() == ["operator", "root"], f"{host.name}: {done.stderr}"


def test_a_lost_node_is_noticed_and_comes_back_by_itself(
    site: LabSite, head: Callable[[str], str]
) -> None:
    lost = site.job_hosts[-1]
    wait_for_state(head, lost, "idle", within_s=30)
    podman("kill", lost)
    wait_for_state(head, lost, "down*", within_s=NODE_LOST_WITHIN_S)
    lab.raise_hosts(print, site)  # it is started, and no playbook runs
    wait_for_state(head, lost, "idle", within_s=60)
