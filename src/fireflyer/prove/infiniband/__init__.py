"""InfiniBand: the rendered fabric in ibsim, routed by a real OpenSM."""
