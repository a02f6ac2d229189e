"""Edits of `pulumi/` that change its meaning: the replica's tests must find them."""
