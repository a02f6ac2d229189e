"""A replica's plan as resources: what is the same for every provider, and a package for each."""
