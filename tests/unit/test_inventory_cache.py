"""The inventory that is kept is the one that would be designed now."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.conftest import MakeSite

from fireflyer.design import design
from fireflyer.errors import IntentError
from fireflyer.load import load_site
from fireflyer.render import inventory_cache
from fireflyer.render.inventory import inventory
from fireflyer.render.inventory_cache import cached_inventory


def fresh(site: Path) -> object:
    return json.loads(json.dumps(asdict(inventory(design(load_site(site))))))


def test_it_is_what_the_design_gives_the_first_time_and_the_second(
    make_site: MakeSite, tmp_path: Path
) -> None:
    site, cache = make_site("lab", {}), tmp_path / "cache"
    assert asdict(cached_inventory(site, cache)) == fresh(site)
    [kept] = cache.iterdir()
    before = kept.stat().st_ino
    assert asdict(cached_inventory(site, cache)) == fresh(site)
    assert [file.stat().st_ino for file in cache.iterdir()] == [before]


def test_another_intent_asset_list_or_program_has_another(
    make_site: MakeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    site = make_site("lab", {"cluster.domain": "one.internal"})
    cached_inventory(site, cache)
    other = make_site("lab", {"cluster.domain": "two.internal"})
    assert "two.internal" in str(cached_inventory(other, cache).management_variables)
    (other / "assets.csv").write_text("name,serial,guid,mac,bmc_mac\na-cn0001,SN42,,,\n")
    assert "SN42" in str(cached_inventory(other, cache).hosts["a-cn0001"])
    program = tmp_path / "program"
    program.mkdir()
    (program / "design.py").write_text("new\n")
    monkeypatch.setattr(inventory_cache, "PROGRAM", program)
    cached_inventory(other, cache)
    assert len(list(cache.iterdir())) == 4


def test_what_was_cut_short_is_made_again(make_site: MakeSite, tmp_path: Path) -> None:
    site, cache = make_site("lab", {}), tmp_path / "cache"
    cached_inventory(site, cache)
    [kept] = cache.iterdir()
    for text in ("", kept.read_text()[:1000], "{}", "[]", '{"hosts": 1}'):
        kept.write_text(text)
        assert asdict(cached_inventory(site, cache)) == fresh(site), text[:20]


def test_it_does_without_where_nothing_can_be_written(make_site: MakeSite, tmp_path: Path) -> None:
    site = make_site("lab", {})
    (tmp_path / "file").write_text("")
    assert asdict(cached_inventory(site, tmp_path / "file" / "cache")) == fresh(site)


def test_the_oldest_go(make_site: MakeSite, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for number in range(inventory_cache.KEPT + 3):
        (cache / f"{number}.json").write_text("{}")
    cached_inventory(make_site("lab", {}), cache)
    assert len(list(cache.iterdir())) == inventory_cache.KEPT


def test_a_wrong_intent_is_kept_nowhere(make_site: MakeSite, tmp_path: Path) -> None:
    site, cache = make_site("lab", {"cluster.fabric.zones": -1}), tmp_path / "cache"
    with pytest.raises(IntentError):
        cached_inventory(site, cache)
    assert not cache.exists()
