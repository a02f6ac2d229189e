"""Read a site: its intent, the hardware it names, its asset list. Read and refuse."""

from fireflyer.load.site import Site, load_site

__all__ = ["Site", "load_site"]
