"""The error that every call of the package raises for what is not the caller's type mistake."""

from __future__ import annotations

from hfreduce._core import HFReduceError

__all__ = ["HFReduceError"]
