"""Faults put into the lab's links are found, and named as what they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireflyer.model.fabric import Fabric
from fireflyer.verify.cabling import End, SeenLink, cabling_findings, planned_end


@pytest.fixture
def links(lab: Fabric) -> list[SeenLink]:
    """Return the links as they should be."""
    return [
        SeenLink(
            planned_end(lab, cable.a),
            planned_end(lab, cable.z),
            str(cable.a),
            str(cable.z),
            "4xHDR",
        )
        for cable in lab.cables
    ]


def find(links: list[SeenLink], name: str) -> int:
    return next(index for index, link in enumerate(links) if link.a_name == name)


def test_the_plan_itself_has_no_findings(lab: Fabric, links: list[SeenLink]) -> None:
    turned = [replace(n, a=n.z, z=n.a, a_name=n.z_name, z_name=n.a_name) for n in links]
    assert cabling_findings(lab, links) == ()
    assert cabling_findings(lab, turned) == ()


def test_a_missing_link(lab: Fabric, links: list[SeenLink]) -> None:
    del links[find(links, "a-leaf01/5")]
    (found,) = cabling_findings(lab, links)
    assert found.message == "no link between a-leaf01 IB1/5 to a-spine01 IB1/1"
    assert found.remedy == (
        "check the cable at a-r01-01 U03 a-leaf01 IB1/5 and a-r01-01 U01 a-spine01 IB1/1"
    )


@pytest.mark.parametrize(
    ("one", "two"), [("a-cn0001/1", "b-cn0002/1"), ("a-leaf01/5", "a-leaf02/8")]
)
def test_two_crossed_cables_are_one_finding(
    lab: Fabric, links: list[SeenLink], one: str, two: str
) -> None:
    i, j = find(links, one), find(links, two)
    links[i], links[j] = replace(links[i], z=links[j].z), replace(links[j], z=links[i].z)
    (found,) = cabling_findings(lab, links)
    names = sorted([one.replace("/", ":"), two.replace("/", ":")])
    assert found.subject == " and ".join(names)
    assert found.message.startswith("the cables are crossed: planned ")
    assert found.remedy.startswith("swap their ends at ")


def test_a_cable_in_the_wrong_port(lab: Fabric, links: list[SeenLink]) -> None:
    index = find(links, "a-cn0001/1")
    free = End(links[index].z.guid, 2)
    links[index] = replace(links[index], z=free)
    (found,) = cabling_findings(lab, links)
    assert found.subject == "a-cn0001:1"
    assert "but a-cn0001/1 leads to" in found.message
    assert found.remedy == "move it to a-r01-01 U03 a-leaf01 IB1/1"


def test_an_exchanged_adapter(lab: Fabric, links: list[SeenLink]) -> None:
    """A spare adapter has a GUID that the plan does not know."""
    index = find(links, "a-cn0001/1")
    spare = End(0x0C42A10300ABCDEF, 1)
    links[index] = replace(links[index], a=spare, a_name="a-cn0001 mlx5_0")
    (found,) = cabling_findings(lab, links)
    assert "a-leaf01/1 leads to a-cn0001 mlx5_0 0x0c42a10300abcdef" in found.message


def test_a_link_that_is_not_planned(lab: Fabric, links: list[SeenLink]) -> None:
    guid = lab.switch["a-leaf01"].guid.value
    loop = SeenLink(End(guid, 2), End(guid, 3), "a-leaf01", "a-leaf01", "4xHDR")
    (found,) = cabling_findings(lab, [*links, loop])
    assert "which is not planned" in found.message


def test_a_slow_link(lab: Fabric, links: list[SeenLink]) -> None:
    index = find(links, "st001/1")
    links[index] = replace(links[index], rate="4xSDR")
    (found,) = cabling_findings(lab, links)
    assert found.message == "the link is up at 4xSDR, planned 4xHDR"
