"""Edits of roles that change what they do to a host: the roles' scenarios must find them."""
