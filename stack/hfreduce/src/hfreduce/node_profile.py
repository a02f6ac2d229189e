"""What HFReduce knows of a node: GPUs, adapters, and what memory and root ports carry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

Value = TypeVar("Value")


class ProfileError(ValueError):
    """A profile that cannot be used. The message names the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """An accelerator, by where it hangs."""

    numa: int
    root_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """An adapter that HFReduce sends through."""

    gbit_per_s: float
    numa: int
    root_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProfile:
    """A node. Where a figure is None nobody knows it, and a limit that needs it is left out."""

    name: str
    gpus: tuple[Gpu, ...] = ()
    nvlink_pairs: tuple[tuple[int, int], ...] = ()
    nics: tuple[Nic, ...] = ()
    memory_gbytes_per_s: float | None = None
    """Practical, of the whole node."""
    root_port_gbytes_per_s: float | None = None
    add_gbytes_per_s: float | None = None
    """Read and written by one core that adds three float32 inputs, measured on such a node."""
    gdrcopy: bool = False
    nvlink_reduction: bool = False
    """Whether the pairs reduce over NVLink first."""

    def pair_of(self, gpu: int) -> tuple[int, int] | None:
        """Return the pair that a GPU reduces in, if it does."""
        pairs = self.nvlink_pairs if self.nvlink_reduction else ()
        return next((pair for pair in pairs if gpu in pair), None)

    def halves(self, gpu: int) -> frozenset[int]:
        """Return which halves of the data a GPU copies: both, or its own of its pair's."""
        pair = self.pair_of(gpu)
        return frozenset({0, 1}) if pair is None else frozenset({pair.index(gpu)})


def profile_from(value: object) -> NodeProfile:
    """Return the profile that a parsed JSON document holds, by itself or under `profile`.

    Raises:
        ProfileError: if a key is missing, unknown or not of its type.
    """
    if isinstance(value, Mapping) and isinstance(value.get("profile"), Mapping):
        value = value["profile"]
    profile: NodeProfile = _record(NodeProfile, value, "profile")
    paired = [gpu for pair in profile.nvlink_pairs for gpu in pair]
    if len(set(paired)) != len(paired) or not set(paired) <= set(range(len(profile.gpus))):
        raise ProfileError(
            f"profile.nvlink_pairs is {[list(pair) for pair in profile.nvlink_pairs]}; a pair has"
            " two GPUs, numbered from 0 as in profile.gpus, and a GPU is in one pair at most"
        )
    return profile


def _record(kind: type[Value], value: object, where: str) -> Value:
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if not isinstance(value, Mapping):
        raise ProfileError(f"{where} is {value!r}; it must be an object with {', '.join(known)}")
    if unknown := sorted(set(value) - set(known)):
        raise ProfileError(f"{where}.{unknown[0]} is not known; there are {', '.join(known)}")
    parsed: dict[str, Any] = {
        key: _field(key, each, f"{where}.{key}") for key, each in value.items()
    }
    try:
        return kind(**parsed)
    except TypeError as error:  # Python's own list of what is missing
        raise ProfileError(f"{where} lacks {str(error).rpartition(': ')[2]}") from error


def _field(key: str, value: object, where: str) -> object:
    if key in ("gpus", "nics", "nvlink_pairs"):
        if not isinstance(value, list):
            raise ProfileError(f"{where} is {value!r}; it must be a list")
        items = [(each, f"{where}[{index}]") for index, each in enumerate(value)]
        if key == "nvlink_pairs":
            return tuple(_pair(each, there) for each, there in items)
        return tuple(_record(Gpu if key == "gpus" else Nic, each, there) for each, there in items)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if key == "name":
        wanted, fits = "text", isinstance(value, str)
    elif key in ("gdrcopy", "nvlink_reduction"):
        wanted, fits = "true or false", isinstance(value, bool)
    elif key in ("numa", "root_port"):
        wanted, fits = "a number from 0", number and isinstance(value, int) and value >= 0
    else:
        wanted, fits = "more than 0", number and 0 < value < math.inf  # type: ignore[operator]
        if key != "gbit_per_s":
            wanted, fits = f"{wanted}, or null", fits or value is None
    if not fits:
        raise ProfileError(f"{where} is {value!r}; it must be {wanted}")
    return value


def _pair(value: object, where: str) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(type(gpu) is int for gpu in value):
        return value[0], value[1]
    raise ProfileError(f"{where} is {value!r}; it must be two numbers of GPUs")
