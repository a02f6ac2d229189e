"""SSH keys that live as long as the build folder and are used for containers only."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.images.engine import CACHE

CLIENT_KEY = CACHE / "ssh" / "id_ed25519"
"""The private key that logs in to every container."""


def ensure_client_key() -> None:
    """Make the key unless it exists."""
    make(CLIENT_KEY, "fireflyer test containers")


def make(path: Path, comment: str) -> None:
    """Make an SSH key at `path` unless it exists, for no eyes but ours."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)],
            check=True,
        )
