"""Edits that change no meaning: comments, blanks, order and quotes where they say nothing."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tests.mutations.text import LISTS, comment_of, family

Edit: TypeAlias = Callable[[random.Random, str, str], str | None]
_CLOSED = (
    "router.db",
    "fabric.net",
    "topology.txt",
    "nodes.txt",
    ".topo",
    ".ibnl",
    ".prom",
    ".dot",
    ".py",
)
"""Endings of formats in which blanks or comments are not known to have no meaning."""
_ANY_ORDER = ("cables.csv", "materials.csv", "racks.csv", "devices.csv", "interfaces.csv")


def comment(rng: random.Random, path: str, text: str) -> str | None:
    """Add a comment on a line of its own."""
    mark = comment_of(path, text)
    if not mark or path.endswith(_CLOSED):
        return None
    lines = text.splitlines(keepends=True)
    if mark == "<!--":
        place = max(
            n for n, line in enumerate(lines) if line.startswith(("</svg>", "</body>", "</"))
        )
        lines.insert(place, "<!-- seen in the third week -->\n")
    else:
        ends = [n for n, line in enumerate(lines) if not line.startswith((" ", "\t"))] or [0]
        place = rng.choice(ends[1:] or ends)
        lines.insert(place, f"{mark} seen in the third week\n")
    return "".join(lines)


def blank_line(rng: random.Random, path: str, text: str) -> str | None:
    """Add an empty line."""
    if path.endswith(_CLOSED) or family(path) in ("zpl", "xlsx", "html"):
        return None
    lines = text.splitlines(keepends=True)
    lines.insert(rng.randrange(1, len(lines) + 1), "\n")
    return "".join(lines)


def trailing_blanks(rng: random.Random, path: str, text: str) -> str | None:
    """Add blanks at the end of a line."""
    if path.endswith(_CLOSED) or family(path) not in ("lines", "yaml", "json"):
        return None
    if path.startswith(("exports/dnsmasq", "ztp/")):
        return None
    lines = text.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    lines[place] = lines[place].rstrip("\n") + "  \n"
    return "".join(lines)


def json_layout(rng: random.Random, path: str, text: str) -> str | None:
    """Write a JSON document with other keys first, indented otherwise."""
    if family(path) != "json":
        return None
    document = json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    return json.dumps(document, indent=rng.choice((None, 1, 4))) + "\n"


def csv_quotes(rng: random.Random, path: str, text: str) -> str | None:
    """Quote every field of a table."""
    if family(path) != "csv" or "prometheus" in path:
        return None
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows(row for row in csv.reader(io.StringIO(text)) if row)
    return file.getvalue()


def csv_order(rng: random.Random, path: str, text: str) -> str | None:
    """Put the rows of a table that has no order into another."""
    if not path.endswith(_ANY_ORDER) or "exports" in path:
        return None
    head, *rows = text.splitlines(keepends=True)
    if any('"' in row for row in rows):
        return None
    rng.shuffle(rows)
    return "".join([head, *rows])


def set_order(rng: random.Random, path: str, text: str) -> str | None:
    """Put the lines of a list without order into another."""
    if not path.endswith(LISTS):
        return None
    head, *lines = text.splitlines(keepends=True)
    rng.shuffle(lines)
    return "".join([head, *lines])


def hexadecimal_case(rng: random.Random, path: str, text: str) -> str | None:
    """Write the digits of the GUIDs of a list in capitals."""
    if not path.endswith(LISTS):
        return None
    return re.sub(r"0x([0-9a-f]+)", lambda match: f"0x{match[1].upper()}", text)


def yaml_quotes(rng: random.Random, path: str, text: str) -> str | None:
    """Quote a text of a YAML document in the other way."""
    if family(path) != "yaml":
        return None
    places = list(re.finditer(r'"([A-Za-z][\w.-]*)"', text))
    if not places:
        return None
    match = rng.choice(places)
    return f"{text[: match.start()]}'{match[1]}'{text[match.end() :]}"


def option_blanks(rng: random.Random, path: str, text: str) -> str | None:
    """Put more blanks between an option and its value."""
    if not path.endswith("opensm.conf"):
        return None
    lines = text.splitlines(keepends=True)
    options = [n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    place = rng.choice(options)
    lines[place] = lines[place].replace(" ", "    ", 1)
    return "".join(lines)


EDITS: Mapping[str, Edit] = {
    "comment": comment,
    "blank line": blank_line,
    "blanks at the end": trailing_blanks,
    "order and layout of JSON": json_layout,
    "quotes of a table": csv_quotes,
    "order of a table": csv_order,
    "order of a list": set_order,
    "capital digits": hexadecimal_case,
    "quotes of YAML": yaml_quotes,
    "blanks in a line": option_blanks,
}
