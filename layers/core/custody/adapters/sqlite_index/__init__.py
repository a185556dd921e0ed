"""The embedded evidence index: one SQLite file, no server."""

from custody.adapters.sqlite_index.index import SqliteIndex

__all__ = ["SqliteIndex"]
