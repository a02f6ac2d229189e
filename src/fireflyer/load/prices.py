"""Read a price list: the user's own file; none is shipped."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path

from fireflyer.errors import IntentError, Problem
from fireflyer.load.document import Document, read
from fireflyer.load.typed import parse
from fireflyer.model.cable_parts import CableOffer
from fireflyer.model.hardware import Catalogue
from fireflyer.model.prices import PriceList


def load_prices(file: Path, catalogue: Catalogue) -> PriceList:
    """Read prices of things that the catalogue knows.

    Raises:
        IntentError: with everything that is malformed, unknown or priced twice.
    """
    document = read(file)
    prices = parse(document, PriceList)
    offers = [offer for family in catalogue.cables.values() for offer in family.offers]
    optics = {plug.part for offer in offers for plug in offer.plugs if plug.part}
    problems = [
        *_unknown(document, "switches", prices.switches, catalogue.switches),
        *_unknown(document, "nodes", prices.nodes, catalogue.nodes),
        *_unknown(document, "transceivers", prices.transceivers, optics),
        *_unknown(document, "fittings", prices.fittings, _fittings(offers)),
        *_cable_problems(document, prices, {offer.part for offer in offers} | _trunks(offers)),
    ]
    if problems:
        raise IntentError(problems)
    return prices


def _fittings(offers: Iterable[CableOffer]) -> set[str]:
    managers = {f"cable-manager-{units}u" for units in range(1, 5)} | {"cable-manager-vertical"}
    return managers | {offer.trunk.panel for offer in offers if offer.trunk}


def _trunks(offers: Iterable[CableOffer]) -> set[str]:
    trunks = [offer.trunk for offer in offers if offer.trunk]
    return {f"{trunk.part}-{fibres}F" for trunk in trunks for fibres in trunk.fibres}


def _unknown(
    document: Document, key: str, priced: Iterable[str], known: Iterable[str]
) -> Iterator[Problem]:
    names = sorted(known)
    for name in priced:
        if name not in names:
            yield document.problem(f"{key}.{name}", None, *_no_such(name, names))


def _cable_problems(document: Document, prices: PriceList, known: set[str]) -> Iterator[Problem]:
    seen: dict[tuple[str, float | None], int] = {}
    for index, row in enumerate(prices.cables):
        key = f"cables.{index}"
        if row.part not in known:
            yield document.problem(f"{key}.part", row.part, *_no_such(row.part, sorted(known)))
        if (first := seen.setdefault((row.part, row.length_m), index)) != index:
            limit = f"has a price for this length in row {first + 1} already"
            yield document.problem(f"{key}.part", row.part, limit, "keep one")


def _no_such(name: str, known: list[str]) -> tuple[str, str]:
    """Return limit and remedy of a name that nothing under hardware/ has."""
    close = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {close[0]}?" if close else f"remove it; known: {', '.join(known)}"
    return "is not under hardware/", remedy
