"""Every rendered file read back as its consumer reads it, and compared with the fabric.

A module a format, each with a function that takes the fabric and the tree and returns findings.
They share nothing with `fireflyer.render`: columns, options and grammars are those that the
consumer documents.
"""
