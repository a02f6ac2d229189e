"""Headroom that is too short, buffers that do not fit and uneven marking are found in the files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import REPO
from tests.switches import MARKED, lab_roce, rendered

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.hardware import System
from fireflyer.prove.switches import marking, sonic_buffers

Tables = dict[str, dict[str, dict[str, str]]]


def test_a_whole_site_as_rendered(tmp_path: Path) -> None:
    fabric = design(load_site(REPO / "inventory" / "fire-flyer-roce"))
    done = sonic_buffers.check(fabric, rendered(fabric, tmp_path))
    assert (done.files, done.findings) == (len(fabric.switches), ())


def without_wasted_cells(tables: Tables) -> None:
    """Size headroom as this project did before: whole cells of the bytes alone."""
    for profile in tables["BUFFER_PROFILE"].values():
        if "xoff" in profile:
            profile["xoff"] = "83952"


def short(tables: Tables) -> None:
    row = next(row for row in tables["BUFFER_PROFILE"].values() if "xoff" in row)
    row["size"] = row["xoff"]


@pytest.mark.parametrize(
    ("edit", "said", "count"),
    [
        (without_wasted_cells, "has 83952 bytes of headroom, packets of 64 bytes on", 6),
        (short, "less than xon and xoff", 1),
        (
            lambda t: t["BUFFER_POOL"]["ingress_lossless_pool"].update(size="16777216"),
            "BUFFER_POOL ingress_lossless_pool has 16,777,216 bytes beside ",
            1,
        ),
        (
            lambda t: t["BUFFER_POOL"]["egress_lossless_pool"].update(size="16777217"),
            "BUFFER_POOL egress_lossless_pool has 16,777,217 bytes beside 0 that are reserved",
            1,
        ),
        (
            lambda t: t["BUFFER_POOL"]["egress_lossy_pool"].update(size="-1"),
            "BUFFER_POOL egress_lossy_pool has -1 bytes",
            1,
        ),
        (
            lambda t: t["BUFFER_PG"].pop("Ethernet0|1-3"),
            "Ethernet0 has PFC or headroom, not both, on priority 1",
            1,
        ),
        (
            lambda t: t["PORT_QOS_MAP"]["Ethernet0"].update(pfc_enable="1,2"),
            "Ethernet0 has PFC or headroom, not both, on priority 3",
            1,
        ),
        (lambda t: t.pop("BUFFER_PROFILE"), "cannot be read: KeyError: 'BUFFER_PROFILE'", 1),
    ],
)
def test_buffers_that_do_not_hold_are_found(
    edit: Callable[[Tables], Any], said: str, count: int, tmp_path: Path
) -> None:
    fabric = lab_roce(tmp_path, "sonic")
    tree = rendered(fabric, tmp_path)
    file = tree / "sonic" / "a-leaf01.json"
    tables = json.loads(file.read_text())
    edit(tables)
    file.write_text(json.dumps(tables))
    found = sonic_buffers.check(fabric, tree).findings
    assert {finding.subject for finding in found} == {"sonic/a-leaf01.json"}
    assert sum(said in finding.message for finding in found) >= count


@pytest.mark.parametrize(
    ("system", "name", "old"),
    [
        ("sonic", "a-leaf01.json", '"green_min_threshold": "150000"'),
        ("nvue", "a-leaf01.yaml", "min-threshold: 150000"),
        ("eos", "a-leaf01.cfg", "minimum-threshold 150000 bytes"),
    ],
)
def test_a_switch_that_marks_otherwise_is_found(
    system: System, name: str, old: str, tmp_path: Path
) -> None:
    fabric = lab_roce(tmp_path, system, MARKED)
    tree = rendered(fabric, tmp_path)
    done = marking.check(system, fabric, tree)
    assert (done.files, done.findings) == (len(fabric.switches), ())
    file = tree / system / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, old.replace("150000", "151000")))
    (finding,) = marking.check(system, fabric, tree).findings
    others = len(fabric.switches) - 1
    assert finding.subject == f"{system}/{name}"
    assert finding.message == (
        "ECN thresholds in bytes are min 151,000, max 1,500,000,"
        f" {others} other switches have min 150,000, max 1,500,000"
    )


def test_no_marking_is_alike_too(tmp_path: Path) -> None:
    fabric = lab_roce(tmp_path, "eos")
    assert not marking.check("eos", fabric, rendered(fabric, tmp_path)).findings
