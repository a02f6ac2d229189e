"""What Azure's list asks for a machine on demand, from its retail prices, which anyone may read.

Microsoft, "Azure Retail Prices overview": filters mind the case of letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from azure.core import PipelineClient
from azure.core.exceptions import AzureError
from azure.core.pipeline.policies import RetryPolicy
from azure.core.rest import HttpRequest

LIST = "https://prices.azure.com"
VERSION = "2023-01-01-preview"
PATIENCE_S = 10
CHEAPER = ("Spot", "Low Priority")
"""In the name of a price that is not that of a machine on demand."""


def usd_per_hour(types: Iterable[str], region: str, endpoint: str = LIST) -> dict[str, float]:
    """Return the price in USD an hour of each size that the list has one of.

    None is no reason to stop: the list is elsewhere than Azure's management interface, and a
    network may let the one through and not the other.
    """
    client = PipelineClient(endpoint, policies=[RetryPolicy(retry_total=2)])
    found = {}
    try:
        for name in types:
            prices = [item["retailPrice"] for item in _items(client, name, region) if _linux(item)]
            if prices:
                found[name] = float(max(prices))
    except (AzureError, ValueError, KeyError):
        return found
    return found


def _items(client: PipelineClient[Any, Any], name: str, region: str) -> Iterator[dict[str, Any]]:
    wanted = {"serviceName": "Virtual Machines", "armRegionName": region, "armSkuName": name,
              "priceType": "Consumption"}  # fmt: skip
    params = {
        "api-version": VERSION,
        "$filter": " and ".join(f"{key} eq '{value}'" for key, value in wanted.items()),
    }
    link, more = client.format_url("/api/retail/prices"), params
    while link:
        request = HttpRequest("GET", link, params=more)
        answer = client.send_request(
            request, connection_timeout=PATIENCE_S, read_timeout=PATIENCE_S
        )
        answer.raise_for_status()
        page = answer.json()
        yield from page["Items"]
        link, more = page.get("NextPageLink"), {}


def _linux(item: dict[str, Any]) -> bool:
    return (
        item["unitOfMeasure"] == "1 Hour"
        and "Windows" not in item["productName"]
        and not any(word in item["skuName"] for word in CHEAPER)
    )
