"""Switch configurations against the strictest check there is for each system."""
