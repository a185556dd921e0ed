"""Shared parts of the tests: real services started once a machine, and helpers."""
