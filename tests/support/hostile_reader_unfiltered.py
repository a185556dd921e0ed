"""As ``hostile_reader``, on a platform that refuses a filter of system calls."""

from __future__ import annotations

from custody.adapters.parsers import worker
from tests.support import hostile_reader

if __name__ == "__main__":
    worker.main(hostile_reader.read, has_filter=lambda: False)
