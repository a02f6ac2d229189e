"""_core.pyi says what the built extension has: the same names, with the same arguments."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from hfreduce import _core

STUB = Path(__file__).parents[1] / "src" / "hfreduce" / "_core.pyi"


def _stubbed(body: list[ast.stmt]) -> dict[str, Any]:
    """Return what is declared: arguments of functions, members of classes."""
    found: dict[str, Any] = {}
    for each in body:
        if isinstance(each, ast.ClassDef):
            found[each.name] = _stubbed(each.body)
        elif isinstance(each, ast.FunctionDef):
            found[each.name] = [arg.arg for arg in each.args.kwonlyargs]
        elif isinstance(each, ast.Assign):
            found |= {target.id: None for target in each.targets if isinstance(target, ast.Name)}
    return found


def _built(owner: Any) -> dict[str, Any]:
    """Return what there is; pybind11 writes the arguments into the docstrings."""
    if members := getattr(owner, "__members__", None):
        return dict.fromkeys(members)
    names = [name for name in vars(owner) if not name.startswith("_")]
    if isinstance(owner, type) and owner.__module__ == _core.__name__:
        names += [] if issubclass(owner, Exception) else ["__init__"]
    found: dict[str, Any] = {}
    for name in names:
        thing = getattr(owner, name)
        if isinstance(thing, type):
            found[name] = _built(thing)
        else:
            signature = re.match(r"\w+\((.*)\) -> ", thing.__doc__).group(1)
            found[name] = re.findall(r"(\w+): ", signature.partition("*")[2])
    return found


def test_the_stub_is_the_extension() -> None:
    assert _stubbed(ast.parse(STUB.read_text()).body) == _built(_core)
