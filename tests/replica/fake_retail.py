"""Azure's retail prices as far as preflight asks them, over HTTP and page by page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from tests import fake_http
from tests.fake_http import Answer, Asked


def item(size: str, usd: float, region: str = "eastus", **more: Any) -> dict[str, Any]:
    """Return a price as the list has it, of a machine with Linux on demand."""
    name = size.removeprefix("Standard_").replace("_", " ")
    return {
        "serviceName": "Virtual Machines",
        "armRegionName": region,
        "armSkuName": size,
        "priceType": "Consumption",
        "productName": "Virtual Machines Series",
        "skuName": name,
        "unitOfMeasure": "1 Hour",
        "retailPrice": usd,
        **more,
    }


@contextmanager
def serve(items: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Answer with the items that a filter asks for, one a page; yield the address."""

    def answer(asked: Asked) -> Answer:
        assert asked.path == "/api/retail/prices"
        assert "Authorization" not in asked.headers, "whose list anyone may read"
        wanted = dict(re.findall(r"(\w+) eq '([^']*)'", asked.query["$filter"]))
        found = [one for one in items if all(one[k] == v for k, v in wanted.items())]
        skip = int(asked.query.get("$skip", 0))
        page: dict[str, Any] = {"Items": found[skip : skip + 1], "NextPageLink": None}
        if skip + 1 < len(found):
            more = urlencode({**asked.query, "$skip": skip + 1})
            page["NextPageLink"] = f"{asked.url}?{more}"
        return 200, page

    with fake_http.serve(answer) as address:
        yield address
