"""Stack files for tests: an example of the repository with changes by dotted key."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from tests.conftest import REPO, changed

PULUMI = REPO / "pulumi"
EXAMPLES = sorted(path.stem.removeprefix("Pulumi.") for path in PULUMI.glob("Pulumi.*.yaml"))
PROVIDERS: Mapping[str, str] = {
    name: yaml.safe_load((PULUMI / f"Pulumi.{name}.yaml").read_text())["config"][
        "fireflyer-replica:replica"
    ]["provider"]
    for name in EXAMPLES
}
"""Of each example."""
EXPIRES = "2030-01-31T18:00:00Z"
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBvT4hNDGmNvYl5nZzGmdVvW3pAj0mJjY7d3QpTzY0aB test"
READY: Mapping[str, Any] = {"replica.access.public_key": PUBLIC_KEY, "expires": EXPIRES}
"""What an example lacks before it is created."""


def make_stack(folder: Path, base: str, changes: Mapping[str, Any], name: str = "") -> Path:
    """Write a stack's file; keys begin with `replica.`, or are `expires`; None leaves one out."""
    whole = yaml.safe_load((PULUMI / f"Pulumi.{base}.yaml").read_text())
    prefix = "fireflyer-replica:"
    config = {key.removeprefix(prefix): value for key, value in whole["config"].items()}
    config = changed(config, {key: value for key, value in changes.items() if value is not None})
    for key in [key for key, value in changes.items() if value is None]:
        *parents, last = key.split(".")
        functools.reduce(lambda found, part: found[part], parents, config).pop(last, None)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"Pulumi.{name or base}.yaml"
    text = {"config": {f"{prefix}{key}": value for key, value in config.items()}}
    file.write_text(yaml.safe_dump(text, sort_keys=False))
    return file
