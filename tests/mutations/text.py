"""What the kinds of text have in common: comments, tokens, and what a line or a value is.

Nothing here knows what a file is for. A family is told by the ending of a name alone.
"""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any
from xml.etree import ElementTree

import yaml

FAMILIES = {
    ".csv": "csv",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".xml": "xml",
    ".svg": "xml",
    ".html": "html",
    ".xlsx": "xlsx",
    ".zpl": "zpl",
    ".py": "python",
}
"""Any other ending is a text of lines."""
COMMENTS = {"json": "", "csv": "", "xml": "<!--", "html": "<!--", "zpl": ""}
"""What begins a comment; `#` or `!` where a family is not named."""
TOKEN = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+){3}|\d+(?:\.\d+)?|[A-Za-z_][\w-]*")
ADDRESS = re.compile(r"\d+(?:\.\d+){3}")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
LISTS = ("root-guids.conf", "cn-guids.conf", "io-guids.conf", "node-name-map.conf")
"""Lists whose order says nothing."""
SETS = (*LISTS, ".dot", ".ibnl")
"""Files in which a line that is moved may mean the same."""
_FREE = re.compile(r"^\s*(?:use:|\^FX)")
"""Lines of free text that no program reads."""


def family(path: str) -> str:
    """Return the family of a file."""
    if path.endswith("kea-dhcp4.conf"):
        return "json"
    return FAMILIES.get("." + path.rpartition(".")[2], "lines")


def comment_of(path: str, text: str) -> str:
    """Return what begins a comment in a file; empty where there are none."""
    kind = family(path)
    if kind in COMMENTS:
        return COMMENTS[kind]
    return "!" if path.startswith(("eos/", "frr/")) else "#"


def meaningful(path: str, text: str) -> list[int]:
    """Return the lines that hold more than a comment."""
    mark, found, inside = comment_of(path, text), [], False
    for number, line in enumerate(text.splitlines()):
        bare = line.strip()
        if mark == "<!--":
            inside = inside or "<!--" in bare
            skip, inside = (
                inside or bare.startswith(("//", "/*", "*")),
                inside and "-->" not in bare,
            )
        else:
            skip = bool(mark) and bare.startswith(mark)
        if bare and not skip and not _FREE.match(bare) and bare not in ("{", "}", "[", "]", "---"):
            found.append(number)
    return found


def code(path: str, line: str) -> str:
    """Return a line without the comment at its end."""
    if family(path) != "lines" or path.startswith(("eos/", "frr/", "mlnxos/")):
        return line
    if path.endswith("fabric.net"):
        return line  # what follows the mark is the node's name there
    return line.partition(" #")[0]


def meaning(path: str, text: str) -> object:
    """Return what a general reader of the family makes of a text; the text where it fails."""
    kind = family(path)
    try:
        if kind == "csv":
            return [row for row in csv.reader(io.StringIO(text)) if row]
        if kind == "json":
            return json.loads(
                text, object_pairs_hook=lambda pairs: ("object", sorted(pairs, key=str))
            )
        if kind == "yaml":
            return _yaml(yaml.compose(text, Loader=yaml.CSafeLoader))
        if kind == "xml":
            return ElementTree.canonicalize(text, strip_text=True)
        if kind == "python":
            import ast

            return ast.dump(ast.parse(text))
    except (ValueError, yaml.YAMLError, ElementTree.ParseError, SyntaxError):
        return text
    lines = text.splitlines()
    kept = [" ".join(code(path, lines[n]).split()) for n in meaningful(path, text)]
    return sorted(kept) if path.endswith(SETS) else kept


def _yaml(node: Any) -> object:
    if isinstance(node, yaml.MappingNode):
        return ("map", sorted(((_yaml(k), _yaml(v)) for k, v in node.value), key=str))
    if isinstance(node, yaml.SequenceNode):
        return [_yaml(value) for value in node.value]
    return (node.tag, node.value) if node is not None else None
