"""Ansible sees one inventory, whether it is computed or printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from tests.conftest import REPO, MakeSite
from tests.lab.site import plain
from tests.sites import PLANES
from tests.switches import lab_roce

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.model.hardware import System
from fireflyer.render import artefacts
from fireflyer.render.inventory import inventory

ANSIBLE_INVENTORY = Path(sys.executable).with_name("ansible-inventory")


def ansible_sees(source: Path, *more: Path) -> dict[str, Any]:
    """Return what ansible-inventory lists, in plain values."""
    command = [str(ANSIBLE_INVENTORY), "--list", "--export"]
    for path in (source, *more):
        command += ["-i", str(path)]
    environment = os.environ | {"ANSIBLE_CONFIG": str(REPO / "ansible.cfg")}
    done = subprocess.run(
        command, cwd=REPO, env=environment, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_printed_inventory_equals_the_computed_one(lab: Fabric, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.yml"
    hosts.write_text(artefacts(lab)["inventory/hosts.yml"])
    computed = plain(ansible_sees(REPO / "inventory" / "lab" / "fireflyer.yml"))
    printed = plain(ansible_sees(hosts))
    strip = ("cluster", "host_base", "node_exporter", "slurm", "munge", "ansible_")
    for name, variables in computed["_meta"]["hostvars"].items():
        theirs = printed["_meta"]["hostvars"][name]
        for key in variables:
            if key.startswith("fabric_") or key == "ansible_host":
                assert variables[key] == theirs[key], (name, key)
        assert {k for k in theirs if not k.startswith(strip)} <= set(variables)
    for group in printed:
        if group not in ("_meta", "all"):
            assert printed[group].get("hosts") == computed[group].get("hosts")
            for key, value in printed[group].get("vars", {}).items():
                assert computed[group]["vars"][key] == value


def test_every_group_is_declared(lab: Fabric, fire_flyer_2: Fabric) -> None:
    declared: set[str] = set()

    def collect(tree: dict[str, Any]) -> None:
        for name, body in tree.items():
            declared.add(name)
            collect((body or {}).get("children") or {})

    collect(yaml.safe_load((REPO / "inventory" / "groups.yml").read_text()))
    for fabric in (lab, fire_flyer_2):
        assert set(inventory(fabric).groups) <= declared


def test_groups_of_the_lab(lab: Fabric) -> None:
    groups = inventory(lab).groups
    assert groups["compute_zone_a"] == ("a-cn0001", "a-cn0002")
    assert groups["storage_zone_b"] == ("st002",)
    assert groups["slurm_controller"] == ("mg01",)


def test_switches_of_the_lab(lab: Fabric) -> None:
    found = inventory(lab)
    assert found.groups["switches_interzone"] == ("interzone01",)
    assert found.groups["switches_zone_b"][-1] == "b-leaf03"
    leaf = found.hosts["a-leaf01"]
    assert leaf["ansible_host"] == str(lab.switch["a-leaf01"].management)
    assert (leaf["fabric_layer"], leaf["fabric_tree"]) == ("leaf", "a")
    assert found.hosts["interzone01"]["fabric_tree"] == ""


@pytest.mark.parametrize("changes", [{}, PLANES], ids=["zones", "planes"])
def test_every_switch_is_in_its_layer_and_in_its_tree_and_nowhere_else(
    changes: dict[str, Any], make_site: MakeSite
) -> None:
    fabric = design(load_site(make_site("lab", changes)))
    groups = inventory(fabric).groups
    for switch in fabric.switches:
        kind = fabric.tree_kind
        wanted = {f"switches_{switch.layer}"}
        wanted |= {f"switches_{kind}_{switch.tree}"} if switch.tree else set()
        assert {name for name, hosts in groups.items() if switch.name in hosts} == wanted


@pytest.mark.parametrize("system", get_args(System))
def test_a_switch_names_a_file_that_is_rendered(system: str, lab: Fabric, tmp_path: Path) -> None:
    fabric = lab if system == lab.system else lab_roce(tmp_path, system)
    hosts = inventory(fabric).hosts
    assert {hosts[switch.name]["fabric_system"] for switch in fabric.switches} == {system}
    named = {hosts[switch.name]["fabric_config"] for switch in fabric.switches}
    assert named <= set(artefacts(fabric, (system,)))


def test_a_bad_intent_is_told_by_ansible_too(make_site: MakeSite) -> None:
    site = make_site("lab", {"cluster.compute.nodes": 40})
    (site / "fireflyer.yml").write_text("plugin: fireflyer\n")
    with pytest.raises(subprocess.CalledProcessError) as error:
        ansible_sees(site)
    said = " ".join(error.value.stderr.split())
    assert "the intent cannot be built" in said
    assert "zone a lacks 13 ports" in said
