"""Nautobot's files: references resolve, ids are the site's own, NetBox's rows are all there."""

from __future__ import annotations

import csv
from pathlib import Path
from uuid import UUID

import pytest
from tests.conftest import MakeSite
from tests.sites import ETHERNET, PLANES

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.render.exports import files

Rows = dict[str, list[dict[str, str]]]


def sheets(fabric: Fabric) -> Rows:
    """Return Nautobot's rows by model; both files of locations under one."""
    found: Rows = {}
    for name, content in files(fabric):
        if name.startswith("nautobot/"):
            assert isinstance(content, str)
            model = Path(name).stem.partition("-")[2].partition("--")[0]
            found.setdefault(model, []).extend(csv.DictReader(content.splitlines(), strict=True))
    return found


@pytest.mark.parametrize("changes", [{}, ETHERNET, PLANES])
def test_references_resolve(make_site: MakeSite, changes: dict[str, object]) -> None:
    fabric = design(load_site(make_site("lab", changes)))
    found = sheets(fabric)
    names = {
        model: {row.get("name") or row.get("model") for row in found[model]} for model in found
    }
    ids = {model: {row["id"] for row in found[model] if "id" in row} for model in found}
    for model in found:
        assert len(ids[model]) in (0, len(found[model])), model
        for id_ in ids[model]:
            assert str(UUID(id_)) == id_
    for row in found["devices"]:
        assert row["device_type__model"] in names["device-types"]
        assert row["role__name"] in names["roles"]
        assert row["platform__name"] in {"NoObject"} | names.get("platforms", set())
        assert row["location"] in ids["locations"]
        assert row["rack"] in ids["racks"]
    assert {row["device"] for row in found["interfaces"]} == ids["devices"]
    for row in found["ip-address-to-interface"]:
        assert row["interface"] in ids["interfaces"]
        assert row["ip_address"] in ids["ip-addresses"]
    assert len(found["ip-address-to-interface"]) == len(found["ip-addresses"])
    assert {row["namespace__name"] for row in found["prefixes"]} == {fabric.intent.name}
    assert not any(row["type"].endswith("-4x") for row in found["interfaces"])


def test_two_sites_have_no_id_in_common(make_site: MakeSite) -> None:
    one = design(load_site(make_site("lab", {"cluster.name": "one"}, "one")))
    two = design(load_site(make_site("lab", {"cluster.name": "two"}, "two")))
    ids = [
        {row["id"] for rows in sheets(f).values() for row in rows if "id" in row}
        for f in (one, two)
    ]
    assert len(ids[0]) == len(ids[1]) > 0
    assert not ids[0] & ids[1]
    assert sheets(one) == sheets(design(load_site(make_site("lab", {"cluster.name": "one"}, "o"))))


def test_lengths_are_whole_numbers_of_the_same_length(lab: Fabric) -> None:
    per_metre = {"m": 1, "cm": 100}
    lengths = {
        row["label"]: int(row["length"]) / per_metre[row["length_unit"]]
        for row in sheets(lab)["cables"]
    }
    assert lengths == {cable.id: cable.length_m for cable in lab.cables}
