"""No play reaches a switch, or nodes under the scheduler, unasked."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import REPO
from tests.lab.site import BIN

PLAYBOOKS = sorted((REPO / "playbooks").glob("*.yml"))
SITE = REPO / "playbooks" / "site.yml"
SWITCHES = REPO / "playbooks" / "network.yml"
COLLECTION = "fireflyer.cluster."
SERVERS = {
    "localhost", "compute", "storage", "management",
    "slurm_controller", "slurm_node", "subnet_manager",
}  # fmt: skip


HOSTS_OF_A_ROLE = "{{ site_layer.hosts }}"
LAYER = "{{ site_role | site_layer(groups, hostvars | default({})) }}"


def plays(playbook: Path) -> list[dict[str, Any]]:
    """Return the plays of a playbook."""
    found: list[dict[str, Any]] = yaml.safe_load(playbook.read_text())
    return found


def site_roles() -> dict[str, dict[str, Any]]:
    """Return the roles of the site by name."""
    found = yaml.safe_load((REPO / "playbooks/vars/site.yml").read_text())["site_roles"]
    return {role["name"]: role for role in found}


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.name)
def test_only_the_network_play_names_switches(playbook: Path) -> None:
    if playbook == SWITCHES:
        return
    for play in plays(playbook):
        hosts = play.get("hosts", "localhost").split(":")
        if play.get("hosts") == HOSTS_OF_A_ROLE:
            hosts = site_roles()[play["vars"]["site_role"]]["groups"]
        assert set(hosts) <= SERVERS


def imported() -> list[str]:
    """Return the playbooks that the site's imports."""
    return [play["ansible.builtin.import_playbook"] for play in plays(SITE)]


def test_the_site_does_not_import_it() -> None:
    assert SWITCHES.name not in imported()


def test_every_role_of_the_site_is_due_tagged_and_stamped_alike() -> None:
    """Without its tag, `--tags slurm_node` would do nothing and end well.

    Without its stamp a role would be applied for ever, and with another's never.
    """
    layers = [play for name in imported() for play in plays(SITE.parent / name) if "roles" in play]
    assert [play["roles"] for play in layers] == [[COLLECTION + name] for name in site_roles()]
    for play in layers:
        name = play["roles"][0].removeprefix(COLLECTION)
        assert play["tags"] == [name]
        assert play["vars"] == {"site_role": name, "site_layer": LAYER}
        assert play["hosts"] == HOSTS_OF_A_ROLE
        [before], [after] = play["pre_tasks"], play["post_tasks"]
        assert before["ansible.builtin.import_tasks"] == "tasks/clear_stamp.yml"
        assert after["ansible.builtin.import_tasks"] == "tasks/set_stamp.yml"
        assert (REPO / "roles" / name / "templates/check.sh.j2").is_file()


def test_a_layer_by_itself_reaches_all_of_its_hosts_canaries_first() -> None:
    listed = run("--list-hosts", playbook=SITE.parent / "training.yml").stdout
    assert "pattern: ['a-cn0001', 'b-cn0001', 'a-cn0002', 'b-cn0002']" in listed


def test_a_wrong_site_full_is_refused_before_a_host_is_asked() -> None:
    done = run("-e", "site_full=zone_x", playbook=SITE.parent / "digests.yml")
    assert done.returncode == 2
    assert "site_full is zone_x; give true, or a group of hosts such as zone_a" in done.stdout


def test_the_inventory_is_validated_under_a_limit_too(tmp_path: Path) -> None:
    """All of it: a mistake elsewhere may be this host's, too."""
    wrong = tmp_path / "wrong.ini"
    wrong.write_text("b-cn0001 fabric_addresses='{}'\n")
    for more, code, said in ((), 0, "no mistakes"), (("-i", str(wrong)), 2, "in the inventory"):
        done = run("--limit", "a-cn0001", *more, playbook=SITE.parent / "validate.yml")
        assert done.returncode == code, done.stdout
        assert said in done.stdout


def test_nothing_of_the_site_runs_over_several_hosts() -> None:
    """Such a job is the scheduler's: nodes run users' jobs. A check is asked for by its name."""
    applied = [path for path in PLAYBOOKS if path.name in imported()]
    applied += sorted((REPO / "roles").glob("*/tasks/*.yml"))
    applied += sorted((REPO / "roles").glob("*/defaults/*.yml"))
    assert len(applied) > 40
    for path in applied:
        assert "ansible_play_hosts" not in path.read_text(), path
        assert "--nodes" not in path.read_text(), path


def run(*arguments: str, playbook: Path = SWITCHES) -> subprocess.CompletedProcess[str]:
    """Run a playbook against the lab's inventory."""
    return subprocess.run(
        [BIN / "ansible-playbook", "-i", "inventory/lab", playbook, *arguments],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("batch", ["switches", "switches_zone_c", "compute"])
def test_a_batch_that_leaves_nothing_to_carry_on_is_refused(batch: str) -> None:
    done = run("-e", f"network_batch={batch} switch_config_apply=true")
    assert done.returncode == 2
    assert f"network_batch is {batch}; name one zone's" in " ".join(done.stdout.split())
    assert "a-leaf01" not in done.stdout


def test_a_change_stops_at_the_first_switch_that_is_not_well() -> None:
    """Nothing is rendered here, so the first one is refused, before it is contacted."""
    nowhere = "switch_config_file=/nonexistent/{{ inventory_hostname }}"
    done = run("-e", "switch_config_apply=true", "-e", nowhere)
    assert done.returncode == 2
    assert "a-spine01: there is no /nonexistent/a-spine01" in " ".join(done.stdout.split())
    assert "a-spine02" not in done.stdout
