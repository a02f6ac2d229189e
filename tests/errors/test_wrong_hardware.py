"""A hardware model that cannot be designed with or rendered is refused with the exact message."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import MakeSite, changed
from tests.errors.test_wrong_intents import refusal

from fireflyer.load import site as site_loader
from fireflyer.load.catalogue import load_catalogue
from fireflyer.paths import HARDWARE

CASES: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "hardware.yml").read_text())


@pytest.mark.parametrize("name", CASES)
def test_wrong_hardware(
    name: str,
    make_site: MakeSite,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = CASES[name]
    folder = tmp_path / "hardware"
    shutil.copytree(HARDWARE, folder)
    for path, changes in case["hardware"].items():
        file = folder / path
        model = changed(yaml.safe_load(file.read_text()), changes)
        file.write_text(yaml.safe_dump(model, sort_keys=False))
    monkeypatch.setattr(site_loader, "load_catalogue", lambda: load_catalogue(folder))
    found = refusal(make_site(case["site"], case.get("change")), tmp_path / "out", capsys)
    assert [line.replace(str(folder), "hardware") for line in found] == case["messages"]
