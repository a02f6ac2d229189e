"""Values that pass between the steps: intent, hardware, fabric."""
