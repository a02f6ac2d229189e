"""The report: one page to look at, which needs no network and no server.

Figures are printed into the page; devices, ports and cables travel as columns that the page
reads when it opens (`report_data`).
"""

from __future__ import annotations

from collections.abc import Mapping

from fireflyer.model.fabric import Fabric
from fireflyer.render import report_data, report_figures
from fireflyer.render.template import render

VIEWS = (
    ("fabric", "Fabric"),
    ("racks", "Racks"),
    ("ports", "Port budget"),
    ("switches", "Switches"),
    ("nodes", "Nodes"),
    ("cables", "Cables"),
)
"""Tabs of the page: the view's name there, and what the reader sees."""


def files(fabric: Fabric) -> Mapping[str, str]:
    """Return `report.html`, with its styles, its program and its data inside."""
    summary = report_figures.summary(fabric)
    data = report_data.text(fabric)
    page = render("report/report.html.j2", report=summary, data=data, views=VIEWS)
    return {"report.html": page}
