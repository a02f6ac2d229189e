"""What every value read from a file has in common."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
NAME_PATTERN = f"^{_LABEL}$"
DNS_NAME_PATTERN = rf"^{_LABEL}(\.{_LABEL})*$"

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=40)]
"""A DNS label."""
DnsName = Annotated[str, Field(pattern=DNS_NAME_PATTERN, max_length=200)]
"""A DNS name or an IPv4 address: both are labels with dots between."""
Technology = Literal["infiniband", "ethernet"]
Connector = Literal["qsfp56", "qsfp112", "osfp", "qsfp-dd"]


class Record(BaseModel):
    """A mapping of a YAML file: frozen, no unknown key, no silent conversion, no infinity."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)
