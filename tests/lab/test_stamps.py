"""A site that was brought up is asked what changed, and only that is applied."""

from __future__ import annotations

import re
import urllib.request

import pytest
from tests.images.engine import podman
from tests.lab import access, lab
from tests.lab.site import LabError, LabSite

pytestmark = pytest.mark.lab

NODE, OTHER, STORAGE, HEAD = "a-cn0002", "b-cn0001", "st001", "mg01"
DRIFT = {
    (NODE, "host_base"): "echo '203.0.113.1 elsewhere' >> /etc/hosts",
    (NODE, "node_exporter"): "systemctl stop prometheus-node-exporter",
    (NODE, "hfreduce"): "/opt/hfreduce/bin/python -m pip uninstall --yes hfreduce",
    (OTHER, "munge"): "systemctl disable munge",
    (OTHER, "slurm_node"): "systemctl stop slurmd",
    (OTHER, "stamp"): "systemctl stop stamps.timer",
    (STORAGE, "host_base"): "systemctl stop chrony",
    (HEAD, "slurm_controller"): "echo '# edited' >> /etc/slurm/partitions.conf",
}
"""What happens to a host behind Ansible's back, and the role that has to be applied again."""


def stamped(host: str) -> set[str]:
    """Return the roles that a host is stamped for."""
    done = access.run(host, "/usr/local/sbin/stamps show")
    assert done.returncode == 0, done.stderr
    return {line.split()[1] for line in done.stdout.splitlines()}


def due(printed: str) -> dict[str, int]:
    """Return on how many hosts a run found each role due."""
    [found] = re.findall(
        r"TASK \[Say on how many hosts each is due\].*?msg:\n(.*?)\n\n", printed, re.DOTALL
    )
    return {name: int(count) for name, count in re.findall(r"(\w+): (\d+)", found)}


def changed(printed: str) -> set[str]:
    """Return the hosts that a run changed."""
    return {name for name, count, *_ in lab.RECAP.findall(printed) if count != "0"}


def summary(printed: str) -> str:
    """Return what a run ended with."""
    return " ".join(printed.partition("SITE *")[2].split("\n", 1)[1].split())


@pytest.fixture(scope="module", autouse=True)
def converged(site: LabSite) -> None:
    """Have every host stamped, whatever the tests before did by hand."""
    lab.apply(print)


def test_a_run_with_nothing_to_do_asks_each_host_once(site: LabSite) -> None:
    printed = lab.apply(print)
    assert set(due(printed).values()) == {0}
    oks = re.findall(r"^(\S+) +: ok=(\d+)", printed, re.MULTILINE)
    # What is done once for all hosts is counted for one of them.
    assert sorted(int(count) for host, count in oks if host != "localhost")[:-1] == [1] * 6
    assert summary(printed).startswith(
        f"{len(site.hosts)} hosts: {len(site.hosts)} current, 0 changed"
    )


def test_what_changed_on_a_host_is_seen_there_and_that_alone_is_mended(site: LabSite) -> None:
    before = {host.name: stamped(host.name) for host in site.hosts}
    for (name, _), command in DRIFT.items():
        done = access.run(name, command)
        assert done.returncode == 0, f"{name}: {command}: {done.stdout}{done.stderr}"
    for host in site.hosts:
        access.run(host.name, "systemctl start stamps.service")
        lost = {role for where, role in DRIFT if where == host.name}
        assert before[host.name] - stamped(host.name) == lost, host.name
    metrics = access.run(NODE, "cat /var/lib/prometheus/node-exporter/stamps.prom").stdout
    assert 'stamps_check_ok{role="host_base"} 0' in metrics
    assert 'stamps_check_ok{role="munge"} 1' in metrics

    printed = lab.apply(print)
    count = dict.fromkeys(due(printed), 0)
    for _, role in DRIFT:
        count[role] += 1
    # The controller hands its configuration out again, and slurmd starts anew with it.
    count["slurm_node"] = len(site.job_hosts)
    assert due(printed) == count
    assert changed(printed) == {name for name, _ in DRIFT} | set(site.job_hosts)
    assert {host.name: stamped(host.name) for host in site.hosts} == before
    assert "elsewhere" not in access.run(NODE, "cat /etc/hosts").stdout


def test_a_variable_changes_the_hosts_that_read_it(site: LabSite) -> None:
    port = "-e", "node_exporter_port=9101"
    printed = lab.apply(print, *port)
    hosts = len(site.hosts)
    assert due(printed) == {**dict.fromkeys(due(printed), 0), "node_exporter": hosts}
    assert summary(printed).startswith(f"{hosts} hosts: 0 current, {hosts} changed, 0 failed")
    printed = lab.apply(print)
    assert due(printed)["node_exporter"] == hosts


def test_the_first_host_of_each_group_fails_for_all(site: LabSite) -> None:
    waves = "-e", '{"site_waves": ["canaries", "100%"]}'
    with pytest.raises(LabError, match="node_exporter_port is 70000"):
        lab.apply(print, "-e", "node_exporter_port=70000", *waves)
    printed = lab.LOG.read_text()
    failed = {name for name, *_, count in lab.RECAP.findall(printed) if count != "0"}
    assert failed == {"a-cn0001", "b-cn0001", "st001", "st002", "mg01"}
    assert "7 hosts: 0 current, 0 changed, 5 failed, 0 unreachable, 2 still due" in summary(printed)
    assert "HOST: node_exporter_port is 70000; give a TCP port, 1 to 65535" in summary(printed)
    for host in site.hosts:
        assert ("node_exporter" in stamped(host.name)) == (host.name not in failed)
        with urllib.request.urlopen(f"http://{host.address}:9100/metrics", timeout=10) as answer:
            assert b"node_exporter_build_info" in answer.read(), host.name


def test_a_host_that_is_off_is_named_and_stops_nobody(
    site: LabSite, request: pytest.FixtureRequest
) -> None:
    podman("pause", STORAGE)
    request.addfinalizer(lambda: podman("unpause", STORAGE))
    with pytest.raises(LabError, match=STORAGE):
        lab.apply(print, "-e", "ansible_ssh_retries=0")
    printed = lab.LOG.read_text()
    # Five stamps were lost in the test before, one of them this host's.
    assert due(printed) == {**dict.fromkeys(due(printed), 0), "node_exporter": 4}
    assert "7 hosts: 6 current, 0 changed, 0 failed, 1 unreachable" in summary(printed)
    assert f"{STORAGE}: Read the stamps, of a system that the roles know:" in summary(printed)


def test_a_layer_by_itself_stamps_what_it_applied(site: LabSite) -> None:
    printed = lab.apply(print, playbook="playbooks/monitoring.yml")
    assert len(lab.RECAP.findall(printed)) == len(site.hosts)
    assert changed(printed) == set()
    assert set(due(lab.apply(print)).values()) == {0}


def test_a_host_that_starts_again_says_nothing_until_its_checks_ran() -> None:
    before = stamped(OTHER)
    assert before
    access.run(OTHER, "touch --date='1 week ago' /var/lib/stamps/checked")
    assert stamped(OTHER) == set()
    access.run(OTHER, "systemctl start stamps.service")
    assert stamped(OTHER) == before
