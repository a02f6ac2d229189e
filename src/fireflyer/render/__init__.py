"""Print a fabric's artefacts. Everything is decided before a template runs."""

from fireflyer.render.artefacts import GROUPS, artefacts

__all__ = ["GROUPS", "artefacts"]
