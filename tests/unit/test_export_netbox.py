"""The fabric through NetBox's API, against a NetBox that is strict about its fields."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from tests.conftest import MakeSite
from tests.sites import ETHERNET, PLANES
from tests.unit.fake_netbox import TOKEN, FakeNetbox, running

from fireflyer.design import design
from fireflyer.errors import OperatingError
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.netbox.export import Export, export, token_of
from fireflyer.netbox.report import as_text


@pytest.fixture
def netbox() -> Iterator[tuple[FakeNetbox, str]]:
    with running() as found:
        yield found


def cables(netbox: FakeNetbox) -> list[list[str]]:
    """Return the ends of NetBox's cables as `device:interface`."""
    found = []
    for cable in netbox.objects["dcim/cables"].values():
        shown = netbox.shown("dcim/cables", cable)
        ends = [*shown["a_terminations"], *shown["b_terminations"]]
        names = [f"{e['object']['device']['name']}:{e['object']['name']}" for e in ends]
        found.append(sorted(names))
    return sorted(found)


def missing(result: Export) -> dict[str, int]:
    """Return how many objects are missing, of those kinds that miss any."""
    return {count.name: count.missing for count in result.counts if count.missing}


def planned(fabric: Fabric) -> list[list[str]]:
    return sorted(
        sorted(f"{end.device}:{fabric.port_name(end)}" for end in (cable.a, cable.z))
        for cable in fabric.cables
    )


def test_nothing_is_written_unless_asked(lab: Fabric, netbox: tuple[FakeNetbox, str]) -> None:
    server, url = netbox
    result = export(lab, url, TOKEN)
    assert server.writes == 0
    assert all(count.present == 0 for count in result.counts)
    assert sum(count.missing for count in result.counts) > len(lab.cables)
    assert "nothing was created" in as_text(result, apply=False, update=False)


def test_what_is_missing_is_created_and_then_left(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    first = export(lab, url, TOKEN, apply=True)
    assert cables(server) == planned(lab)
    assert len(server.objects["dcim/devices"]) == len(lab.switches) + len(lab.nodes)
    addresses = server.objects["ipam/ip-addresses"]
    for device in server.objects["dcim/devices"].values():
        named = lab.switch.get(device["name"]) or lab.node[device["name"]]
        assert addresses[device["primary_ip4"]]["address"] == f"{named.management}/24"
    writes = server.writes
    again = export(lab, url, TOKEN, apply=True)
    assert server.writes == writes
    assert again.changes == ()
    assert [(count.present, count.missing) for count in again.counts] == [
        (count.missing, 0) for count in first.counts
    ]


def test_a_cable_that_was_removed_is_found_missing(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    export(lab, url, TOKEN, apply=True)
    removed = server.objects["dcim/cables"].pop(1)
    for side in "ab":
        end = removed[f"{side}_terminations"][0]["object_id"]
        server.objects["dcim/interfaces"][end]["cable"] = None
    assert missing(export(lab, url, TOKEN)) == {"cables": 1}


@pytest.mark.parametrize("changes", [ETHERNET, PLANES])
def test_ethernet_and_planes(
    make_site: MakeSite, netbox: tuple[FakeNetbox, str], changes: dict[str, object]
) -> None:
    server, url = netbox
    fabric = design(load_site(make_site("lab", changes)))
    export(fabric, url, TOKEN, apply=True)
    assert len(cables(server)) == len(fabric.cables)


def test_a_port_with_another_cable_is_refused(lab: Fabric, netbox: tuple[FakeNetbox, str]) -> None:
    server, url = netbox
    export(lab, url, TOKEN, apply=True)
    one, two = server.objects["dcim/cables"][1], server.objects["dcim/cables"][2]
    one["b_terminations"], two["b_terminations"] = two["b_terminations"], one["b_terminations"]
    for number in (1, 2):
        end = server.objects["dcim/cables"][number]["b_terminations"][0]["object_id"]
        server.objects["dcim/interfaces"][end]["cable"] = number
    writes = server.writes
    for apply in (False, True):
        with pytest.raises(
            OperatingError, match=r"10-cables.csv: .* has another cable, a-cn0001:1"
        ):
            export(lab, url, TOKEN, apply=apply)
    assert server.writes == writes


def test_cables_that_are_not_the_fabrics_are_left(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    export(lab, url, TOKEN, apply=True)
    for kinds in (("dcim.powerport", "dcim.powerfeed"), ("circuits.circuittermination",) * 2):
        ends = [[{"object_type": kind, "object_id": 1}] for kind in kinds]
        number = max(server.objects["dcim/cables"]) + 1
        server.objects["dcim/cables"][number] = {
            "id": number,
            "a_terminations": ends[0],
            "b_terminations": ends[1],
        }
    assert missing(export(lab, url, TOKEN, apply=True)) == {}


@pytest.mark.parametrize("same_name", [True, False])
def test_another_sites_address_is_not_taken_for_ones_own(
    make_site: MakeSite, netbox: tuple[FakeNetbox, str], same_name: bool
) -> None:
    server, url = netbox
    fabric = design(load_site(make_site("lab")))
    export(fabric, url, TOKEN, apply=True)
    server.objects["dcim/sites"][1] |= {"name": "other", "slug": "other"}
    if not same_name:
        for device in server.objects["dcim/devices"].values():
            device["name"] = f"other-{device['name']}"
    first = fabric.switches[0]
    other = first.name if same_name else f"other-{first.name}"
    writes = server.writes
    with pytest.raises(
        OperatingError,
        match=f"/24 of {first.name} mgmt0 is in NetBox already, on {other} mgmt0: remove it",
    ):
        export(fabric, url, TOKEN)
    assert server.writes == writes


def test_an_address_of_a_vrf_is_another(lab: Fabric, netbox: tuple[FakeNetbox, str]) -> None:
    server, url = netbox
    address = f"{lab.switches[0].management}/24"
    server.objects["ipam/ip-addresses"][1] = {"id": 1, "address": address, "vrf": {"id": 1}}
    export(lab, url, TOKEN, apply=True)
    found = [o for o in server.objects["ipam/ip-addresses"].values() if o["address"] == address]
    assert len(found) == 2


def test_a_reserved_address_is_not_given_out(lab: Fabric, netbox: tuple[FakeNetbox, str]) -> None:
    server, url = netbox
    address = f"{lab.switches[0].management}/32"
    server.objects["ipam/ip-addresses"][1] = {"id": 1, "address": address}
    with pytest.raises(OperatingError, match="is in NetBox already, on no interface: remove"):
        export(lab, url, TOKEN)


def test_primary_addresses_that_a_lost_request_left_out_are_set(
    lab: Fabric, netbox: tuple[FakeNetbox, str]
) -> None:
    server, url = netbox
    server.refuses_changes = True
    with pytest.raises(
        OperatingError, match=r"failed on site/05-devices.csv: primary_ip4 of .*503"
    ):
        export(lab, url, TOKEN, apply=True)
    server.refuses_changes = False
    assert missing(export(lab, url, TOKEN)) == {"primary-ips": len(lab.switches) + len(lab.nodes)}
    export(lab, url, TOKEN, apply=True)
    assert all(device["primary_ip4"] for device in server.objects["dcim/devices"].values())


def test_a_wrong_token_is_said(lab: Fabric, netbox: tuple[FakeNetbox, str]) -> None:
    with pytest.raises(OperatingError, match=r"refused to show status: 403 Invalid token"):
        export(lab, netbox[1], "wrong")


def test_no_netbox_is_said(lab: Fabric) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(
            OperatingError, match=f"no answer from NetBox at http://127.0.0.1:{port}"
        ):
            export(lab, f"http://127.0.0.1:{port}", TOKEN)


def test_a_token_comes_from_the_environment() -> None:
    assert token_of({"NETBOX_TOKEN": "x"}, "https://netbox") == "x"
    with pytest.raises(OperatingError, match="NETBOX_TOKEN is not set"):
        token_of({}, "https://netbox")
