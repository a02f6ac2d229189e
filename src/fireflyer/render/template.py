"""Jinja as every template gets it: strict, and nothing but printing."""

from __future__ import annotations

import json
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fireflyer.paths import TEMPLATES


@cache
def _environment() -> Environment:
    environment = Environment(  # noqa: S701 - HTML says what it escapes
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["json"] = json.dumps
    return environment


def render(template: str, **values: object) -> str:
    """Render `templates/<template>`; a name it misspells is an error, never an empty line."""
    return _environment().get_template(template).render(values)
