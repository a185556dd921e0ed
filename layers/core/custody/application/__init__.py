"""Use cases, one module each, and the ports that they call."""
