"""NetBox's import files: taken as they are, and every fault of a row found."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireflyer.model.fabric import Fabric
from fireflyer.prove.netbox import FORMS, netbox
from fireflyer.render import batches
from fireflyer.render.tree import write_tree


def quiet(step: str) -> None:
    """Show no progress."""


def rendered(fabric: Fabric, folder: Path) -> Path:
    write_tree(folder / "tree", "lab", batches(fabric, ("exports",)), ("exports",))
    return folder / "tree"


def test_every_file_has_a_form(lab: Fabric, tmp_path: Path) -> None:
    tree = rendered(lab, tmp_path)
    folder = tree / "exports" / "netbox"
    files = {str(file.relative_to(folder).with_suffix("")) for file in folder.glob("*/*.csv")}
    assert files <= set(FORMS)
    part = netbox(lab, tree, quiet)
    assert part.findings == ()
    assert part.data["rows"] == sum(
        len(file.read_text().splitlines()) - 1
        for file in (tree / "exports" / "netbox").glob("*/*.csv")
    )


@pytest.mark.parametrize(
    ("stem", "old", "new", "said"),
    [
        ("site/06-interfaces", "name,label,type", "name,label,kind", "lacks the column type"),
        ("site/10-cables", ",label,", ",labl,", "a column that the form does not know: labl"),
        ("site/06-interfaces", "infiniband-hdr-4x", "hdr", "type cannot be hdr"),
        ("site/10-cables", ",IB1/1,", ",IB1/99,", "IB1/99 is in no row of site/06-interfaces"),
        ("site/10-cables", "a-cn0002,", "a-cn0001,", "a-cn0001 mlx5_0 has two cables"),
        ("site/05-devices", ",a-r01-02,3,", ",a-r01-02,1,", "a-r01-02 1 front is on line 2"),
        ("site/05-devices", ",a-r01-02,3,", ",a-r01-02,60,", "a-r01-02 U60, which is none"),
        ("site/10-cables", ",a-cn0001:1,", ",a-cn0001:7,", "lacks a-cn0001:1"),
        ("site/10-cables", ",10,m", ",11,m", "length of a-cn0001:1 is 11, not 10"),
        ("site/05-devices", ",a-r01-02,3,", ",a-r01-02,9,", "position of a-spine02 is 9, not 3"),
        ("site/09-ip-addresses", "10.89.0.176/24", "10.89.0.99/24", "lacks a-spine01 10.89.0.176"),
        ("site/06-interfaces", ",200000000,", ",100000000,", "is 100000000, not 200000000"),
        ("site/06-interfaces", "a-leaf01,IB1/8,", "a-leaf01,IB1/9,", "lacks a-leaf01 IB1/8"),
        ("shared/01-manufacturers", "Generic,generic", ",generic", "has no name"),
    ],
)
def test_a_row_that_netbox_would_refuse(
    stem: str, old: str, new: str, said: str, lab: Fabric, tmp_path: Path
) -> None:
    tree = rendered(lab, tmp_path)
    file = tree / "exports" / "netbox" / f"{stem}.csv"
    text = file.read_text()
    assert old in text
    file.write_text(
        text.replace(old, new, 1) if stem != "site/06-interfaces" else text.replace(old, new)
    )
    found = [f.message for f in netbox(lab, tree, quiet).findings]
    assert any(said in message for message in found), found
