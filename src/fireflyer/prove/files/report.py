"""The report's page: the data inside it, the figures printed on it, and its program.

Read as a browser does: the element `data` holds JSON whose columns of numbers are little-endian
arrays in base64; the other scripts and the styles are the files that the package ships.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from netaddr import IPNetwork

from fireflyer import paths
from fireflyer.design.plan.figures import interzone_gbps, tree_figures
from fireflyer.design.plan.tree_graph import tree_graphs
from fireflyer.model.fabric import Fabric, Layer, Node, Role, Switch
from fireflyer.prove.files.page_data import data_findings
from fireflyer.prove.files.source import read
from fireflyer.verify.finding import Finding
from fireflyer.verify.rows import Row, Value, fault, row_findings

PATH = "report/report.html"
_VOID = {"meta", "link", "input", "br", "img", "hr"}


def report(fabric: Fabric, tree: Path) -> tuple[Finding, ...]:
    """Return where the page differs from the fabric, or from the program that is shipped."""
    return read(tree, PATH, lambda text: _findings(fabric, text))


class _Page(HTMLParser):
    """What a page holds: texts by what they stand in, scripts, and elements left open."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.wrong: list[tuple[str, int]] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.styles: list[str] = []
        self.figures: dict[str, tuple[str, str]] = {}
        self.details: list[str] = []
        self.rows: list[tuple[str, list[str], int]] = []
        self.lengths: list[str] = []
        self.texts: dict[str, str] = {}
        self.ids: Counter[str] = Counter()
        self._figure = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what an element begins."""
        held = dict(attrs)
        if identity := held.get("id"):
            self.ids[identity] += 1
        if tag == "strong":
            self._figure = held.get("data-figure") or ""
            self.figures[self._figure] = ("", "")
        elif tag == "tr":
            table = next((a.get("class") or "" for t, a in reversed(self.open) if t == "table"), "")
            self.rows.append((table, [], self.getpos()[0]))
        elif tag in ("td", "th") and self.rows:
            self.rows[-1][1].append("")
        elif tag == "i":
            self.lengths.append(f"{held.get('class')} {held.get('style')}")
        elif tag == "progress":
            self.lengths.append(f"{held.get('value')} of {held.get('max')}")
        if tag not in _VOID:
            self.open.append((tag, held))

    def handle_endtag(self, tag: str) -> None:
        """Close an element; one that was not the last to open is wrong."""
        if self.open and self.open[-1][0] == tag:
            self.open.pop()
        else:
            self.wrong.append((tag, self.getpos()[0]))

    def handle_data(self, data: str) -> None:
        """Keep a text where it belongs."""
        tag, held = self.open[-1] if self.open else ("", {})
        text = " ".join(data.split())
        names = [name for name, _ in self.open]
        if tag == "script":
            self.scripts.append((held.get("id"), data))
        elif tag == "style":
            self.styles.append(data)
        elif "strong" in names:
            value, unit = self.figures[self._figure]
            added = (value, unit + text) if tag == "small" else (value + text, unit)
            self.figures[self._figure] = added
        elif held.get("class") == "detail":
            self.details.append(text)
        elif tag in ("td", "th") and self.rows and self.rows[-1][1]:
            self.rows[-1][1][-1] += text
        elif text:
            key = f"{tag} {held.get('class') or ''}".strip()
            self.texts[key] = f"{self.texts.get(key, '')} {text}".strip()


def _findings(fabric: Fabric, text: str) -> Iterator[Finding]:
    page = _Page()
    page.feed(text)
    page.close()
    for tag, line in page.wrong[:3]:
        yield fault(PATH, f"</{tag}> closes what is not open", line)
    if page.open:
        yield fault(PATH, f"<{page.open[-1][0]}> is not closed")
    for identity, count in page.ids.items():
        if count > 1:
            yield fault(PATH, f"the id {identity} is there {count} times")
    yield from _program(page)
    data = [script for name, script in page.scripts if name == "data"]
    if len(data) == 1:
        yield from data_findings(fabric, PATH, data[0])
    else:
        yield fault(PATH, f"has {len(data)} elements with the data of the page, planned one")
    yield from _printed(fabric, page)


def _program(page: _Page) -> Iterator[Finding]:
    """Yield where scripts and styles are not those that the package ships."""
    for kind, found in (
        ("js", "\n".join(text for name, text in page.scripts if name != "data")),
        ("css", "\n".join(page.styles)),
    ):
        lines = Counter(line.strip() for line in found.splitlines() if line.strip())
        shipped: Counter[str] = Counter()
        for file in sorted((paths.TEMPLATES / "report" / kind).glob(f"*.{kind}")):
            own = [line.strip() for line in file.read_text().splitlines() if line.strip()]
            shipped.update(own)
            kept = "\n".join(line.strip() for line in found.splitlines() if line.strip())
            if "\n".join(own) not in kept:
                lost = [line for line in own if not lines[line]] or [own[0]]
                yield fault(
                    PATH, f"{file.name} is not in the page as it is shipped: {lost[0][:60]}"
                )
        frame = {"(() => {", '"use strict";', "})();"} if kind == "js" else set()
        for line in (lines - shipped).keys() - frame:
            yield fault(PATH, f"has a line of {kind} that is not shipped: {line[:60]}")
        for line in frame - lines.keys():
            yield fault(PATH, f"lacks the line {line}")


def _printed(fabric: Fabric, page: _Page) -> Iterator[Finding]:
    """Yield where the printed tables and figures differ."""
    planned = {f"figure {name}": {"value": v} for name, v in _figures(fabric).items()}
    seen = [
        Row(f"figure {name}", {"value": f"{value} {unit}".strip()})
        for name, (value, unit) in page.figures.items()
    ]
    yield from row_findings(PATH, planned, seen)
    yield from row_findings(PATH, _tables(fabric), _rows_of(page))
    heads = {"h1": fabric.intent.name, "title": f"{fabric.intent.name} · fabric report"}
    if fabric.placeholders:
        heads["p note"] = (
            f"{fabric.placeholders:,} GUIDs are placeholders: assets.csv does not have them"
        )
    for key, planned_text in heads.items():
        if page.texts.get(key) != planned_text:
            yield fault(PATH, f"{key} is {page.texts.get(key)}, planned {planned_text}")
    for part in (fabric.intent.domain, f"{fabric.intent.fabric.layers} layers"):
        if part not in page.texts.get("p", "").split(" · ") and part not in page.texts.get("p", ""):
            yield fault(PATH, f"the line below the name lacks {part}")
    yield from _details(fabric, page)


def _figures(fabric: Fabric) -> dict[str, str]:
    """Return the planned tiles: number and unit by name."""
    figures = {"switches": f"{len(fabric.switches):,}"}
    for role in Role:
        if count := sum(node.role is role for node in fabric.nodes):
            figures[str(role)] = f"{count:,} nodes"
    gpus = sum(len(node.model.gpus) for node in fabric.nodes_of(Role.COMPUTE))
    if gpus:
        figures["GPUs"] = f"{gpus:,}"
    trees = tree_figures(tree_graphs(fabric)).values()
    figures |= {
        "links": f"{len(fabric.cables):,}",
        "host ports": f"{sum(b.total for b in fabric.budgets.values()):,}",
        "bisection": f"{' / '.join(dict.fromkeys(f'{t.bisection_tbps:,g}' for t in trees))} Tb/s",
        "oversubscription": " / ".join(dict.fromkeys(f"{t.oversubscription:.2f}" for t in trees)),
    }
    if between := interzone_gbps(fabric):
        figures["between zones"] = f"{between / 1000:g} Tb/s"
    devices: list[Switch | Node] = [*fabric.switches, *fabric.nodes]
    draw = sum(device.model.power_w for device in devices) / 1000
    figures["power"] = f"{draw:,.0f} kW"
    figures["racks"] = f"{len({device.place.rack for device in devices}):,}"
    return figures


def _details(fabric: Fabric, page: _Page) -> Iterator[Finding]:
    """Yield counts below the tiles that the fabric does not have."""
    layers = Counter(str(switch.layer) for switch in fabric.switches)
    roles = Counter(str(cable.role) for cable in fabric.cables)
    free = sum(budget.free for budget in fabric.budgets.values())
    planned = [
        ", ".join(f"{layers[layer]:,} {layer}" for layer in map(str, Layer) if layers[layer]),
        ", ".join(f"{count:,} {role}" for role, count in roles.items()),
        f"{free:,} free",
        f"of {fabric.intent.racks.power_kw:g} kW each",
    ]
    for role in Role:
        zones = Counter(node.zone for node in fabric.nodes_of(role))
        if zones and len(fabric.zones) > 1:
            planned.append(", ".join(f"{count:,} in {zone}" for zone, count in zones.items()))
    compute = next(fabric.nodes_of(Role.COMPUTE), None)
    if compute is not None and compute.model.gpus:
        planned.append(f"{len(compute.model.gpus)} {compute.model.gpus[0].model} a node")
    for text in planned:
        if text not in page.details:
            yield fault(PATH, f"no tile says {text}")


def _tables(fabric: Fabric) -> dict[str, dict[str, Value]]:
    """Return the planned rows of the page's tables."""
    planned: dict[str, dict[str, Value]] = {}
    for tree, budget in fabric.budgets.items():
        parts = (budget.compute, budget.storage, budget.management, budget.interzone, budget.free)
        cells = (*parts, budget.used, budget.total)
        planned[f"budget {tree}"] = {"cells": tuple(f"{cell:,}" for cell in cells)}
    cabled = Counter(
        fabric.switch[port.device].layer
        for cable in fabric.cables
        for port in (cable.a, cable.z)
        if port.device in fabric.switch
    )
    for layer in Layer:
        ports = [switch.model.ports for switch in fabric.switches_of(layer)]
        if ports:
            counts = (len(ports), cabled[layer], sum(ports) - cabled[layer], sum(ports))
            planned[f"budget {layer}"] = {"cells": tuple(f"{count:,}" for count in counts)}
    for name, network in fabric.networks.items():
        planned[f"pairs {name}"] = {"cells": (str(IPNetwork(network)),)}
    media = Counter((c.medium, c.length_m) for c in fabric.cables if c.assembly == c.id)
    for (medium, length), count in media.items():
        planned[f"bars {medium} {length:g} m"] = {"cells": (f"{count:,}",)}
    draws = {str(role): sum(n.model.power_w for n in fabric.nodes_of(role)) for role in Role}
    draws["switches"] = sum(switch.model.power_w for switch in fabric.switches)
    for name, watts in draws.items():
        kilowatts = watts / 1000
        if watts:
            text = f"{kilowatts:,.0f} kW" if kilowatts >= 100 else f"{kilowatts:.3g} kW"
            planned[f"bars {name}"] = {"cells": (text,)}
    return planned


def _rows_of(page: _Page) -> Iterator[Row]:
    """Yield the rows of the page's tables, without the column of bars and without heads."""
    for table, cells, line in page.rows:
        if cells and cells[0] not in ("zone", "plane", "layer"):
            shown = [cells[n] for n in range(2 if table in ("bars", "budget") else 1, len(cells))]
            yield Row(f"{table} {cells[0]}", {"cells": tuple(shown)}, line)
