"""The page in a browser: it opens alone, says what the fabric says, and finds what is sought."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import REPO
from tests.report.chromium import Page
from tests.report.conftest import WritePage

from fireflyer.design import design
from fireflyer.design.plan import plan
from fireflyer.design.shape import shape_of
from fireflyer.load import load_site
from fireflyer.model.fabric import Fabric, Layer, Role
from fireflyer.render import report
from fireflyer.render.report_figures import summary

SITES = ("lab", "fire-flyer-2", "fire-flyer-roce", "three-layer-1600", "next-gen")
PICTURES = REPO / "build" / "screenshots"


@pytest.fixture(scope="module", params=SITES)
def fabric(request: pytest.FixtureRequest) -> Fabric:
    """Return the fabric of each site."""
    return design(load_site(REPO / "inventory" / str(request.param)))


@pytest.fixture
def opened(fabric: Fabric, page: Page, written: WritePage) -> Path:
    """Open a site's report and return its file."""
    file = written(fabric)
    page.open(file)
    return file


def figure(page: Page, name: str) -> int:
    """Return the number on a tile."""
    script = f"document.querySelector('[data-figure=\"{name}\"]').firstChild.textContent"
    return int(str(page.run(script)).replace(",", ""))


def port_rows(page: Page) -> list[tuple[int, str, str]]:
    """Return port, far end and cable of every row of the port panel."""
    found = page.run(
        "[...document.querySelectorAll('#selected tr[data-port]')].map((row) => [row.dataset.port,"
        " ...[...row.querySelectorAll('.link')].map((link) => link.textContent)])"
    )
    return [(int(port), far, cable) for port, far, cable in found]


def expected_rows(fabric: Fabric, device: str) -> list[tuple[int, str, str]]:
    """Return the same from the fabric."""
    ends = [
        (near.number, far.device, cable.id)
        for cable in fabric.cables
        for near, far in ((cable.a, cable.z), (cable.z, cable.a))
        if near.device == device
    ]
    return sorted(ends)


def find(page: Page, text: str) -> None:
    """Type into the search box and take the first hit."""
    page.run("document.getElementById('search').value = ''")
    page.run("document.getElementById('search').focus()")
    page.write(text)
    page.press("Enter")


def test_opens_alone_and_quietly(page: Page, opened: Path, fabric: Fabric) -> None:
    start = time.monotonic()
    page.open(opened)
    print(f"\n{fabric.intent.name}: open after {time.monotonic() - start:.2f} s")
    assert page.requests == [opened.as_uri()]
    assert page.errors == []
    for dark in (False, True):
        page.size(1440, 1000, dark=dark)
        page.picture(PICTURES / f"report-{fabric.intent.name}-{'dark' if dark else 'light'}.png")
    page.size(1440, 1000)


def test_every_view_opens(page: Page, opened: Path) -> None:
    for tab in ("racks", "ports", "switches", "nodes", "cables", "fabric"):
        page.run(f"document.getElementById('tab-{tab}').click()")
        shown = "[...document.querySelectorAll('[role=tabpanel]')].filter((v) => !v.hidden)"
        assert page.run(f"{shown}.map((view) => view.id)") == [f"view-{tab}"]
    assert page.errors == []
    assert opened.exists()


@pytest.mark.usefixtures("opened")
def test_counts_are_the_fabrics(page: Page, fabric: Fabric) -> None:
    assert figure(page, "switches") == len(fabric.switches)
    assert figure(page, "links") == len(fabric.cables)
    for role in Role:
        if nodes := sum(1 for _ in fabric.nodes_of(role)):
            assert figure(page, role) == nodes
    lists = {
        "switches": len(fabric.switches),
        "nodes": len(fabric.nodes),
        "cables": len(fabric.cables),
    }
    for name, count in lists.items():
        page.run(f"document.getElementById('tab-{name}').click()")
        total = page.run(f"document.querySelector('#view-{name} [aria-live]').textContent")
        assert total == f"{count:,} of {count:,} {name}"
    for tree, budget in fabric.budgets.items():
        cells = f"document.querySelector('[data-tree=\"{tree}\"]').cells"
        numbers = page.run(f"[...{cells}].slice(2).map((c) => +c.textContent.replace(/,/g, ''))")
        uses = [budget.compute, budget.storage, budget.management, budget.interzone]
        assert numbers == [*uses, budget.free, budget.used, budget.total]
    for layer in {switch.layer for switch in fabric.switches}:
        cells = f"document.querySelector('[data-layer=\"{layer}\"]').cells"
        numbers = page.run(f"[...{cells}].slice(2).map((c) => +c.textContent.replace(/,/g, ''))")
        held = {switch.name: switch.model.ports for switch in fabric.switches_of(layer)}
        ends = [end.device for cable in fabric.cables for end in (cable.a, cable.z)]
        cabled, total = sum(1 for device in ends if device in held), sum(held.values())
        assert numbers == [len(held), cabled, total - cabled, total]


@pytest.mark.usefixtures("opened")
def test_a_device_found_is_lit_and_its_ports_lead_where_its_cables_do(
    page: Page, fabric: Fabric
) -> None:
    leaf, spine = (next(fabric.switches_of(layer)).name for layer in (Layer.LEAF, Layer.SPINE))
    for device in (leaf, spine, fabric.nodes[-1].name, fabric.nodes[0].name):
        find(page, device)
        rows = expected_rows(fabric, device)
        assert port_rows(page) == rows
        lit = page.run("({...document.querySelector('#map-holder canvas:last-child').dataset})")
        peers = {far for _, far, _ in rows}
        assert lit == {"lit": device, "links": str(len(rows)), "peers": str(len(peers))}
        assert page.run("location.hash") == f"#fabric/{device}"


@pytest.mark.usefixtures("opened")
def test_a_cable_an_address_and_a_rack_are_found(page: Page, fabric: Fabric) -> None:
    cable = fabric.cables[-1]
    find(page, cable.id)
    heading = "document.querySelector('#selected h2').textContent.trim()"
    assert page.run(heading) == cable.id
    links = "[...document.querySelectorAll('#selected .pairs .link')].map((l) => l.textContent)"
    assert page.run(links)[:2] == [cable.a.device, cable.z.device]
    node = next(node for node in fabric.nodes if node.ports)
    find(page, str(node.ports[-1].address))
    assert page.run(heading).split()[0] == node.name
    find(page, node.place.rack)
    assert page.run("location.hash").startswith("#racks/")


@pytest.mark.usefixtures("opened")
def test_rows_of_the_cable_list_are_the_fabrics(page: Page, fabric: Fabric) -> None:
    page.run("document.getElementById('tab-cables').click()")
    some = {0, len(fabric.cables) // 3, len(fabric.cables) - 1}
    for number in sorted(some):
        cable = fabric.cables[number]
        row = page.run(
            f"""(() => {{ const rows = document.querySelector('#view-cables .rows');
            rows.scrollTop = {number * 24}; return new Promise((done) => setTimeout(() => done(
            [...rows.querySelectorAll('[aria-rowindex="{number + 1}"] [role=cell]')]
            .map((cell) => cell.textContent)), 80)); }})()"""
        )
        places = [fabric.device_place(end.device) for end in (cable.a, cable.z)]
        a, z = (f"{place.rack} U{place.unit:02d}" for place in places)
        ends = [cable.a.device, str(cable.a.number), a, cable.z.device, str(cable.z.number), z]
        assert row == [cable.id, *ends, cable.role, cable.medium, f"{cable.length_m:g}"]


@pytest.mark.usefixtures("opened")
def test_a_list_sorts_both_ways_and_filters(page: Page, fabric: Fabric) -> None:
    page.run("document.getElementById('tab-cables').click()")
    first = "document.querySelector('#view-cables [role=row] [role=cell]:last-child').textContent"
    last_head = "document.querySelector('#view-cables .heads > :last-child')"
    lengths = [cable.length_m for cable in fabric.cables]
    for order, expected in (("ascending", min(lengths)), ("descending", max(lengths))):
        page.run(f"{last_head}.firstChild.click()")
        assert page.run(f"{last_head}.getAttribute('aria-sort')") == order
        assert float(page.run(first)) == expected
    leaf = next(fabric.switches_of(Layer.LEAF)).name
    page.run("document.querySelector('#view-cables input').focus()")
    page.write(f"{leaf} host")
    held = sum(1 for cable in fabric.cables if cable.z.device == leaf and cable.role == "host")
    total = page.run("document.querySelector('#view-cables [aria-live]').textContent")
    assert total == f"{held:,} of {len(fabric.cables):,} cables"


@pytest.mark.usefixtures("opened")
def test_arrow_keys_walk_up_and_down_the_fabric(page: Page, fabric: Fabric) -> None:
    find(page, next(fabric.nodes_of(Role.COMPUTE)).name)
    page.run("document.querySelector('#map-holder canvas:last-child').focus()")
    node = next(fabric.nodes_of(Role.COMPUTE))
    page.press("ArrowUp")
    assert page.run("location.hash") == f"#fabric/{node.ports[0].leaf.device}"
    page.press("ArrowUp")
    uplink = next(
        cable
        for cable in sorted(fabric.cables, key=lambda cable: cable.a.number)
        if cable.a.device == node.ports[0].leaf.device
    )
    assert page.run("location.hash") == f"#fabric/{uplink.z.device}"
    page.press("Escape")
    assert page.run("location.hash") == "#fabric"


@pytest.mark.usefixtures("opened")
def test_arrow_keys_walk_the_racks(page: Page, fabric: Fabric) -> None:
    page.run("document.getElementById('tab-racks').click()")
    page.run("document.getElementById('rack-rows').focus()")
    find(page, fabric.switches[0].name)
    page.run("document.getElementById('rack-rows').focus()")
    start = fabric.switches[0].place
    places = {switch.name: switch.place for switch in fabric.switches}
    places |= {node.name: node.place for node in fabric.nodes}
    above = [n for n, p in places.items() if p.rack == start.rack and p.unit > start.unit]
    page.press("ArrowUp")
    nearest = min(above, key=lambda name: places[name].unit)
    assert page.run("location.hash") == f"#racks/{nearest}"
    page.press("ArrowLeft")
    moved = places[str(page.run("location.hash")).partition("/")[2]]
    columns = {place.column for place in places.values() if place.row == start.row}
    left = max((column for column in columns if column < start.column), default=start.column)
    assert (moved.row, moved.column) == (start.row, left)


def test_pointing_at_a_switch_shows_its_links(
    page: Page, written: WritePage, fire_flyer_2: Fabric
) -> None:
    page.open(written(fire_flyer_2))
    canvas = "document.querySelector('#map-holder canvas:last-child')"
    box = page.run(
        f"(() => {{ const b = {canvas}.getBoundingClientRect(); return [b.x, b.y]; }})()"
    )
    seen = set()
    for y in range(0, 390, 4):
        page.point(box[0] + 30, box[1] + y)
        seen.add(page.run(f"{canvas}.dataset.lit"))
        if name := page.run(f"{canvas}.dataset.lit"):
            tip = page.run("document.getElementById('tip').textContent")
            assert tip.startswith(name)
            first = expected_rows(fire_flyer_2, name)[0]
            assert first[1] in tip
    layers = {fire_flyer_2.switch[name].layer for name in seen if name in fire_flyer_2.switch}
    hosts = {fire_flyer_2.node[name].role for name in seen if name in fire_flyer_2.node}
    assert layers == {Layer.SPINE, Layer.LEAF}
    assert hosts == {Role.COMPUTE, Role.STORAGE}


def test_text_of_the_asset_list_is_never_markup(page: Page, lab: Fabric, tmp_path: Path) -> None:
    serial = "</script><img src=x onerror='document.title=1'>"
    switches = (replace(lab.switches[0], serial=serial), *lab.switches[1:])
    file = tmp_path / "report.html"
    file.write_text(report.files(replace(lab, switches=switches))["report.html"])
    page.open(file)
    find(page, serial)
    shown = page.run("document.querySelector('#selected .pairs').textContent")
    assert serial in shown
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.errors == []


def test_figures_are_those_of_the_plan(fabric: Fabric) -> None:
    site = load_site(REPO / "inventory" / fabric.intent.name)
    found = plan(fabric, shape_of(site))
    tiles = {figure.name: figure.value for figure in summary(fabric).figures}
    (tree,) = set(found.trees.values())
    assert tiles["bisection"] == f"{tree.bisection_tbps:,g}"
    assert tiles["oversubscription"] == f"{tree.oversubscription:.2f}"
    assert tiles["power"] == f"{found.power.total_kw:,.0f}"
    assert tiles["racks"] == f"{found.racks:,}"
    between = f"{found.interzone_gbps / 1000:g}" if found.interzone_gbps else None
    assert tiles.get("between zones") == between
