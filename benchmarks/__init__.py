"""Figures, each made by one command that prints one JSON object as its last line."""
