"""The index of the exports: a row for each folder that is there, with files that are there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from fireflyer.model.fabric import Fabric
from fireflyer.prove.files.exports.links import Link
from fireflyer.prove.files.source import read
from fireflyer.render.exports.index import EXPORTS
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

_ROW = re.compile(r"^\| `([^`]+)/` \| (.*?) \| (.*?) \| (.*) \|$")
_MORE = re.compile(r" and (\d+) more$")


def index(fabric: Fabric, links: list[Link], tree: Path) -> Iterator[Finding]:
    """Yield where the page differs from the folders beside it."""
    path = "exports/README.md"
    yield from read(tree, path, lambda text: _page(fabric, tree / "exports", path, text))


def _rendered(folder: Path) -> dict[str, set[str]]:
    """Return the files of each folder by the manifest, or those that are there without one.

    A file that is missing is its own reader's finding.
    """
    try:
        manifest = json.loads((folder.parent / "manifest.json").read_bytes())
        listed = [str(file["path"]) for file in manifest["files"]]
    except (OSError, ValueError, KeyError, TypeError):  # the manifest has a check of its own
        listed = [str(f.relative_to(folder.parent)) for f in folder.rglob("*") if f.is_file()]
    files: dict[str, set[str]] = {}
    for path in listed:
        top, _, rest = path.removeprefix("exports/").partition("/")
        if path.startswith("exports/") and rest:
            files.setdefault(top, set()).add(rest)
    return files


def _page(fabric: Fabric, folder: Path, path: str, text: str) -> Iterator[Finding]:
    head, *lines = [line.rstrip() for line in text.splitlines()] or [""]
    if head != f"# Exports of {fabric.intent.name}":
        yield fault(path, f"the title is {head}", 1)
    files = _rendered(folder)
    plan: dict[str, dict[str, Value]] = {
        name: {
            "for": EXPORTS[name].program,
            "load": EXPORTS[name].load.replace("SITE", fabric.intent.name),
            "files": len(held),
            "unknown files": (),
        }
        for name, held in files.items()
        if name in EXPORTS
    }
    rows = []
    for number, line in enumerate(lines, start=2):
        if match := _ROW.match(line):
            name, program, load, listed = match.groups()
            more = _MORE.search(listed)
            named = re.findall(r"`([^`]+)`", listed)
            unknown = tuple(sorted(set(named) - files.get(name, set())))
            values: dict[str, Value] = {"for": program, "load": load, "unknown files": unknown}
            values["files"] = len(set(named)) + (int(more[1]) if more else 0)
            rows.append(Row(name, values, number))
        elif line and not re.fullmatch(
            r"\| folder \| for \| load \| files \||\|( --- \|){4}", line
        ):
            yield fault(path, f"{line} is no row", number)
    yield from row_findings(path, plan, rows)
