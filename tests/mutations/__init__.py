"""Random edits of rendered files: does `prove` read what changed, and nothing else?"""
