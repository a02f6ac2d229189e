"""JSON as its readers take it (RFC 8259), and the keys that are there twice."""

from __future__ import annotations

import json

from fireflyer.prove.files.marked_yaml import Tree
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import fault


def load(path: str, text: str, findings: list[Finding]) -> Tree:
    """Return a document, None where it is none; what is wrong goes to `findings`."""

    def pairs(found: list[tuple[str, Tree]]) -> dict[str, Tree]:
        for key in {key for key, _ in found if sum(k == key for k, _ in found) > 1}:
            findings.append(fault(path, f"{key}: is there twice"))
        return dict(found)

    def few(found: list[tuple[str, Tree]]) -> dict[str, Tree]:
        return dict(found) if len(found) == len({key for key, _ in found}) else pairs(found)

    try:
        document: Tree = json.loads(text, object_pairs_hook=few)
        return document
    except json.JSONDecodeError as error:
        findings.append(fault(path, f"is no JSON: {error.msg}", error.lineno))
    except (ValueError, RecursionError) as error:
        findings.append(fault(path, f"is no JSON: {error}"))
    return None
