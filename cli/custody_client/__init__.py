"""Typed Python client of the Custody HTTP API."""
