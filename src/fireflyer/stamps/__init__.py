"""Which hosts a role was applied to as it stands: they are not changed again, but asked."""
