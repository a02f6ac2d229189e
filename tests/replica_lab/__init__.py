"""A replica's inventory, as the Pulumi program exports it, applied to the lab's containers."""
