"""Custody: retrieval that hands on only evidence that is signed, permitted, live and sufficient."""

__version__ = "0.1.0"
