"""Where the blueprint's own data lies: the repository this package is installed from."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HARDWARE = REPOSITORY / "hardware"
"""Switch, node and cable models, one file each."""
TEMPLATES = REPOSITORY / "templates"
INVENTORY = REPOSITORY / "inventory"
"""Sites, a folder each."""
