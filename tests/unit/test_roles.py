"""Every role keeps the house's contract, and what is written of it in two places agrees."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.images.molecule import MODULE_RUNS

REPO = Path(__file__).parents[2]
ROLES = sorted(path for path in (REPO / "roles").iterdir() if path.is_dir())
LONGEST_TASK_FILE_LINES = 70

pytestmark = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


class AnsibleLoader(yaml.SafeLoader):
    """YAML as Ansible reads it, where `!vault` and `!unsafe` are text."""


AnsibleLoader.add_multi_constructor(
    "!", lambda loader, _suffix, node: loader.construct_scalar(node)
)


@cache
def load(path: Path) -> Any:
    """Return what a YAML file says."""
    return yaml.load(path.read_text(), Loader=AnsibleLoader)


def options(role: Path) -> dict[str, dict[str, Any]]:
    """Return the specification of each of the role's variables."""
    specification = load(role / "meta/argument_specs.yml")["argument_specs"]
    found: dict[str, dict[str, Any]] = specification["main"]["options"]
    return found


def files(role: Path, *folders: str) -> list[Path]:
    """Return the files of some of the role's folders."""
    return [file for folder in folders for file in sorted((role / folder).glob("*"))]


def nested(option: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an option's specification and those of everything inside it."""
    inner = [each for value in option.get("options", {}).values() for each in nested(value)]
    return [option, *inner]


def scenario_variables(role: Path) -> dict[str, Any]:
    """Return the variables that the scenario sets for all of its hosts."""
    scenario = load(role / "molecule/default/molecule.yml")
    found: dict[str, Any] = scenario["provisioner"]["inventory"]["group_vars"]["all"]
    return found


def test_defaults_and_specification_agree(role: Path) -> None:
    specified = {name: spec["default"] for name, spec in options(role).items() if "default" in spec}
    assert load(role / "defaults/main.yml") == specified


def test_a_variable_has_a_default_or_is_required_or_is_a_secret(role: Path) -> None:
    for name, spec in options(role).items():
        kinds = ("default" in spec, spec.get("required", False), spec.get("no_log", False))
        assert kinds.count(True) == 1, name


def test_variables_carry_the_role_name(role: Path) -> None:
    assert [name for name in options(role) if not name.startswith(f"{role.name}_")] == []


def test_everything_is_typed_and_described(role: Path) -> None:
    for name, spec in options(role).items():
        for option in nested(spec):
            assert option["type"], name
            assert option["description"], name
            assert ("elements" in option) == (option["type"] == "list"), name


def test_numbers_that_measure_carry_their_unit(role: Path) -> None:
    """A count, a place, a port or a limit set by the kernel has none."""
    without = re.compile(r"_(port|position|stratum|nofile|threads|ranks)$")
    with_unit = re.compile(r"_(s|mb|kb|gbps|m)$")
    for name, spec in options(role).items():
        if spec["type"] == "int":
            assert without.search(name) or with_unit.search(name), name


def test_every_variable_is_used(role: Path) -> None:
    text = "".join(f.read_text() for f in files(role, "tasks", "templates", "handlers", "vars"))
    assert [name for name in options(role) if not re.search(rf"\b{name}\b", text)] == []


def test_the_scenario_verifies_and_sets_values_unlike_the_defaults(role: Path) -> None:
    assert (role / "molecule/default/verify.yml").is_file()
    scenario = scenario_variables(role)
    verify = (role / "molecule/default/verify.yml").read_text()
    for name, default in load(role / "defaults/main.yml").items():
        assert name in scenario or f"{name}: " in verify, (
            f"the scenario leaves {name} at its default"
        )
        assert scenario.get(name) != default, f"the scenario sets {name} to its default"


def test_the_scenario_has_a_budget_of_module_runs(role: Path) -> None:
    assert role.name in MODULE_RUNS, "run it, and allow a tenth more there"


def test_a_scenario_with_secrets_says_how_they_look(role: Path) -> None:
    """So that its run finds the task that shows one (tests/images/callback_plugins)."""
    has_secrets = any(spec.get("no_log") for spec in options(role).values())
    secrets = load(role / "molecule/default/molecule.yml").get("ansible", {}).get("env", {})
    assert ("SECRETS" in secrets) == has_secrets
    assert re.search(secrets.get("SECRETS", "(?!)"), "nothing to hide") is None


def test_the_role_knows_no_group_and_gathers_no_facts(role: Path) -> None:
    forbidden = re.compile(r"\bgroups\b\s*[.\[]|\bgroup_names\b|\bansible_facts\b|\bansible_play_")
    for file in files(role, "tasks", "templates", "handlers", "defaults"):
        assert forbidden.search(file.read_text()) is None, file


def test_the_role_depends_on_no_other(role: Path) -> None:
    """What runs on a host is the playbook's to say, in the playbook's order."""
    assert load(role / "meta/main.yml")["dependencies"] == []


def test_the_readme_says_what_the_role_does_and_owns(role: Path) -> None:
    readme = (role / "README.md").read_text()
    assert readme.startswith(f"# {role.name}\n\n")
    assert f"ansible-doc -t role fireflyer.cluster.{role.name}" in readme
    assert "The role owns" in readme


def test_task_files_stay_short(role: Path) -> None:
    for file in files(role, "tasks"):
        assert len(file.read_text().splitlines()) <= LONGEST_TASK_FILE_LINES, file


def test_files_are_written_with_an_owner_and_a_mode(role: Path) -> None:
    for file in files(role, "tasks"):
        for task in load(file):
            for module in ("ansible.builtin.template", "ansible.builtin.file"):
                arguments = task.get(module)
                if arguments and arguments.get("state") != "absent":
                    assert {"owner", "group", "mode"} <= set(arguments), task["name"]
