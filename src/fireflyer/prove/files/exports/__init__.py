"""What other programs consume, read back: names, links, addresses and counts of every export.

Whether each program takes its file is the tests' to show, with the program itself.
"""

from fireflyer.prove.files.exports.consumers import exports

__all__ = ["exports"]
