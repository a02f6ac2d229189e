"""What other programs consume of a fabric, a folder each: inventories, labs, checkers, simulators.

A format that makes no sense for the site's technology has no file. docs/exports.md says which
program reads what.
"""

from fireflyer.render.exports.consumers import CONSUMERS, files

__all__ = ["CONSUMERS", "files"]
