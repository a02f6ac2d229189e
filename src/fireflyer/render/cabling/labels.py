"""Two labels a cable, as a list and as the language of label printers."""

from __future__ import annotations

from collections.abc import Sequence

from fireflyer.render.cabling.ends import Ends, field
from fireflyer.render.template import render

COLUMNS = ("pull", "cable_id", "end", "near", "far")


def label_list(ordered: Sequence[Ends]) -> str:
    """Return the labels in pull order, for any label program that reads CSV."""
    lines = [",".join(COLUMNS)]
    for entry in ordered:
        cable = entry.cable
        near, far = field(entry.a.label), field(entry.z.label)
        first = f"{cable.pull},{cable.id},"
        lines += (
            f"{first}a,{near},{far}",
            f"{first}z,{far},{near}",
        )
    lines.append("")
    return "\n".join(lines)


def printer_file(ordered: Sequence[Ends]) -> str:
    """Return the labels in ZPL II: the form once, then what each label puts into it.

    The printer draws the QR code, which holds the cable's id.
    """
    lines = [render("cabling/label.zpl.j2")]
    for entry in ordered:
        first = f"^XA^XFR:CABLE.ZPL^FN1^FDQA,{entry.cable.id}^FS^FN2^FD{entry.cable.id}^FS"
        near, far = entry.a.label, entry.z.label
        lines += (
            f"{first}^FN3^FD{near}^FS^FN4^FD{far}^FS^XZ\n",
            f"{first}^FN3^FD{far}^FS^FN4^FD{near}^FS^XZ\n",
        )
    return "".join(lines)
