"""A role is due where its files, or a variable that it can read, are not what they were."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import trust_as_template
from ansible.vars.hostvars import HostVars, HostVarsVars
from ansible.vars.manager import VariableManager
from playbooks.filter_plugins.site_plan import site_layer
from tests.conftest import REPO

from fireflyer.folders import digest_of_folder
from fireflyer.stamps import digests, due
from fireflyer.stamps.due import SiteRole
from fireflyer.stamps.roles import read_role

ROLES = [
    SiteRole(
        name=role["name"],
        groups=tuple(role["groups"]),
        wanted=role.get("wanted", ""),
    )
    for role in yaml.safe_load((REPO / "playbooks/vars/site.yml").read_text())["site_roles"]
]
BY_NAME = {role.name: role for role in ROLES}
Digests = Mapping[str, Mapping[str, str]]


class Raw:
    """Variables of hosts, one host's own by its name and everyone's by "all"."""

    def __init__(self, **hosts: dict[str, Any]) -> None:
        self.hosts = hosts

    def raw_get(self, host_name: str, /) -> Mapping[str, Any]:
        """Return the variables of a host."""
        return {"inventory_hostname": host_name} | self.hosts["all"] | self.hosts[host_name]

    __getitem__ = raw_get


@pytest.fixture
def roles(tmp_path: Path) -> Path:
    """Return a folder with two roles, of which `app` includes `base`."""
    for name, tasks in {
        "app": "- include_role:\n    name: fireflyer.cluster.base\n"
        "- debug: {msg: '{{ app_text }} {{ zone }}'}\n",
        "base": "- debug: {msg: '{{ base_text }}'}\n",
        "other": "- debug: {msg: '{{ other_text }}'} # the cluster of zone\n",
    }.items():
        (tmp_path / "roles" / name / "tasks").mkdir(parents=True)
        (tmp_path / "roles" / name / "tasks/main.yml").write_text(tasks)
    (tmp_path / "roles/app/defaults").mkdir()
    (tmp_path / "roles/app/defaults/main.yml").write_text("app_dir: '{{ role_path }}/../../src'\n")
    read_role.cache_clear()
    return tmp_path / "roles"


GROUPS = {"all": ["n1", "n2", "m1"], "nodes": ["n1", "n2"], "heads": ["m1"]}
FOUND = [SiteRole(name=name, groups=("nodes", "heads")) for name in ("app", "base", "other")]


def of(roles: Path, raw: Raw, groups: Mapping[str, list[str]] = GROUPS) -> Digests:
    read_role.cache_clear()
    digest_of_folder.cache_clear()
    return due.digests(FOUND, raw, groups, roles)


def changed(before: Digests, after: Digests) -> set[str]:
    """Return each role and host whose digest is another, as `role host`."""
    return {
        f"{role} {host}"
        for role in before
        for host in before[role]
        if before[role][host] != after[role][host]
    }


def site(**more: Any) -> Raw:
    everyone = {
        "zone": "a",
        "app_text": "{{ names.first }} {{ hostvars[groups['heads'] | first].table }}",
        "names": {"first": "{{ deep }}", "second": "two"},
        "deep": "three",
        "other_text": "{{ names.items() }}",
        "cluster": {"size": 3},
    }
    return Raw(
        **{
            "all": everyone | more.pop("all", {}),
            "n1": {"serial": 1},
            "n2": {"serial": 2},
            "m1": {"table": "x", "chair": "y"},
        }
        | more
    )


EVERYWHERE = {"n1", "n2", "m1"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, set()),
        ({"all": {"app_text": "new"}}, {f"app {host}" for host in EVERYWHERE}),
        ({"all": {"base_text": "new"}}, {f"{r} {h}" for r in ("app", "base") for h in EVERYWHERE}),
        ({"all": {"deep": "new"}}, {f"{r} {h}" for r in ("app", "other") for h in EVERYWHERE}),
        (
            {"all": {"names": {"first": "{{ deep }}", "second": "new"}}},
            {f"other {h}" for h in EVERYWHERE},
        ),
        ({"m1": {"table": "new", "chair": "y"}}, {f"app {host}" for host in EVERYWHERE}),
        ({"n1": {"zone": "b"}}, {"app n1"}),
        ({"n1": {"serial": 9}, "all": {"cluster": {"size": 4}, "never": "{{ deep }}"}}, set()),
    ],
)  # fmt: skip
def test_what_a_role_reads_by_any_way_is_part_of_it(
    roles: Path, more: dict[str, Any], expected: set[str]
) -> None:
    assert changed(of(roles, site()), of(roles, site(**more))) == expected


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        ("{{ hostvars.m1.chair }}", {"m1": {"chair": "new"}}, EVERYWHERE),
        ("{{ lookup('vars', 'any_' ~ zone) }}", {"n1": {"any_a": "new"}}, {"n1"}),
        ('{{ lookup("vars", "any_" ~ zone) }}', {"n1": {"any_a": "new"}}, {"n1"}),
        ("{{ vars['any_' ~ zone] }}", {"n1": {"any_a": "new"}}, {"n1"}),
        ("{{ vars.any_a }}", {"n1": {"any_a": "new"}}, {"n1"}),
        ("{{ hostvars['n1']['any_' ~ zone] }}", {"n1": {"any_a": "new"}}, EVERYWHERE),
        ("{{ hostvars[groups['heads'] | first]['a_' ~ zone] }}", {"m1": {"a_a": 1}}, EVERYWHERE),
        ("{{ hostvars.m1['a_' ~ zone] }}", {"m1": {"a_a": 1}}, EVERYWHERE),
        ("{{ hostvars['m1'].get('a_' ~ zone) }}", {"m1": {"a_a": 1}}, EVERYWHERE),
        (
            "{{ groups.heads | map('extract', hostvars, 'a_' ~ zone) }}",
            {"m1": {"a_a": 1}},
            EVERYWHERE,
        ),
        ("{{ groups.heads | map('extract', hostvars, which) }}", {"m1": {"a_a": 1}}, EVERYWHERE),
        ("{{ hostvars.m1 | dict2items }}", {"m1": {"a_a": 1}}, EVERYWHERE),
        ("{{ hostvars.m1.table }}", {"m1": {"table": "x", "a_a": 1}}, set()),
        ("{% for each in\nany_list %}{% endfor %}", {"n1": {"any_list": "new"}}, {"n1"}),
        (
            "{{ groups.heads | first }} {{ hostvars[one].serial }}",
            {"n2": {"serial": 9}},
            EVERYWHERE,
        ),
        ("{{ site_words }}", {"n2": {"site_words": "new"}}, {"n2"}),
        ("{{ ansible_check_mode }}", {"n2": {"ansible_check_mode": True}}, set()),
        ("{{ groups[which] | length }}", {}, EVERYWHERE),
        ("{{ groups.heads | length }}", {}, set()),
        ("{{ groups.get('nodes', []) | length }}", {}, EVERYWHERE),
        ("{{ groups.items() | length }}", {}, EVERYWHERE),
        ("{{ ['nodes'] | map('extract', groups) }}", {}, EVERYWHERE),
    ],
)
def test_what_cannot_be_told_by_reading_counts_as_a_whole(
    roles: Path, text: str, more: dict[str, Any], expected: set[str]
) -> None:
    read = {"all": {"base_text": text}}
    groups = {**GROUPS, "all": [*GROUPS["all"], "n3"], "nodes": ["n1", "n2", "n3"]}
    before = of(roles, site(**read, n3={}))["base"]
    after = of(roles, site(**read, **more, n3={}), groups)["base"]
    assert {host for host in before if before[host] != after[host]} == expected


MEMORY = "{{ groups['nodes'] | map('extract', hostvars, 'memory_mb') }}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((1, 2, 1), (2, 2, 1)),  # to what another has
        ((1, 2, 3), (2, 1, 3)),
        ((1, 1, 1), (1, 1, 2)),
        ((1, None, None), (1, 1, None)),  # None: it has none
        ((1, None, None), (None, 1, None)),
        (("{{ per_node }}",) * 3, None),  # a variable of theirs that it is made of
        (("{{ hostvars[head].per_node }}",) * 3, None),
    ],
)
def test_it_matters_which_host_has_which_value(
    roles: Path, before: tuple[object, ...], after: tuple[object, ...] | None
) -> None:
    groups = {**GROUPS, "all": [*GROUPS["all"], "n3"], "nodes": ["n1", "n2", "n3"]}
    everyone = {"base_text": MEMORY, "head": "m1"}

    def raw(values: tuple[object, ...], per_node: int) -> Raw:
        nodes = [
            {"per_node": per_node} | ({} if value is None else {"memory_mb": value})
            for value in values
        ]
        return site(all=everyone, n1=nodes[0], n2=nodes[1], n3=nodes[2], m1={"per_node": per_node})

    found = changed(of(roles, raw(before, 1), groups), of(roles, raw(after or before, 2), groups))
    assert "base m1" in found


def test_a_host_more_that_has_what_all_have_is_no_reason_for_the_others(roles: Path) -> None:
    read = {"base_text": "{{ hostvars[head].memory_mb }}", "head": "m1", "memory_mb": 7}
    groups = {**GROUPS, "all": [*GROUPS["all"], "n3"]}
    assert changed(of(roles, site(all=read)), of(roles, site(all=read, n3={}), groups)) == set()


@pytest.mark.parametrize("name", ["ca", "ca.pub"])
def test_an_authority_that_was_replaced_is_another(roles: Path, tmp_path: Path, name: str) -> None:
    everyone = {"base_text": "{{ base_ssh_ca }}", "base_ssh_ca": f"{tmp_path}/{name}"}
    (tmp_path / "ca.pub").write_text("one")
    before = of(roles, site(all=everyone))["base"]
    (tmp_path / "ca.pub").write_text("two")
    after = of(roles, site(all=everyone))["base"]
    assert {host for host in before if before[host] != after[host]} == EVERYWHERE


def test_its_files_are_part_of_it_and_its_tests_are_not(roles: Path) -> None:
    before = of(roles, site())
    (roles / "app/molecule").mkdir()
    (roles / "app/molecule/verify.yml").write_text("[]\n")
    (roles / "app/README.md").write_text("# app\n")
    assert changed(before, of(roles, site())) == set()
    (roles / "base/files").mkdir()
    (roles / "base/files/program").write_bytes(b"\xff\x00")
    assert changed(before, of(roles, site())) == {
        f"{r} {h}" for r in ("app", "base") for h in EVERYWHERE
    }


def test_the_sources_that_a_default_names_are_part_of_it(roles: Path) -> None:
    (roles / "../src").resolve().mkdir(exist_ok=True)
    before = of(roles, site())
    source = (roles / "../src/code.py").resolve()
    source.write_text("1\n")
    read = of(roles, site())
    source.unlink()
    assert changed(before, read) == {f"app {host}" for host in EVERYWHERE}


def test_the_plugins_that_it_names_are_part_of_it(roles: Path) -> None:
    """A file may define several filters, and a module is where its action is."""
    tasks = roles / "other/tasks/main.yml"
    tasks.write_text("- debug: {msg: '{{ other_text | fireflyer.cluster.text_upper }}'}\n")
    plugins = roles.parent / "plugins/filter"
    plugins.mkdir(parents=True)
    (plugins / "text.py").write_text("1\n")
    (plugins / "texture.py").write_text("1\n")
    before = of(roles, site())
    (plugins / "texture.py").write_text("2\n")
    assert changed(before, of(roles, site())) == set()
    (plugins / "text.py").write_text("2\n")
    assert changed(before, of(roles, site())) == {f"other {host}" for host in EVERYWHERE}


def test_a_host_more_is_no_reason_for_the_others(roles: Path) -> None:
    groups = {**GROUPS, "all": [*GROUPS["all"], "n3"], "nodes": ["n1", "n2", "n3"]}
    assert changed(of(roles, site()), of(roles, site(n3={"serial": 4}), groups)) == set()


def test_no_secret_is_digested(roles: Path) -> None:
    """Of a vaulted value the ciphertext counts."""

    class Vaulted:
        def __init__(self, ciphertext: str) -> None:
            self._ciphertext = ciphertext

        def __repr__(self) -> str:
            raise AssertionError("decrypted")

    one, two = (site(all={"app_text": Vaulted(text)}) for text in ("one", "two"))
    assert changed(of(roles, one), of(roles, two)) == {f"app {host}" for host in EVERYWHERE}


def test_a_missing_role_is_said(roles: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no role gone"):
        read_role(roles, "gone")


def answer(digests: Digests, host: str) -> str:
    """Return what a host says that was brought to all of its roles."""
    return "".join(
        f"stamp {role} {hosts[host]}\r\n" for role, hosts in digests.items() if host in hosts
    )


GIVEN: Digests = {"app": {h: f"{i:064x}" for i, h in enumerate(GROUPS["all"])}}
APP = SiteRole(name="app", groups=("nodes", "heads"))


def found(role: SiteRole, answers: Mapping[str, str], full: tuple[str, ...] = ()) -> list[str]:
    variables = Raw(all={"key_host": "m1"}, n1={}, n2={}, m1={})
    return due.due([role], GIVEN, answers, GROUPS, full, digests.Digests(variables, GROUPS).value)[
        "app"
    ]


def test_only_hosts_that_answered_are_due() -> None:
    whole = {host: answer(GIVEN, host) for host in GROUPS["all"]}
    assert found(APP, whole) == []
    assert found(APP, {**whole, "n1": ""}) == ["n1"]
    assert found(APP, {**whole, "n1": answer(GIVEN, "n2")}) == ["n1"]
    assert found(APP, {"n2": "", "m1": whole["m1"]}) == ["n2"]
    assert found(APP, whole, ("n2",)) == ["n2"]


def test_what_is_due_on_a_key_host_is_due_on_all() -> None:
    whole = {host: answer(GIVEN, host) for host in GROUPS["all"]}
    together = SiteRole(name="app", groups=("nodes", "heads"), due_with=("app", "heads"))
    assert found(together, {**whole, "n1": ""}) == ["n1"]
    assert found(together, {**whole, "m1": ""}) == ["n1", "n2", "m1"]


def test_what_is_due_on_a_controller_makes_another_role_due() -> None:
    given = {"head": {"m1": f"{1:064x}"}, "app": {"n1": f"{2:064x}", "n2": f"{3:064x}"}}
    head = SiteRole(name="head", groups=("heads",))
    app = SiteRole(name="app", groups=("nodes",), due_with=("head", "heads"))
    answers = {
        host: "".join(f"stamp {role} {of[host]}\n" for role, of in given.items() if host in of)
        for host in GROUPS["all"]
    }
    assert due.due([app, head], given, answers, GROUPS) == {"app": [], "head": []}
    answers["m1"] = ""
    assert due.due([app, head], given, answers, GROUPS) == {"app": ["n1", "n2"], "head": ["m1"]}
    del answers["n1"]
    assert due.due([app, head], given, answers, GROUPS)["app"] == ["n2"]


def test_who_was_off_when_the_key_host_got_another_key_is_due_later() -> None:
    alike = SiteRole(name="app", groups=("nodes", "heads"), alike="key_host")
    whole = {host: answer(GIVEN, host) for host in GROUPS["all"]}
    new, former = (f"{number:064x}  /var/lib/stamps/app.sums\r\n" for number in (1, 2))
    assert found(alike, whole) == []
    answers = {host: text + new for host, text in whole.items()}
    assert found(alike, answers) == []
    answers["n2"] = whole["n2"] + former
    assert found(alike, answers) == ["n2"]
    del answers["m1"]  # who cannot be asked which key it has now
    assert found(alike, answers) == []


class Filled(Raw):
    """Variables whose templates Ansible filled in."""

    def __getitem__(self, host_name: str, /) -> Mapping[str, Any]:
        found = self.raw_get(host_name)
        return {key: False if value == "{{ false }}" else value for key, value in found.items()}


@pytest.mark.parametrize("no", [False, "no", "{{ false }}"])
def test_a_host_that_does_without_a_role_is_in_no_layer_of_it(no: object) -> None:
    """Also where nobody asked for stamps, as with `--tags haiscale`."""
    hostvars = Filled(
        all={"training_haiscale": True}, localhost={}, c1={}, c2={"training_haiscale": no}
    )
    groups = {"all": ["c1", "c2"], "compute": ["c1", "c2"]}
    assert site_layer("haiscale", groups, hostvars)["hosts"] == ["c1"]
    assert site_layer("haiscale", groups, {})["hosts"] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("given", "waves"), [("10%", ["10%"]), (1, [1]), (["canaries", "100%"], [1, "100%"])]
)
def test_waves_are_as_ansible_takes_them(given: object, waves: list[object]) -> None:
    hostvars = Filled(all={"site_waves": given}, localhost={}, c1={}, c2={})
    groups = {"all": ["c1", "c2"], "compute": ["c1", "c2"]}
    assert site_layer("hfreduce", groups, hostvars)["waves"] == waves


def test_one_host_of_each_group_goes_first() -> None:
    groups = {
        "all": ["c1", "c2", "c3", "s1", "m1"], "ungrouped": [],
        "compute": ["c1", "c2", "c3"], "zone_a": ["c1", "c2"], "zone_b": ["c3", "s1"],
        "head": ["m1"],
    }  # fmt: skip
    hosts, canaries = due.canaries_first(["c2", "c3", "s1", "m1"], groups)
    assert sorted(hosts) == ["c2", "c3", "m1", "s1"]
    assert canaries == 3
    for group in ("compute", "zone_a", "zone_b", "head"):
        assert set(hosts[:canaries]) & set(groups[group]), group
    assert due.canaries_first([], groups) == ([], 0)


@pytest.fixture(scope="module")
def lab() -> HostVars:
    """Return the lab's variables as Ansible has them."""
    init_plugin_loader([])
    loader = DataLoader()
    inventory = InventoryManager(loader, sources=[str(REPO / "inventory/lab")])
    return HostVars(inventory, VariableManager(loader, inventory), loader)


class Edited:
    """Variables of which one is another value on every host that has it."""

    def __init__(self, hostvars: HostVars, name: str) -> None:
        self.values = {host: dict(hostvars.raw_get(host)) for host in hostvars}
        for variables in self.values.values():
            if name in variables:
                variables[name] = _another(variables[name])

    def raw_get(self, host_name: str, /) -> Mapping[str, Any]:
        """Return the variables of a host."""
        return self.values[host_name]

    __getitem__ = raw_get


def _another(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _another(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_another(item) for item in value]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return trust_as_template(f"{value}9")


def test_whatever_changes_what_ansible_gives_a_role_changes_its_digest(lab: HostVars) -> None:
    """Ansible itself fills in the role's variables, before and after each variable is another."""
    inventory = lab._inventory
    groups = inventory.get_groups_dict()
    folder = REPO / "roles"
    before = due.digests(ROLES, lab, groups, folder)
    names = {name for host in lab for name in lab.raw_get(host)}
    names -= {"groups", "hostvars", "omit", "vars", "environment"}
    noticed = 0
    for name in sorted(name for name in names if not name.startswith(("ansible_", "inventory_"))):
        edited = Edited(lab, name)
        after = due.digests(ROLES, edited, groups, folder)
        for role in ROLES:
            for host in ("a-cn0001", "mg01", "st001"):
                if host not in before[role.name] or host not in after[role.name]:
                    continue
                own = [n for n in lab.raw_get(host) if n.startswith(f"{role.name}_")]
                if given(edited.values, groups, host, own, lab) != given(
                    None, groups, host, own, lab
                ):
                    noticed += 1
                    assert after[role.name][host] != before[role.name][host], (name, role.name)
    assert noticed > 30


def given(
    values: Mapping[str, Mapping[str, Any]] | None,
    groups: Mapping[str, list[str]],
    host: str,
    names: list[str],
    lab: HostVars,
) -> list[str]:
    """Return what Ansible makes of a host's variables."""
    raw = values if values is not None else {each: lab.raw_get(each) for each in lab}
    others = {each: HostVarsVars(dict(raw[each]), lab._loader, each) for each in raw}
    filled = HostVarsVars({**raw[host], "hostvars": others, "groups": groups}, lab._loader, host)
    found = []
    for name in names:
        try:
            found.append(repr(filled[name]))
        except Exception as error:  # any failure is another outcome
            found.append(str(type(error)))
    return found
