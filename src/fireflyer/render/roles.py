"""The page of all roles, from their argument specs: `docs/roles.md`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fireflyer.render.template import render

SPECS = "meta/argument_specs.yml"
_MARKUP = re.compile(r"\b[CVOI]\(((?:[^()]|\([^()]*\))*)\)")
"""Code, values and options, as Ansible's documentation marks them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A row of a role's table."""

    name: str
    indent: str
    """Space before a key of the variable above."""
    type: str
    default: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePage:
    """What the page says of a role."""

    name: str
    text: str
    options: tuple[Option, ...]


def page(folder: Path) -> str:
    """Return the page of the roles below `folder`."""
    roles = [_role(file) for file in sorted(folder.glob(f"*/{SPECS}"))]
    return render("roles.md.j2", roles=roles)


def _role(file: Path) -> RolePage:
    specs = yaml.safe_load(file.read_text())["argument_specs"]["main"]
    short = str(specs["short_description"])
    parts = [short if short.endswith(".") else f"{short}.", _text(specs.get("description", ""))]
    return RolePage(
        name=file.parts[-3],
        text=" ".join(part for part in parts if part),
        options=tuple(_options(specs.get("options", {}), 0)),
    )


def _options(options: Mapping[str, Mapping[str, Any]], depth: int) -> Iterator[Option]:
    for name, spec in options.items():
        kind = spec.get("type", "str")
        if "elements" in spec:
            kind = f"{kind} of {spec['elements']}"
        choices = ", ".join(f"`{choice}`" for choice in spec.get("choices", ()))
        text = _text(spec.get("description", ""))
        yield Option(
            name=name,
            indent="&nbsp;" * 4 * depth,
            type=kind,
            default=_default(spec),
            text=f"{text} One of {choices}." if choices else text,
        )
        yield from _options(spec.get("options", {}), depth + 1)


def _default(spec: Mapping[str, Any]) -> str:
    if spec.get("required"):
        return "*required*"
    if "default" not in spec:
        return ""
    value = spec["default"]
    shown = value if isinstance(value, str) and value else json.dumps(value)
    return f"`{_cell(shown)}`"


def _text(description: str | list[str]) -> str:
    lines = [description] if isinstance(description, str) else description
    return _cell(_MARKUP.sub(r"`\1`", " ".join(lines)))


def _cell(text: str) -> str:
    """Return text as it may stand in a table: on one line, no bar."""
    return " ".join(text.split()).replace("|", "\\|")
