"""What AWS's list asks for an instance on demand, from its price list service.

AWS, "Finding services and products using the AWS Price List Query API": the service answers in
few regions, for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

HOME = "us-east-1"
BRIEF = Config(connect_timeout=10, read_timeout=10, retries={"max_attempts": 2})
LINUX_ON_DEMAND = {
    "operatingSystem": "Linux",
    "preInstalledSw": "NA",
    "tenancy": "Shared",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


def usd_per_hour(
    types: Iterable[str], region: str, endpoint: str | None = None
) -> dict[str, float]:
    """Return the price in USD an hour of each type that the service tells one of.

    None is no reason to stop: an account may plan a replica without `pricing:GetProducts`.
    """
    found = {}
    try:
        client = boto3.client("pricing", region_name=HOME, endpoint_url=endpoint, config=BRIEF)
        for name in types:
            wanted = {**LINUX_ON_DEMAND, "instanceType": name, "regionCode": region}
            filters = [{"Type": "TERM_MATCH", "Field": f, "Value": v} for f, v in wanted.items()]
            answer = client.get_products(ServiceCode="AmazonEC2", Filters=filters)
            prices = [price for text in answer["PriceList"] for price in _of(json.loads(text))]
            if prices:
                found[name] = max(prices)
    except (BotoCoreError, ClientError):
        return found
    return found


def _of(product: dict[str, Any]) -> list[float]:
    """Return the prices of a product; one of nought is that of a machine inside a reservation."""
    return [
        price
        for term in product.get("terms", {}).get("OnDemand", {}).values()
        for dimension in term["priceDimensions"].values()
        if dimension["unit"] == "Hrs" and (price := float(dimension["pricePerUnit"]["USD"])) > 0
    ]
