"""Compute a fabric from a site. Pure: the same site gives the same fabric everywhere."""

from fireflyer.design.fabric import design

__all__ = ["design"]
