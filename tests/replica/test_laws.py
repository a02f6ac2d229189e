"""Laws over everything a replica's program declares, on every provider."""

from __future__ import annotations

import base64
import inspect
from importlib import import_module
from typing import Any

import pytest
import yaml
from tests.replica.conftest import MAIL, Run
from tests.replica.fake_engine import SECRET, Declared
from tests.replica.seen import Seen, leaves, seen
from tests.stacks import EXAMPLES, PROVIDERS, PULUMI

from fireflyer.model.fabric import Role
from fireflyer.render.replica_routes import route_files

both_ways = pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
all_examples = pytest.mark.parametrize("base", EXAMPLES)
MACHINES = ("aws:ec2/instance:Instance", "azure-native:compute:VirtualMachine")
with_bastion = pytest.mark.parametrize("base", ["pair", "infiniband"])


def takes_tags(found: Declared) -> bool:
    """Ask the SDK whether a resource takes tags."""
    package, module, name = found.kind.split(":")
    package = package.replace("-", "_")
    kind = getattr(import_module(f"pulumi_{package}.{module.split('/')[0]}"), name)
    return "tags" in inspect.signature(kind._internal_init).parameters


@both_ways
@all_examples
def test_whatever_takes_tags_has_an_owner_and_an_end(base: str, preview: bool, run: Run) -> None:
    plan, graph = run(base, preview=preview)
    tagged = [f for f in graph.resources if f.custom and "providers" not in f.kind]
    tagged = [found for found in tagged if takes_tags(found)]
    assert len(tagged) > len(plan.hosts)
    for found in tagged:
        tags = found.inputs["tags"]
        assert tags["owner"] == plan.intent.owner, found.urn
        assert tags["expires"] == plan.expires
        assert tags["fireflyer-site"] == plan.site
        assert tags["fireflyer-replica"] == f"{plan.site}-{plan.name}"


@both_ways
@all_examples
def test_everything_has_a_component_and_the_one_provider(
    base: str, preview: bool, run: Run
) -> None:
    _, graph = run(base, preview=preview)
    components = {found.urn for found in graph.resources if not found.custom}
    for found in graph.resources:
        if "providers" in found.kind:
            continue
        if found.kind != "fireflyer:replica:Replica":
            assert found.parent in components, found.urn
        if found.custom:
            name = PROVIDERS[base]
            assert f"::{base}-{name}::" in found.provider, found.urn


@all_examples
def test_a_preview_declares_what_is_made(base: str, run: Run) -> None:
    made = {found.urn for found in run(base)[1].resources}
    previewed = {found.urn for found in run(base, preview=True)[1].resources}
    assert previewed == made


@both_ways
@all_examples
def test_the_mail_address_is_a_secret_and_nowhere_else(base: str, preview: bool, run: Run) -> None:
    _, graph = run(base, preview=preview)
    told = [f.inputs for f in graph.resources if f.name == "alarms"]
    secrets = [value for inputs in told for _, value in leaves(inputs) if value == SECRET]
    assert len(secrets) == 1
    assert MAIL not in repr([r.inputs for r in graph.resources]) + repr(graph.outputs)


@all_examples
def test_no_expiry_no_replica(base: str, run: Run) -> None:
    with pytest.raises(Exception, match="the stack has no expiry, so nothing would stop it"):
        run(base, {"expires": None})


@both_ways
@all_examples
def test_every_host_is_the_plans(base: str, preview: bool, run: Run) -> None:
    """Its type, how it is bought, and the address it has in each subnet, the first one first."""
    plan, graph = run(base, preview=preview)
    found = seen(graph)
    assert set(found.machines) - {"bastion"} == {host.name for host in plan.hosts}
    for host in plan.hosts:
        machine = found.machines[host.name]
        feet = [f for f in host.interfaces if f.address is not None]
        assert machine.type == host.instance.type
        assert machine.market == host.market
        assert machine.addresses == tuple(str(foot.address) for foot in feet)
        if not preview:
            assert machine.subnets == tuple(foot.subnet for foot in feet)


@all_examples
def test_ansible_goes_to_the_address_of_the_first_interface(base: str, run: Run) -> None:
    _, graph = run(base)
    hosts = graph.outputs["inventory"]["hosts"]
    machines = seen(graph).machines
    assert {name: values["ansible_host"] for name, values in hosts.items()} == {
        name: machine.addresses[0] for name, machine in machines.items() if name != "bastion"
    }


@all_examples
def test_subnets_are_the_plans(base: str, run: Run) -> None:
    plan, graph = run(base)
    assert seen(graph).subnets == {s.name: str(s.network) for s in plan.subnets}


@with_bastion
def test_storage_has_a_foot_in_every_zone(base: str, run: Run) -> None:
    plan, graph = run(base)
    for host in plan.hosts_of(Role.STORAGE):
        assert seen(graph).machines[host.name].subnets == ("storage", "zone-a", "zone-b")


@all_examples
def test_names_resolve_to_the_plans_addresses(base: str, run: Run) -> None:
    plan, graph = run(base)
    assert seen(graph).names == {
        f"{name}.{plan.domain}": (str(address),)
        for host in plan.hosts
        for name, address in host.names.items()
    }


@both_ways
@with_bastion
def test_only_the_given_networks_reach_the_bastion_and_nothing_else(
    base: str, preview: bool, run: Run
) -> None:
    cidrs = ["192.0.2.0/24", "198.51.100.7/32"]
    _, graph = run(base, {"replica.access.cidrs": cidrs}, preview=preview)
    assert seen(graph).let_in == {("bastion", 22, cidr) for cidr in cidrs}


@both_ways
@all_examples
def test_nobody_is_let_in_from_everywhere(base: str, preview: bool, run: Run) -> None:
    plan, graph = run(base, preview=preview)
    given = set(plan.intent.access.cidrs)
    assert {source for _, _, source in seen(graph).let_in} <= given


@all_examples
def test_no_host_but_the_bastion_has_a_public_address(base: str, run: Run) -> None:
    plan, graph = run(base)
    assert seen(graph).public == ({"bastion"} if plan.bastion is not None else set())


@both_ways
@all_examples
def test_every_disk_is_encrypted_and_goes_with_its_host(base: str, preview: bool, run: Run) -> None:
    _, graph = run(base, preview=preview)
    for name, machine in seen(graph).machines.items():
        assert machine.encrypted, name
        assert machine.disk_goes, name


@all_examples
def test_at_the_end_every_machine_is_stopped_and_until_then_watched(base: str, run: Run) -> None:
    plan, graph = run(base)
    found = seen(graph)
    assert found.ends_at == plan.expires
    bastion = {"bastion"} if plan.bastion is not None else set[str]()
    assert found.ended == found.alarms == {host.name for host in plan.hosts} | bastion


@with_bastion
def test_a_later_end_replaces_no_machine(base: str, run: Run) -> None:
    """`replica-up` sets a later end whenever it runs; only tags may follow from it."""
    before, after = (
        seen(run(base, changes)[1]).lasting for changes in ({}, {"expires": "2030-03-01T18:00:00Z"})
    )
    assert before
    assert before == after


@all_examples
def test_a_host_starts_with_its_name_and_the_ways_its_answers_take(base: str, run: Run) -> None:
    plan, graph = run(base)
    for host in plan.hosts:
        told = first_start(seen(graph).machines[host.name].user_data)
        assert (told["hostname"], told["fqdn"]) == (host.name, f"{host.name}.{plan.domain}")
        assert told["manage_etc_hosts"] is False
        routes = route_files(plan, host)
        written = {file["path"]: file["content"] for file in told["write_files"]}
        assert routes.items() <= written.items()
        assert any("replica-routes" in path for path in written) is bool(routes)
        started = [call[-1] for call in told["runcmd"] if call[:2] == ["systemctl", "enable"]]
        assert started == [*(["replica-routes.service"] if routes else []), "replica-end.timer"]


def first_start(user_data: str) -> dict[str, Any]:
    """Return what cloud-init is told."""
    text = base64.b64decode(user_data).decode()
    assert text.startswith("#cloud-config\n")
    assert len(text) < 16_384, "AWS takes 16 KiB"
    told: dict[str, Any] = yaml.safe_load(text)
    return told


@all_examples
def test_every_machine_ends_itself_by_a_timer(base: str, run: Run) -> None:
    plan, graph = run(base)
    for name, machine in seen(graph).machines.items():
        told = first_start(machine.user_data)
        assert ["systemctl", "enable", "--now", "replica-end.timer"] in told["runcmd"], name
        files = {file["path"]: file for file in told["write_files"]}
        program = files["/usr/local/sbin/replica-end"]
        assert program["permissions"] == "0755"
        assert program["content"] == (PULUMI / "infra" / "replica_end.py").read_text()
        service = files["/etc/systemd/system/replica-end.service"]["content"]
        assert f"ExecStart=/usr/local/sbin/replica-end {plan.intent.provider}\n" in service
        timer = files["/etc/systemd/system/replica-end.timer"]["content"]
        assert "OnBootSec=5min\nOnUnitInactiveSec=5min\n" in timer
        assert plan.expires is not None
        assert plan.expires not in str(told), "a later end would replace the machine"


@both_ways
@all_examples
def test_a_replacement_is_made_once_the_old_one_is_gone(base: str, preview: bool, run: Run) -> None:
    """Names and addresses are fixed: made first, the new one would collide with the old."""
    _, graph = run(base, preview=preview)
    for found in graph.resources:
        if found.custom and "providers" not in found.kind:
            assert found.delete_first, found.urn


@both_ways
@all_examples
def test_the_end_is_there_before_the_first_machine(base: str, preview: bool, run: Run) -> None:
    """A run that is refused a machine, or is interrupted, leaves none without an end."""
    _, graph = run(base, preview=preview)
    end = next(f for f in graph.resources if f.kind == "fireflyer:replica:Stop")
    parts = {f.urn for f in graph.resources if f.parent == end.urn}
    assert len(parts) >= 6
    machines = [f for f in graph.resources if f.kind in MACHINES]
    assert len(machines) == len(seen(graph).machines)
    for machine in machines:
        assert parts <= graph.before(machine), machine.name
    for found in graph.resources:
        if found.urn in parts:
            assert not graph.before(found) & {machine.urn for machine in machines}, found.urn


def test_both_providers_have_an_example() -> None:
    assert set(PROVIDERS.values()) == {"aws", "azure"}


@with_bastion
def test_a_set_for_each_zone_holds_its_compute_nodes_alone(base: str, run: Run) -> None:
    plan, graph = run(base)
    found: Seen = seen(graph)
    for host in plan.hosts:
        group = found.machines[host.name].group
        if host.role is Role.COMPUTE:
            assert group == f"{plan.site}-{plan.name}-zone-{host.zone}"
        else:
            assert group is None
