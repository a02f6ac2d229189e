"""Faults put into the lab's links are found, and named as what they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireflyer.model.fabric import Fabric, Port
from fireflyer.verify.cabling import (
    End,
    SeenLink,
    adapters_as_planned,
    cabling_findings,
    planned_end,
)


@pytest.fixture
def links(lab: Fabric) -> list[SeenLink]:
    """Return the links as they should be."""
    return [
        SeenLink(
            planned_end(lab, cable.a),
            planned_end(lab, cable.z),
            called(lab, cable.a),
            called(lab, cable.z),
            "4xHDR",
        )
        for cable in lab.cables
    ]


def called(lab: Fabric, port: Port) -> str:
    """Return what a device calls itself."""
    if port.device in lab.switch:
        return port.device
    return f"{port.device} {lab.port_name(port)}"


def swapped(link: SeenLink, other: SeenLink) -> SeenLink:
    """Return a link whose upper end is that of another."""
    return replace(link, z=other.z, z_name=other.z_name)


def find(lab: Fabric, name: str) -> int:
    """Return the number of the cable with this lower end."""
    return next(index for index, cable in enumerate(lab.cables) if str(cable.a) == name)


def test_the_plan_itself_has_no_findings(lab: Fabric, links: list[SeenLink]) -> None:
    turned = [replace(n, a=n.z, z=n.a, a_name=n.z_name, z_name=n.a_name) for n in links]
    assert cabling_findings(lab, links) == ()
    assert cabling_findings(lab, turned) == ()


def test_a_missing_link(lab: Fabric, links: list[SeenLink]) -> None:
    del links[find(lab, "a-leaf01/5")]
    (found,) = cabling_findings(lab, links)
    assert found.message == "no link between a-leaf01 IB1/5 and a-spine01 IB1/1"
    assert found.remedy == (
        "check the cable at a-r01-02 U04 a-leaf01 IB1/5 and a-r01-02 U01 a-spine01 IB1/1"
    )


@pytest.mark.parametrize(
    ("one", "two"), [("a-cn0001/1", "b-cn0002/1"), ("a-leaf01/5", "a-leaf02/8")]
)
def test_two_crossed_cables_are_one_finding(
    lab: Fabric, links: list[SeenLink], one: str, two: str
) -> None:
    i, j = find(lab, one), find(lab, two)
    links[i], links[j] = swapped(links[i], links[j]), swapped(links[j], links[i])
    (found,) = cabling_findings(lab, links)
    names = sorted([one.replace("/", ":"), two.replace("/", ":")])
    assert found.subject == " and ".join(names)
    assert found.message.startswith("the cables are crossed: planned ")
    assert found.remedy.startswith("swap their ends at ")


def test_a_cable_in_the_wrong_port_of_the_leaf(lab: Fabric, links: list[SeenLink]) -> None:
    index = find(lab, "a-cn0001/1")
    links[index] = replace(links[index], z=End(links[index].z.guid, 2), z_name="a-leaf01")
    (found,) = cabling_findings(lab, links)
    assert found.subject == "a-cn0001:1"
    assert "but a-cn0001 mlx5_0 leads to a-leaf01/2" in found.message
    assert found.remedy == "move the far end to a-r01-02 U04 a-leaf01 IB1/1"


def test_the_lower_end_of_an_uplink_astray(lab: Fabric, links: list[SeenLink]) -> None:
    """The spine's end is right; the leaf's end sits in a free port."""
    index = find(lab, "a-leaf01/5")
    links[index] = replace(links[index], a=End(links[index].a.guid, 2), a_name="a-leaf01")
    (found,) = cabling_findings(lab, links)
    assert found.remedy == "move the far end to a-r01-02 U04 a-leaf01 IB1/5"


def test_a_replaced_adapter(lab: Fabric, links: list[SeenLink]) -> None:
    """A spare adapter has a GUID that the plan does not know."""
    index = find(lab, "a-cn0001/1")
    spare = End(0x0C42A10300ABCDEF, 1)
    links[index] = replace(links[index], a=spare, a_name="a-cn0001 mlx5_0")
    (found,) = cabling_findings(lab, links)
    assert found.message == (
        "a-leaf01 IB1/1 leads to a-cn0001 mlx5_0, whose GUID 0x0c42a10300abcdef is not in the plan"
    )
    assert found.remedy == "if the device was replaced, put the GUID into assets.csv"
    assert not adapters_as_planned(lab, links)


def test_a_dead_switch_is_one_finding(lab: Fabric, links: list[SeenLink]) -> None:
    guid = lab.switch["b-spine02"].guid.value
    alive = [link for link in links if guid not in (link.a.guid, link.z.guid)]
    (found,) = cabling_findings(lab, alive)
    assert found.subject == "b-spine02"
    assert found.remedy == "check its power and its cables at b-r01-02 U03"


def test_a_dark_zone_is_one_finding(lab: Fabric, links: list[SeenLink]) -> None:
    """With the links between zones cut, a subnet manager in zone a sees nothing of zone b."""
    zone_b = {s.guid.value for s in lab.switches if s.tree == "b"}
    alive = [link for link in links if not zone_b & {link.a.guid, link.z.guid}]
    (found,) = cabling_findings(lab, alive)
    assert found.message.startswith("nothing is seen of 9 devices and their cables: b-cn0001")


def test_a_device_with_another_name(lab: Fabric, links: list[SeenLink]) -> None:
    guid = lab.switch["a-leaf01"].guid.value
    links = [
        replace(
            link,
            a_name="a-leaf09" if link.a.guid == guid else link.a_name,
            z_name="a-leaf09" if link.z.guid == guid else link.z_name,
        )
        for link in links
    ]
    (found,) = cabling_findings(lab, links)
    assert found.subject == "a-leaf01"
    assert "calls itself 'a-leaf09'" in found.message


def test_a_link_that_is_not_planned(lab: Fabric, links: list[SeenLink]) -> None:
    guid = lab.switch["a-leaf01"].guid.value
    loop = SeenLink(End(guid, 2), End(guid, 3), "a-leaf01", "a-leaf01", "4xHDR")
    (found,) = cabling_findings(lab, [*links, loop])
    assert "which is not planned" in found.message


def test_a_slow_link(lab: Fabric, links: list[SeenLink]) -> None:
    index = find(lab, "st001/1")
    links[index] = replace(links[index], rate="4xSDR")
    (found,) = cabling_findings(lab, links)
    assert found.message == "the link is up at 4xSDR, planned 4xHDR"
