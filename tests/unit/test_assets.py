"""Real GUIDs come from the asset list; invented ones say so wherever they are printed."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from tests.conftest import MakeSite

from fireflyer.design import design
from fireflyer.errors import IntentError
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.render import artefacts

ROWS = """name,serial,guid,mac,bmc_mac
a-cn0001,SN1,0x0c42a10300abcd01,0c:42:a1:ab:cd:01,0c-42-a1-ff-00-01
st001,SN2,0c42a10300abcd02,,
st001:mlx5_1,,0c42:a103:00ab:cd03,,
a-leaf01,SW1,0xb8599f0300000001,,
"""


def with_assets(make_site: MakeSite) -> Fabric:
    site = make_site("lab")
    (site / "assets.csv").write_text(ROWS)
    return design(load_site(site))


def test_assets_replace_placeholders(make_site: MakeSite) -> None:
    fabric = with_assets(make_site)
    compute = fabric.node["a-cn0001"]
    assert (str(compute.ports[0].guid), compute.ports[0].guid.placeholder) == (
        "0x0c42a10300abcd01",
        False,
    )
    assert (compute.serial, compute.mac) == ("SN1", "0c:42:a1:ab:cd:01")
    assert compute.bmc_mac == "0c:42:a1:ff:00:01"
    assert [str(port.guid) for port in fabric.node["st001"].ports] == [
        "0x0c42a10300abcd02",
        "0x0c42a10300abcd03",
    ]
    assert fabric.switch["a-leaf01"].guid.value == 0xB8599F0300000001


def test_every_placeholder_is_marked_in_every_artefact(make_site: MakeSite) -> None:
    fabric = with_assets(make_site)
    invented = {str(p.guid) for p in fabric.node_port.values() if p.guid.placeholder}
    invented |= {str(s.guid) for s in fabric.switches if s.guid.placeholder}
    real = {str(p.guid) for p in fabric.node_port.values()} | {str(s.guid) for s in fabric.switches}
    real -= invented
    assert len(real) == 4
    files = artefacts(fabric)
    seen: dict[str, int] = {}
    for path, text in files.items():
        if path == "cabling/cables.csv":
            for row in csv.DictReader(io.StringIO(text)):
                for end in "az":
                    source = "placeholder" if row[f"{end}_guid"] in invented else "asset"
                    assert row[f"{end}_guid_source"] == source
            continue
        if path == "inventory/hosts.yml":
            text = text.replace("\\n", "\n")  # OpenSM's files are JSON strings there
        lines = text.splitlines()
        for number, line in enumerate(lines):
            for guid in invented | real:
                if guid in line:
                    seen[path] = seen.get(path, 0) + 1
                    about = lines[number - 1] + line if line.startswith("guid ") else line
                    marked = "placeholder" in about
                    if '"guid_placeholder"' in line:
                        marked = f'"{guid}", "guid_placeholder": true' in line
                    if path == "ibsim/fabric.net":
                        marked = "placeholder" in lines[number - 2]
                    assert marked == (guid in invented), (path, line)
    assert len(seen) >= 8


@pytest.mark.parametrize(
    ("field", "serial"),
    [
        ('"MT1,active"', "MT1,active"),
        ('"MT""1"', 'MT"1'),
        ("MT 1", "MT 1"),
        ("=MT1", "=MT1"),
        ("'MT1", "'MT1"),
        ("MT\u00e91", "MT\u00e91"),
    ],
)
def test_a_serial_that_would_break_a_list_is_refused(
    field: str, serial: str, make_site: MakeSite
) -> None:
    site = make_site("lab")
    (site / "assets.csv").write_text(f"name,serial,guid,mac,bmc_mac\na-leaf01,{field},,,\n")
    with pytest.raises(IntentError) as caught:
        load_site(site)
    assert str(caught.value).splitlines() == [
        f"{site / 'assets.csv'}:2: serial is {serial}: may have letters, digits and . _ / - alone;"
        " copy it from the label"
    ]


def test_serials_as_vendors_print_them(make_site: MakeSite) -> None:
    site = make_site("lab")
    rows = "a-leaf01,MT2039X00001,,,\na-leaf02,SN-12.3_A/4,,,\n"
    (site / "assets.csv").write_text(f"name,serial,guid,mac,bmc_mac\n{rows}")
    fabric = design(load_site(site))
    assert fabric.switch["a-leaf02"].serial == "SN-12.3_A/4"


def test_no_assets_is_no_error(make_site: MakeSite, tmp_path: Path) -> None:
    fabric = design(load_site(make_site("lab")))
    assert all(port.guid.placeholder for port in fabric.node_port.values())
