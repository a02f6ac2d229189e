"""Read the text of a rendered file, or say why it cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from xml.etree import ElementTree

from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import bounded, fault

RENDER = "render the site again"


def read(
    tree: Path, path: str, findings: Callable[[str], Iterable[Finding]]
) -> tuple[Finding, ...]:
    """Return what is found in a file's text; that it is missing or no text is a finding too.

    Args:
        tree: A rendered tree.
        path: Of the file, below the tree.
        findings: Compares the text with the plan.
    """
    try:
        text = (tree / path).read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return (fault(path, "the file is missing", remedy=RENDER),)
    except UnicodeDecodeError as error:
        return (fault(path, f"is not text in UTF-8: byte {error.start}", remedy=RENDER),)
    return tuple(bounded(path, findings(text)))


def read_xml(
    tree: Path, path: str, findings: Callable[[ElementTree.Element], Iterable[Finding]]
) -> tuple[Finding, ...]:
    """Return what is found in an XML file, as `read` does; that it is no XML is a finding too."""

    def of_text(text: str) -> Iterable[Finding]:
        try:
            root = ElementTree.fromstring(text)  # noqa: S314 - a file of the site's own
        except ElementTree.ParseError as error:
            return (fault(path, f"is no XML: {error}", error.position[0]),)
        return findings(root)

    return read(tree, path, of_text)
