"""Compare what was observed with what was planned. Values in, findings out, no I/O."""
