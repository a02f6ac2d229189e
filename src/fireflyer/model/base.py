"""What every value read from a file has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=40)]
"""A DNS label."""


class Record(BaseModel):
    """A mapping of a YAML file: frozen, no unknown key, no silent conversion."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
