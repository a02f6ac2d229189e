"""The inventory of a site, designed once for each state of its intent.

Each command of Ansible asks for the hosts; to design a large site takes longer than to read them.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

from fireflyer.folders import digest_of_folder
from fireflyer.load.site import ASSETS, INTENT
from fireflyer.paths import HARDWARE, REPOSITORY
from fireflyer.render.inventory import Inventory

CACHE = REPOSITORY / ".cache" / "inventory"
KEPT = 16
"""Inventories that are kept: the newest."""
PROGRAM = Path(__file__).resolve().parents[1]


def cached_inventory(site: Path, cache: Path = CACHE) -> Inventory:
    """Return the inventory of `inventory/<site>`.

    Raises:
        IntentError: with everything wrong in the intent, the asset list and the catalogue.
    """
    file = cache / f"{_digest(site)}.json"
    try:
        found = Inventory(**json.loads(file.read_text()))
        os.utime(file)
    except (OSError, ValueError, TypeError):  # not there, or cut short
        from fireflyer.design import design
        from fireflyer.load import load_site
        from fireflyer.render.inventory import inventory

        text = json.dumps(asdict(inventory(design(load_site(site)))))
        found = Inventory(**json.loads(text))
        _keep(file, text)
    return found


def _digest(site: Path) -> str:
    """Return the digest of all that an inventory is made from."""
    found = hashlib.sha256()
    for file in (site / INTENT, site / ASSETS):
        found.update(file.read_bytes() if file.is_file() else b"none")
        found.update(b"\0")
    found.update(digest_of_folder(HARDWARE).encode())
    found.update(digest_of_folder(PROGRAM).encode())
    return found.hexdigest()


def _keep(file: Path, text: str) -> None:
    """Write the cache, or do without: a repository may be read-only."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(text)
        new.replace(file)
        newest = sorted(file.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for old in newest[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return
