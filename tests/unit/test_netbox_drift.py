"""NetBox's release and its drift: refused, reported or updated, with the row named."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.unit.fake_netbox import TOKEN, FakeNetbox, running

from fireflyer.errors import OperatingError
from fireflyer.model.fabric import Fabric
from fireflyer.netbox.export import export
from fireflyer.netbox.report import as_text


@pytest.fixture
def netbox() -> Iterator[tuple[FakeNetbox, str]]:
    with running() as found:
        yield found


def types(server: FakeNetbox) -> set[str]:
    return {found["type"] for found in server.objects["dcim/interfaces"].values()}


def test_a_release_without_mac_addresses_is_refused(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    server.version = "4.1.11"
    with pytest.raises(OperatingError, match=r"is 4\.1\.11: it must be 4\.2 or newer"):
        export(lab, url, TOKEN)


@pytest.mark.parametrize(
    ("version", "type_"),
    [
        ("4.2.0", "infiniband-hdr"),
        ("4.6.8-Docker-3.4.1", "infiniband-hdr"),
        ("4.6.9", "infiniband-hdr-4x"),
    ],
)
def test_interface_types_are_those_of_the_release(
    lab: Fabric, netbox: tuple[FakeNetbox, str], version: str, type_: str
) -> None:
    server, url = netbox
    server.version = version
    export(lab, url, TOKEN, apply=True)
    assert types(server) == {type_, "1000base-t", "virtual"}
    assert export(lab, url, TOKEN).changes == ()


def test_a_type_that_no_mapping_knows_is_refused_before_anything_is_written(
    lab: Fabric, netbox: tuple[FakeNetbox, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, url = netbox
    monkeypatch.setattr(server, "choices", lambda name, field: {"virtual"})
    for apply in (False, True):
        with pytest.raises(OperatingError) as caught:
            export(lab, url, TOKEN, apply=apply)
        text = str(caught.value)
        assert "nothing was written" in text
        assert "site/06-interfaces.csv: a-spine01 IB1/1: type infiniband-hdr-4x is unknown" in text
        assert "{" not in text
    assert server.writes == 0


def test_a_token_that_may_not_create_is_refused_in_the_dry_run(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    server.read_only = {"dcim/cables"}
    with pytest.raises(OperatingError, match=r"10-cables\.csv: the token may not create"):
        export(lab, url, TOKEN)


@pytest.mark.parametrize("version", ["4.6.8", "4.7.3"])
@pytest.mark.parametrize(
    ("endpoint", "broken", "named"),
    [
        ("dcim/interfaces", "a-leaf02 IB1/3", r"site/06-interfaces\.csv: a-leaf02 IB1/3: no luck"),
        ("dcim/devices", "a-leaf02", r"site/05-devices\.csv: a-leaf02: .*no luck"),
    ],
)
def test_a_refused_row_is_named(
    lab: Fabric,
    netbox: tuple[FakeNetbox, str],
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    endpoint: str,
    broken: str,
    named: str,
) -> None:
    server, url = netbox
    server.version = version
    right = server.wrong

    def wrong(name: str, body: dict[str, object]) -> dict[str, list[str]]:
        device = server.objects["dcim/devices"].get(body.get("device", 0))  # type: ignore[call-overload]
        text = f"{device['name']} {body['name']}" if device else body.get("name")
        return {"name": ["no luck"]} if (name, text) == (endpoint, broken) else right(name, body)

    monkeypatch.setattr(server, "wrong", wrong)
    with pytest.raises(OperatingError) as caught:
        export(lab, url, TOKEN, apply=True)
    assert re.search(named.replace(": no", ": name: no"), str(caught.value)), caught.value
    assert len(str(caught.value).splitlines()) == 1


def test_drift_is_reported_field_by_field_and_left(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    export(lab, url, TOKEN, apply=True)
    number = len(lab.cables)
    for cable in server.objects["dcim/cables"].values():
        cable["length"] = 99.0
    server.objects["dcim/devices"][1]["rack"] = (
        2 if server.objects["dcim/devices"][1]["rack"] == 1 else 1
    )
    server.objects["dcim/interfaces"][3]["label"] = "by hand"  # the plan says nothing of it
    server.objects["dcim/cables"][1]["status"] = "connected"  # work goes on
    writes = server.writes
    result = export(lab, url, TOKEN, apply=True)
    assert server.writes == writes
    differing = {count.name: count.differing for count in result.counts if count.differing}
    assert differing == {"devices": 1, "cables": number}
    text = as_text(result, apply=True, update=False)
    wanted = f"{lab.cables[0].length_m:g}"
    assert f"site/10-cables.csv: {lab.cables[0].id} (" in text
    assert f": length is 99, planned {wanted}" in text
    assert "site/05-devices.csv: a-spine01: rack is" in text
    assert "--update sets what differs" in text


def test_update_changes_what_differs_and_nothing_else(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    export(lab, url, TOKEN, apply=True)
    cables = server.objects["dcim/cables"]
    cables[1] |= {"length": 99.0, "status": "connected", "comments": "tested"}
    removed = cables.pop(2)
    for side in "ab":
        server.objects["dcim/interfaces"][removed[f"{side}_terminations"][0]["object_id"]][
            "cable"
        ] = None
    result = export(lab, url, TOKEN, update=True)
    assert len(result.changes) == 1
    assert (cables[1]["length"], cables[1]["status"], cables[1]["comments"]) == (
        lab.cables[0].length_m,
        "connected",
        "tested",
    )
    assert 2 not in cables  # created by --apply alone
    assert export(lab, url, TOKEN).changes == ()


def test_objects_that_are_known_by_name_or_slug_are_used(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    server.objects["dcim/manufacturers"][7] = {"id": 7, "name": "GENERIC", "slug": "generic"}
    server.objects["dcim/device-roles"][9] = {"id": 9, "name": "leaf", "slug": "leaf-switch"}
    export(lab, url, TOKEN, apply=True)
    assert set(server.objects["dcim/manufacturers"]) == {7}
    roles = {device["role"] for device in server.objects["dcim/devices"].values()}
    assert 9 in roles


def test_a_unit_that_another_device_stands_in_is_refused(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    export(lab, url, TOKEN, apply=True)
    first = server.objects["dcim/devices"][1]
    first["name"] = "by-hand"
    with pytest.raises(OperatingError, match=r"a-spine01: a-r01-02 U1 is taken by by-hand"):
        export(lab, url, TOKEN)
