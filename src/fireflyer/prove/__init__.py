"""Load rendered artefacts into real software and check what it computed."""

from fireflyer.prove.prove import Proof, prove

__all__ = ["Proof", "prove"]
