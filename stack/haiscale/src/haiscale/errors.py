"""What haiscale raises when it is asked for something that it will not do."""

from __future__ import annotations


class HaiscaleError(ValueError):
    """A value that does not fit. The message names it, the limit, and what to change."""
