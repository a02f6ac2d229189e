"""Build the container image that stands in for a machine in molecule and in the lab."""
