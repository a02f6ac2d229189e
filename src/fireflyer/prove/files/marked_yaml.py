"""YAML with the line of every value, and with every key that is there twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Value, fault

Tree: TypeAlias = "Value | Mapping[str, Tree] | Sequence[Tree]"


@dataclass(frozen=True, slots=True)
class Marked:
    """A value of a document: a scalar, a list or a mapping of more."""

    value: Value | Sequence[Marked] | Mapping[str, Marked]
    line: int

    @property
    def mapping(self) -> Mapping[str, Marked]:
        """Its values by key; none where it is no mapping."""
        return self.value if isinstance(self.value, Mapping) else {}

    def at(self, *keys: str) -> Marked:
        """Return the value below some keys; an empty one where there is none."""
        found = self
        for key in keys:
            found = found.mapping.get(key, Marked(None, self.line))
        return found


def load(path: str, text: str, findings: list[Finding]) -> Marked:
    """Return a document; what is wrong with its text goes to `findings`.

    YAML takes the last of two equal keys, and says nothing.
    """
    loader = yaml.CSafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            findings.append(fault(path, "is empty"))
            return Marked(None, 1)
        return _marked(path, loader, node, findings)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        findings.append(fault(path, f"is no YAML: {error.problem}", line))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        findings.append(fault(path, f"is no YAML: {error}"))
    finally:
        loader.dispose()
    return Marked(None, 1)


def _marked(
    path: str, loader: yaml.CSafeLoader, node: yaml.Node, findings: list[Finding]
) -> Marked:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Marked] = {}
        for name, value in node.value:
            key = str(name.value)
            if key in found:
                message = f"{key}: is there twice, first in line {found[key].line}"
                findings.append(fault(path, message, name.start_mark.line + 1))
            found[key] = _marked(path, loader, value, findings)
        return Marked(found, line)
    if isinstance(node, yaml.SequenceNode):
        return Marked([_marked(path, loader, value, findings) for value in node.value], line)
    scalar = loader.construct_object(node)
    return Marked(
        scalar if isinstance(scalar, str | int | float | bool | None) else node.value, line
    )


def flattened(tree: Tree | Marked, name: str = "") -> Iterator[tuple[str, Value]]:
    """Yield every scalar below a value by its dotted name; an empty list or mapping is ()."""
    value = tree.value if isinstance(tree, Marked) else tree
    if isinstance(value, Mapping | list):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        if not value:
            yield name, ()
        for key, part in pairs:
            yield from flattened(part, f"{name}.{key}" if name else str(key))
    else:
        yield name, value  # type: ignore[misc]
