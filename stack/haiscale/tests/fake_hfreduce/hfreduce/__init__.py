"""Stands for the package of stack/hfreduce, where that is not installed."""
