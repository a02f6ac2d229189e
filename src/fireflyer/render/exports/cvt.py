"""The point-to-point sheet of NVIDIA's cable validation tool, as a workbook and as CSV.

On InfiniBand its host ports are numbers, which `hca-mapping.csv` names; on Ethernet they are
interfaces.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from typing import Final

from fireflyer.render.exports.wiring import Files, Link, Wiring

COLUMNS: Final = ("A-Node Name", "A-Type", "A-Port", "Z-Node Name", "Z-Type", "Z-Port")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The first date a zip archive can hold: the workbook depends on the fabric alone."""
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_SHEET_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PARTS: Final = {
    "[Content_Types].xml": f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels"'
    ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"/>'
    "</Types>",
    "_rels/.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1"'
    f' Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets>'
    '<sheet name="P2P" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
    "</Relationships>",
}


def files(wiring: Wiring) -> Files:
    """Yield `p2p.xlsx`, `p2p.csv` and, on InfiniBand, `hca-mapping.csv`."""
    ethernet = wiring.fabric.is_ethernet
    rows = [COLUMNS, *(_row(link, ethernet) for link in wiring.links)]
    yield "p2p.csv", "".join([",".join(row) + "\n" for row in rows])
    yield "p2p.xlsx", _workbook(rows)
    if not ethernet:
        ports = {p.number: p.hca for node in wiring.fabric.nodes for p in node.ports}
        lines = [f"{number},{hca}\n" for number, hca in sorted(ports.items())]
        yield "hca-mapping.csv", "port,hca-name\n" + "".join(lines)


def _row(link: Link, ethernet: bool) -> tuple[str, ...]:
    kind = "Host" if link.host else "Switch"
    if ethernet:
        return (link.a, kind, link.a_port, link.z, "Switch", link.z_port)
    return (link.a, kind, str(link.a_number), link.z, "Switch", str(link.z_number))


def _workbook(rows: Iterable[tuple[str, ...]]) -> bytes:
    """Return a workbook of one sheet of text. Names and ports hold nothing that XML escapes."""
    body = "".join(
        [
            '<row><c t="inlineStr"><is><t>'
            + '</t></is></c><c t="inlineStr"><is><t>'.join(row)
            + "</t></is></c></row>"
            for row in rows
        ]
    )
    sheet = f'{_XML}<worksheet xmlns="{_MAIN}"><sheetData>{body}</sheetData></worksheet>'
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in (_PARTS | {"xl/worksheets/sheet1.xml": sheet}).items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), text, zipfile.ZIP_DEFLATED, 1)
    return data.getvalue()
