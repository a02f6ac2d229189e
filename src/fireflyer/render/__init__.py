"""Print a fabric's artefacts. Everything is decided before a template runs."""

from fireflyer.render.artefacts import GROUPS, artefacts, batches, stream, workers

__all__ = ["GROUPS", "artefacts", "batches", "stream", "workers"]
