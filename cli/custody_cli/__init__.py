"""The `custody` command."""
