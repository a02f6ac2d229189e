"""The blueprint of a Fire-Flyer-style AI-HPC cluster: from intent to proved artefacts.

The way data takes: `load` reads a site's intent, `design` computes the fabric, `render`
prints its artefacts, `prove` loads them into real software, and `verify` compares what
was observed with what was planned.
"""

__version__ = "0.1.0"
