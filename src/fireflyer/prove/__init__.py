"""Load rendered artefacts into real software and check what it computed."""

from fireflyer.prove.part import Part, Proof
from fireflyer.prove.prove import prove

__all__ = ["Part", "Proof", "prove"]
