"""Edit rendered trees at random and ask what reads the files; say what was seen, and how."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import make_site_in
from tests.mutations.harmless import EDITS
from tests.mutations.mutators import MUTATORS
from tests.mutations.text import family, meaning
from tests.sites import ETHERNET, INFINIBAND_PLANES, PLANES

from fireflyer.design import design
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric
from fireflyer.prove.prove import read_back
from fireflyer.render import batches
from fireflyer.render.tree import write_tree
from fireflyer.verify.finding import Finding

ZTP = {
    "cluster.switch_management": {
        "ztp_url": "http://10.89.0.9/site",
        "onie_image_url": "http://10.89.0.9/onie.bin",
    }
}
SITES = {
    "infiniband": {
        "cluster.compute.model": "fire-flyer-2-compute",
        "cluster.racks.power_kw": 30.0,
        "cluster.management.nodes": 2,
        "cluster.services.subnet_manager": ["mg01", "mg02"],
    },
    "roce": ETHERNET | {"cluster.fabric.system": "sonic"} | ZTP,
    "infiniband-planes": INFINIBAND_PLANES,
    "planes": PLANES | {"cluster.fabric.system": "nvue"},
    "roce-eos": ETHERNET | {"cluster.fabric.system": "eos"} | ZTP,
}
"""Small sites that together render every kind of file."""
SHEET = "xl/worksheets/sheet1.xml"
_DEVICE = re.compile(
    r"(?:[a-z]\d?-)?(?:leaf|spine|core|interzone|mg|st|cn)\d+|[a-z]\d?-r\d+(?:-\d+)?|zone-\w+|^\w$"
)
DELETED = "delete file"
MANY_KINDS, SINGLE = ("cabling/", "exports/", "opensm/", "slurm/", "ztp/"), 6
"""Groups of many kinds of files; a group of one kind is edited so many times as often."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One edit, and what was seen of it."""

    site: str
    path: str
    edit: str
    seen: str
    """reading, hash or missed; of a harmless edit: quiet or reported."""
    said: str
    """The first finding."""
    difference: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A rendered site."""

    fabric: Fabric
    folder: Path
    kinds: Mapping[str, tuple[str, ...]]
    """Paths by kind: files of one kind differ in the device that they are for."""
    before: frozenset[Finding]
    """What is found before any edit: nothing, if all is well."""


def trees(folder: Path) -> dict[str, Tree]:
    """Render every site of the bench."""
    found = {}
    for name, changes in SITES.items():
        fabric = design(load_site(make_site_in(folder, "lab", changes, name)))
        tree = folder / f"{name}-tree"
        write_tree(tree, fabric.intent.name, batches(fabric), ())
        kinds: dict[str, list[str]] = {}
        for file in sorted(tree.rglob("*")):
            path = str(file.relative_to(tree))
            if file.is_file() and "/" in path:
                kinds.setdefault(_DEVICE.sub("*", path), []).append(path)
        groups = sorted({kind.partition("/")[0] for kind in kinds})
        before = frozenset(read_back(fabric, tree, groups))
        held = {kind: tuple(paths) for kind, paths in kinds.items()}
        found[name] = Tree(fabric, tree, held, before)
    return found


def edited(rng: random.Random, path: str, data: bytes, harmless: bool) -> tuple[str, bytes] | None:
    """Return a random edit of a file, by its name; None where no edit of a meaning came out."""
    table = EDITS if harmless else MUTATORS
    names = list(table)
    rng.shuffle(names)
    inner, text = path, ""
    if family(path) == "xlsx":
        if harmless:
            return None
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inner, text = "sheet.xml", archive.read(SHEET).decode().replace("><", ">\n<")
    else:
        text = data.decode()
    for name in names:
        for _ in range(5):
            new = table[name](rng, inner, text)
            if new is None or new == text:
                continue
            same = meaning(inner, new) == meaning(inner, text)
            if harmless or not same:
                out = _workbook(data, new) if inner != path else new.encode()
                return name, out
    return None


def _workbook(data: bytes, sheet: str) -> bytes:
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(result, "w") as new:
        for entry in old.infolist():
            held = sheet.encode() if entry.filename == SHEET else old.read(entry)
            new.writestr(entry.filename, held)
    return result.getvalue()


def outcomes(
    rendered: Mapping[str, Tree], seed: int, count: int, *, harmless: bool = False
) -> Iterator[Outcome]:
    """Yield what was seen of so many random edits, spread over sites and kinds of files."""
    rng = random.Random(seed)
    done = 0
    order: list[tuple[str, str]] = []
    while done < count:
        if not order:
            order = [
                (site, kind)
                for site, tree in rendered.items()
                for kind in tree.kinds
                for _ in range(1 if kind.startswith(MANY_KINDS) else SINGLE)
            ]
            rng.shuffle(order)
        site, kind = order.pop()
        tree = rendered[site]
        path = rng.choice(tree.kinds[kind])
        data = (tree.folder / path).read_bytes()
        if not harmless and rng.random() < 0.03:
            change: tuple[str, bytes] | None = (DELETED, b"")
        else:
            change = edited(rng, path, data, harmless)
        if change is None:
            continue
        done += 1
        yield _outcome(site, tree, path, data, *change, harmless=harmless)


def _outcome(
    site: str, tree: Tree, path: str, data: bytes, edit: str, new: bytes, *, harmless: bool
) -> Outcome:
    file = tree.folder / path
    try:
        if edit == DELETED:
            file.unlink()
        else:
            file.write_bytes(new)
        findings = [
            finding
            for finding in read_back(tree.fabric, tree.folder, (path.partition("/")[0],))
            if finding not in tree.before
        ]
    except Exception as error:  # a reader that breaks is a result of the bench, too
        return Outcome(site, path, edit, "broken", f"{error!r}", _difference(data, new))
    finally:
        file.write_bytes(data)
    if harmless:
        seen = "reported" if findings else "quiet"
    else:
        seen = "reading" if findings else "hash" if new != data else "missed"
    said = str(findings[0]) if findings else ""
    return Outcome(site, path, edit, seen, said, _difference(data, new))


def _difference(old: bytes, new: bytes) -> str:
    """Return the first line that differs, of both."""
    a, b = (data.decode(errors="replace").splitlines() for data in (old, new))
    for first, second in zip(a, b, strict=False):
        if first != second:
            start = next(
                (i for i, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), 0
            )
            cut = slice(max(0, start - 40), start + 60)
            return f"{first[cut]!r} -> {second[cut]!r}"
    return f"{len(a)} lines -> {len(b)}"


def table(found: list[Outcome]) -> str:
    """Return the outcomes by group of files."""
    rows: dict[str, Counter[str]] = {}
    for outcome in found:
        group = outcome.path.partition("/")[0]
        if group == "exports":
            group = "/".join(outcome.path.split("/")[:2])
        rows.setdefault(group, Counter())[outcome.seen] += 1
    columns = sorted({outcome.seen for outcome in found})
    lines = [f"{'':<24}" + "".join(f"{column:>10}" for column in columns)]
    for group, counts in sorted(rows.items()):
        lines.append(f"{group:<24}" + "".join(f"{counts[c]:>10}" for c in columns))
    total = Counter(outcome.seen for outcome in found)
    lines.append(f"{'all':<24}" + "".join(f"{total[c]:>10}" for c in columns))
    share = [f"{column} {100 * total[column] / len(found):.1f} %" for column in columns]
    return "\n".join([*lines, ", ".join(share)])
