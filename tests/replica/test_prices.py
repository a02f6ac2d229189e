"""What the providers' lists are asked, and what is made of their answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.replica import fake_retail

from infra.aws import prices as aws
from infra.azure import prices as azure


def product(*prices: str, unit: str = "Hrs") -> str:
    """Return a product as AWS's price list has it, with a term of its own for each price."""
    terms = {
        f"SKU.{n}": {"priceDimensions": {"x": {"unit": unit, "pricePerUnit": {"USD": usd}}}}
        for n, usd in enumerate(prices)
    }
    return json.dumps({"product": {}, "terms": {"OnDemand": terms}})


class FakePrices:
    """AWS's price list service: moto has none."""

    products: dict[str, list[str]]

    def get_products(self, *, ServiceCode: str, Filters: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        asked = {one["Field"]: one["Value"] for one in Filters}
        assert ServiceCode == "AmazonEC2"
        assert {one["Type"] for one in Filters} == {"TERM_MATCH"}
        assert asked["operatingSystem"] == "Linux"
        assert asked["regionCode"] == "us-west-2"
        if asked["instanceType"] not in self.products:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetProducts")
        return {"PriceList": self.products[asked["instanceType"]]}


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> FakePrices:
    service = FakePrices()

    def client(name: str, **more: Any) -> FakePrices:
        assert (name, more["region_name"]) == ("pricing", "us-east-1"), "it is not in all regions"
        return service

    monkeypatch.setattr(aws.boto3, "client", client)
    return service


def test_aws_is_asked_in_the_region_that_answers_for_the_replicas(listed: FakePrices) -> None:
    listed.products = {"a": [product("21.957642")], "b": [product("0", "0.192", "0.1")], "c": []}
    found = aws.usd_per_hour(["a", "b", "c"], "us-west-2")
    assert found == {"a": 21.957642, "b": 0.192}


def test_a_price_of_aws_by_another_unit_is_none(listed: FakePrices) -> None:
    listed.products = {"a": [product("5", unit="Quantity")]}
    assert aws.usd_per_hour(["a"], "us-west-2") == {}


def test_aws_may_refuse_to_tell(listed: FakePrices) -> None:
    listed.products = {"a": [product("1")]}
    assert aws.usd_per_hour(["a", "forbidden"], "us-west-2") == {"a": 1.0}


def test_azures_price_is_that_of_linux_on_demand() -> None:
    size = "Standard_ND96asr_v4"
    items = [
        fake_retail.item(size, 2.99, skuName="ND96asr v4 Spot"),
        fake_retail.item(size, 5.44, skuName="ND96asr v4 Low Priority"),
        fake_retail.item(size, 31.6, productName="Virtual Machines NDasrv4 Series Windows"),
        fake_retail.item(size, 27.197),
        fake_retail.item(size, 32.63, region="southcentralus"),
        fake_retail.item(size, 140_000.0, priceType="Reservation"),
        fake_retail.item("Standard_L8s_v3", 0.696),
    ]
    asked = [size, "Standard_L8s_v3", "Standard_B2s"]
    with fake_retail.serve(items) as endpoint:
        assert azure.usd_per_hour(asked, "eastus", endpoint) == {size: 27.197, asked[1]: 0.696}
        assert azure.usd_per_hour([size], "southcentralus", endpoint) == {size: 32.63}


def test_a_list_that_cannot_be_reached_is_no_reason_to_stop() -> None:
    assert azure.usd_per_hour(["Standard_B2s"], "eastus", "http://127.0.0.1:9") == {}
