"""Preflight's questions, put over HTTP to a stand-in of Azure's management interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.replica import fake_arm
from tests.stacks import READY, make_stack

from fireflyer.design.replica import plan_replica
from fireflyer.errors import OperatingError
from fireflyer.load.replica import load_replica
from fireflyer.model.provider_facts import ProviderFacts, Quota
from fireflyer.model.replica_plan import ReplicaPlan
from fireflyer.verify.replica import preflight
from infra.azure import ask as asking

ONE_GPU = {
    "replica.compute.instance": "Standard_NC24ads_A100_v4",
    "replica.zone": "1",
    "replica.placement": {"kind": "reservation", "reservation": fake_arm.GROUP},
}


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the subscription."""
    monkeypatch.setenv(asking.SUBSCRIPTION, fake_arm.SUBSCRIPTION)


def plan(folder: Path, changes: dict[str, Any] | None = None) -> ReplicaPlan:
    image = {"publisher": "ours", "offer": "debian-12-gpu", "sku": "gen2", "version": "1.2.3"}
    found = {**READY, "replica.image": image, **(changes or {})}
    file = make_stack(folder, "infiniband", found)
    return plan_replica(load_replica(file))


def ask(wanted: ReplicaPlan, there: dict[str, Any]) -> ProviderFacts:
    with fake_arm.serve(there) as endpoint:
        get = asking.over_network(endpoint, fake_arm.SIGN)
        facts: ProviderFacts = asking.ask(wanted, get, lambda types, region: {types[-1]: 28.0})
    return facts


def problems(wanted: ReplicaPlan, facts: ProviderFacts) -> list[str]:
    return [str(check.problem) for check in preflight(wanted, facts) if check.problem]


def test_what_is_there_passes(tmp_path: Path) -> None:
    wanted = plan(tmp_path)
    facts = ask(wanted, fake_arm.objects())
    assert problems(wanted, facts) == []
    types = {"Standard_ND96asr_v4", "Standard_L8s_v3", "Standard_D4s_v5", "Standard_B2s"}
    assert facts.offered == types
    assert facts.encrypts == frozenset(types)
    assert facts.account == fake_arm.SUBSCRIPTION
    assert facts.zones == {"none", "1", "2", "3"}
    # Azure's letters of a family are not always the catalogue's.
    assert facts.quotas["Standard NDASv4_A100 Family"] == Quota(vcpus=500, used=10)
    assert facts.quotas["cores"] == Quota(vcpus=1000, used=40)
    assert facts.usd_per_hour == {"Standard_ND96asr_v4": 28.0}
    assert [image.id for image in facts.images] == ["ours:debian-12-gpu:gen2:1.2.3"]


def test_the_quota_of_the_region_counts_every_family(tmp_path: Path) -> None:
    there = fake_arm.objects()
    there[f"{fake_arm.PLACE}/usages"]["value"][-1] = fake_arm.usage("cores", 400, 20)
    wanted = plan(tmp_path)
    (problem,) = problems(wanted, ask(wanted, there))
    vcpus = 4 * 96 + 8 + 4 + 2
    assert f"quota cores has 380 free, 400 in all; {vcpus} vCPU are needed" in problem


@pytest.mark.parametrize(
    ("zone", "restriction", "offered"),
    [
        ("none", {"type": "Location", "reasonCode": "NotAvailableForSubscription"}, False),
        ("none", {"type": "Zone", "restrictionInfo": {"zones": ["1"]}}, True),
        ("1", {"type": "Zone", "restrictionInfo": {"zones": ["1"]}}, False),
        ("2", {"type": "Zone", "restrictionInfo": {"zones": ["1"]}}, True),
        ("3", {"type": "Zone", "restrictionInfo": {"zones": ["1"]}}, False),  # has 1 and 2 alone
    ],
)
def test_a_size_is_offered_where_it_is_not_restricted(
    zone: str, restriction: dict[str, Any], offered: bool, tmp_path: Path
) -> None:
    kind = "cluster" if zone == "none" else "none"
    changes: dict[str, Any] = {
        "replica.compute.instance": "Standard_NC24ads_A100_v4",
        "replica.zone": zone,
        "replica.placement": {"kind": kind},
    }
    there = fake_arm.objects()
    there[f"{fake_arm.COMPUTE}/skus"]["value"][-1] = fake_arm.sku(
        "Standard_NC24ads_A100_v4", ("1", "2"), restrictions=[restriction]
    )
    wanted = plan(tmp_path, changes)
    facts = ask(wanted, there)
    assert ("Standard_NC24ads_A100_v4" in facts.offered) is offered
    said = [problem for problem in problems(wanted, facts) if "does not have it" in problem]
    assert bool(said) is not offered


def test_the_reservation_of_the_size_and_zone_is_read(tmp_path: Path) -> None:
    wanted = plan(tmp_path, ONE_GPU)
    facts = ask(wanted, fake_arm.objects())
    found = facts.reservation
    assert found is not None
    assert (found.instance, found.zone, found.free) == ("Standard_NC24ads_A100_v4", "1", 4)
    assert problems(wanted, facts) == []


def test_a_reservation_that_is_not_there(tmp_path: Path) -> None:
    there = fake_arm.objects()
    del there[f"{fake_arm.GROUP}/capacityReservations"]
    wanted = plan(tmp_path, ONE_GPU)
    (problem,) = problems(wanted, ask(wanted, there))
    assert "has no such reservation in eastus; correct the id" in problem


def test_an_image_that_is_gone_and_one_of_the_first_generation(tmp_path: Path) -> None:
    there = fake_arm.objects()
    wanted = plan(tmp_path)
    there[fake_arm.IMAGE]["properties"]["hyperVGeneration"] = "V1"
    (problem,) = problems(wanted, ask(wanted, there))
    assert "is of the first generation" in problem
    del there[fake_arm.IMAGE]
    (problem,) = problems(wanted, ask(wanted, there))
    assert "no images in eastus fit" in problem


def test_a_version_in_a_gallery_is_asked_for_with_its_image(tmp_path: Path) -> None:
    image = f"/subscriptions/{fake_arm.SUBSCRIPTION}/resourceGroups/ours/providers"
    image += "/Microsoft.Compute/galleries/ours/images/debian-12-gpu"
    there = fake_arm.objects()
    there[image] = {"properties": {"architecture": "x64", "hyperVGeneration": "V2"}}
    wanted = plan(tmp_path, {"replica.image": {"id": f"{image}/versions/1.0.0"}})
    assert ask(wanted, there).images == ()
    there[f"{image}/versions/1.0.0"] = {"properties": {}}
    assert [found.generation for found in ask(wanted, there).images] == [2]


@pytest.mark.parametrize("state", ["NotRegistered", None])
def test_a_subscription_without_encryption_at_the_host(state: str | None, tmp_path: Path) -> None:
    there = fake_arm.objects()
    if state is None:
        del there[fake_arm.FEATURE]
    else:
        there[fake_arm.FEATURE]["properties"]["state"] = state
    wanted = plan(tmp_path)
    found = problems(wanted, ask(wanted, there))
    assert len(found) == 4  # one for each type
    assert all("register Microsoft.Compute/EncryptionAtHost" in problem for problem in found)


def test_who_may_not_read_is_told_what_to_give(tmp_path: Path) -> None:
    there = fake_arm.objects()
    there[f"{fake_arm.PLACE}/usages"] = 403
    with pytest.raises(OperatingError) as refused:
        ask(plan(tmp_path), there)
    assert str(refused.value) == (
        "Azure cannot be asked: (AuthorizationFailed) no; log in by `az login`, or set"
        " ARM_TENANT_ID, ARM_CLIENT_ID, ARM_CLIENT_SECRET of who may read"
        " (docs/replica.md has the actions)"
    )


def test_without_a_subscription_nobody_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(asking.SUBSCRIPTION)
    with pytest.raises(OperatingError, match="set ARM_SUBSCRIPTION_ID to your subscription"):
        asking.ask(plan(tmp_path))


def test_without_credentials_it_says_what_to_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in asking.CLIENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))  # no `az` either
    with pytest.raises(OperatingError, match=r"Azure cannot be asked: .*; log in by `az login`"):
        asking.ask(plan(tmp_path))


def test_what_the_replica_has_already_keeps_nothing_from_being_made(tmp_path: Path) -> None:
    """Another group's machines count, in the quotas and in the reservation; its own do not."""
    wanted = plan(tmp_path, ONE_GPU)
    there = fake_arm.objects()
    group = f"/subscriptions/{fake_arm.SUBSCRIPTION}/resourceGroups/Fire-Flyer-2-infiniband"
    machines = f"{group}/providers/Microsoft.Compute/virtualMachines"
    own = [{"id": f"{machines}/a-cn000{number}"} for number in (1, 2)]
    reserved = there[f"{fake_arm.GROUP}/capacityReservations"]["value"][-1]
    reserved["properties"]["virtualMachinesAssociated"] += own
    there[machines.replace("Fire-Flyer", "fire-flyer")] = {
        "value": [
            {"properties": {"hardwareProfile": {"vmSize": size}}}
            for size in ("Standard_NC24ads_A100_v4", "Standard_L8s_v3", "Standard_F2")
        ]
    }
    facts = ask(wanted, there)
    assert facts.reservation is not None
    assert facts.reservation.free == 4
    assert facts.quotas["standardLSv3Family"].used == 10 - 8
    assert facts.quotas["cores"].used == 40 - 24 - 8
    assert problems(wanted, facts) == []
