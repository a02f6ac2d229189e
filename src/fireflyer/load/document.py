"""A YAML file with the line of every key, so that a problem can point at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import yaml

from fireflyer.errors import IntentError, Problem

MOST_KEYS = 20_000
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says and where it says it."""

    file: Path
    data: object
    lines: Mapping[str, int]
    """Line of each dotted key, counted from 1."""

    def where(self, key: str) -> str:
        """Return file and line of a key, or of the nearest key above it."""
        while key and key not in self.lines:
            key = key.rpartition(".")[0]
        return f"{self.file}:{self.lines.get(key, 1)}"

    def problem(self, key: str, value: object, limit: str, remedy: str) -> Problem:
        """Describe what is wrong with one value of this file."""
        text = "" if value is None else str(value)
        return Problem(where=self.where(key), key=key, value=text, limit=limit, remedy=remedy)


def read(file: Path) -> Document:
    """Read a YAML file.

    Raises:
        IntentError: the file is missing, is not UTF-8 or not YAML, or has a key twice.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise _unreadable(
            file, 1, "there is no such file", "create it, or correct the path"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, 1, f"cannot be read ({error})", "make it readable UTF-8") from None
    try:
        node = yaml.compose(text, Loader=Loader)
        lines = dict(islice(_lines(node, ""), MOST_KEYS + 1)) if node else {}
        if len(lines) > MOST_KEYS:
            limit = f"has more than {MOST_KEYS:,} keys, aliases counted each time"
            raise _unreadable(file, 1, limit, "state intent, not data")
        data = frozen(yaml.load(text, Loader=Loader))  # noqa: S506 - a safe loader
        twice = _twice(node, "")
    except IntentError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 1
        raise _unreadable(file, line, f"not YAML: {error.problem}", "correct the line") from None
    except RecursionError:
        raise _unreadable(file, 1, "is nested too deeply", "state it flat") from None
    except (LookupError, AttributeError, TypeError):  # what PyYAML lets out of its constructors
        limit = "not YAML: a value does not fit its tag"
        raise _unreadable(file, 1, limit, "correct the value, or leave the tag out") from None
    except (yaml.YAMLError, ValueError) as error:
        said = str(error).splitlines()[0]
        raise _unreadable(file, 1, f"not YAML: {said}", "correct the value") from None
    if twice:
        raise IntentError(
            Problem(
                where=f"{file}:{line}",
                key=key,
                value="",
                limit="is there twice, and only the last counts",
                remedy="keep one",
            )
            for key, line in twice
        )
    return Document(file=file, data=data, lines=lines)


def _unreadable(file: Path, line: int, limit: str, remedy: str) -> IntentError:
    return IntentError(
        [Problem(where=f"{file}:{line}", key="file", value="", limit=limit, remedy=remedy)]
    )


def _lines(node: yaml.Node, key: str) -> Iterator[tuple[str, int]]:
    prefix = f"{key}." if key else ""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            path = f"{prefix}{name.value}"
            yield path, name.start_mark.line + 1
            yield from _lines(value, path)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            path = f"{prefix}{index}"
            yield path, value.start_mark.line + 1
            yield from _lines(value, path)


def _twice(node: yaml.Node | None, key: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for name, value in node.value:
            path = f"{key}.{name.value}" if key else str(name.value)
            if name.value in seen:
                found.append((path, name.start_mark.line + 1))
            seen.add(name.value)
            found += _twice(value, path)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            found += _twice(value, f"{key}.{index}")
    return found


def frozen(data: object) -> object:
    """Return the data with tuples for lists: what the typed models take."""
    if isinstance(data, list):
        return tuple(frozen(item) for item in data)
    if isinstance(data, dict):
        return {key: frozen(value) for key, value in data.items()}
    return data
