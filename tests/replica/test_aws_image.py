"""What the program asks AWS for its image, and that every machine starts from the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.replica.conftest import Run

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
IMAGES: Mapping[str, tuple[dict[str, str], dict[str, Any]]] = {
    "id": (
        {"id": "ami-0fedcba9876543210"},
        {"filters": [{"name": "image-id", "values": ["ami-0fedcba9876543210"]}]},
    ),
    "name": (
        {"owner": "123456789012", "name": "debian-12-gpu-7"},
        {
            "owners": ["123456789012"],
            "filters": [{"name": "name", "values": ["debian-12-gpu-7"]}],
        },
    ),
}


@pytest.mark.parametrize("pinned", IMAGES)
def test_an_image_is_asked_for_by_owner_and_whole_name(pinned: str, run: Run) -> None:
    image, asked = IMAGES[pinned]
    _, graph = run("pair", {"replica.image": image})
    assert graph.questions == [("aws:ec2/getAmi:getAmi", {**asked, "mostRecent": False})]
    found = image.get("id", "ami-0123456789abcdef0")
    for template in graph.of(TEMPLATE):
        assert template.inputs["imageId"] == found
    assert graph.one("aws:ec2/instance:Instance", "bastion").inputs["ami"] == found
