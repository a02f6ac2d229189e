"""Ports in configurations are those that the platform publishes, and other ones are found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import REPO, MakeSite
from tests.switches import lab_roce, rendered

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.prove.switches import port_table
from fireflyer.render import eos, sonic

ARISTA = {
    f"cluster.fabric.{layer}.model": "arista-7060dx5-64s"
    for layer in ("leaf", "spine", "interzone")
}
Tables = dict[str, dict[str, dict[str, str]]]


@pytest.fixture(scope="module")
def roce() -> Fabric:
    return design(load_site(REPO / "inventory" / "fire-flyer-roce"))


def one_file(fabric: Fabric, folder: Path, edit: Callable[[Tables], Any]) -> list[str]:
    """Return what is said of a tree with one edited file of SONiC."""
    name, text = next(iter(sonic.files(fabric)))
    tables = json.loads(text)
    edit(tables)
    (folder / "sonic").mkdir()
    (folder / "sonic" / name).write_text(json.dumps(tables))
    done = port_table.check("sonic", fabric, folder)
    assert done.files == 1
    assert {finding.subject for finding in done.findings} <= {f"sonic/{name}"}
    return [finding.message for finding in done.findings]


def test_every_switch_as_rendered(roce: Fabric, tmp_path: Path) -> None:
    done = port_table.check("sonic", roce, rendered(roce, tmp_path))
    assert (done.files, done.findings, done.notes) == (len(roce.switches), (), ())


def test_lanes_that_follow_one_another_are_found(roce: Fabric, tmp_path: Path) -> None:
    def packed(tables: Tables) -> None:
        for number, row in enumerate(tables["PORT"].values()):
            row["lanes"] = ",".join(str(lane) for lane in range(4 * number, 4 * number + 4))

    found = one_file(roce, tmp_path, packed)
    assert len(found) == 63
    assert found[0] == "lanes of Ethernet4: the platform has 8,9,10,11, the file 4,5,6,7"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            lambda t: t["PORT"]["Ethernet8"].update(alias="Ethernet8"),
            "alias of Ethernet8: the platform has etp3, the file Ethernet8",
        ),
        (
            lambda t: t["PORT"]["Ethernet8"].update(index="2"),
            "index of Ethernet8: the platform has 3, the file 2",
        ),
        (
            lambda t: t["PORT"]["Ethernet8"].pop("lanes"),
            "lanes of Ethernet8: the platform has 16,17,18,19, the file ",
        ),
        (
            lambda t: t["PORT"].update(Ethernet256=t["PORT"]["Ethernet8"]),
            "port Ethernet256: the platform has none",
        ),
        (
            lambda t: t["PORT"]["Ethernet8"].update(subport="1"),
            "subport of Ethernet8: the platform has 0, the file 1",
        ),
        (
            lambda t: t["DEVICE_METADATA"]["localhost"].update(hwsku="ACS-MSN4600C"),
            "hwsku: the port table is that of ACS-MSN4600, the file has ACS-MSN4600C",
        ),
        (lambda t: t.pop("PORT"), "has no ports that can be read: KeyError: 'PORT'"),
    ],
)
def test_a_port_of_another_platform_is_found(
    edit: Callable[[Tables], Any], said: str, roce: Fabric, tmp_path: Path
) -> None:
    assert one_file(roce, tmp_path, edit) == [said]


def test_names_on_eos(make_site: MakeSite, tmp_path: Path) -> None:
    changes = ARISTA | {"cluster.fabric.system": "eos"}
    fabric = design(load_site(make_site("fire-flyer-roce", changes)))
    name, text = next(iter(eos.files(fabric)))
    (tmp_path / "eos").mkdir()
    file = tmp_path / "eos" / name
    for old, new, said in (
        ("", "", []),
        ("interface Ethernet7/1\n", "interface Ethernet7\n", ["port Ethernet7: the platform has"]),
        ("interface Ethernet64/1\n", "interface Ethernet67/1\n", ["port Ethernet67/1: the pla"]),
    ):
        assert old in text
        file.write_text(text.replace(old, new))
        done = port_table.check("eos", fabric, tmp_path)
        assert done.files == 1
        assert [finding.message[: len(said[0])] for finding in done.findings] == said


def test_a_model_without_a_table_is_said(tmp_path: Path) -> None:
    fabric = lab_roce(tmp_path, "eos")
    done = port_table.check("eos", fabric, rendered(fabric, tmp_path))
    assert (done.files, done.findings) == (0, ())
    note = "no published port table for lab-8-roce with eos: its ports are not compared"
    assert done.notes == (note,)
