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
    files = {file.stem for file in (tree / "exports" / "netbox").glob("*.csv")}
    assert files == set(FORMS)
    part = netbox(lab, tree, quiet)
    assert part.findings == ()
    assert part.data["rows"] == sum(
        len(file.read_text().splitlines()) - 1
        for file in (tree / "exports" / "netbox").glob("*.csv")
    )


@pytest.mark.parametrize(
    ("stem", "old", "new", "said"),
    [
        ("08-interfaces", "name,label,type", "name,label,kind", "lacks the column type"),
        ("11-cables", ",label,", ",labl,", "a column that the form does not know: labl"),
        ("08-interfaces", "infiniband-hdr-4x", "hdr", "type cannot be hdr"),
        ("11-cables", ",IB1/1,", ",IB1/99,", "IB1/99 is in no row of 08-interfaces"),
        ("11-cables", "a-cn0002,", "a-cn0001,", "a-cn0001 mlx5_0 has two cables"),
        ("07-devices", ",a-r01-02,2,", ",a-r01-02,1,", "a-r01-02 1 front is on line 2"),
        ("07-devices", ",a-r01-02,2,", ",a-r01-02,60,", "a-r01-02 U60, which is none"),
        ("11-cables", ",a-cn0001:1,", ",a-cn0001:7,", "its cables are not the fabric's"),
        ("01-manufacturers", "Unnamed,unnamed", ",unnamed", "has no name"),
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
        text.replace(old, new, 1) if stem != "08-interfaces" else text.replace(old, new)
    )
    found = [f.message for f in netbox(lab, tree, quiet).findings]
    assert any(said in message for message in found), found
