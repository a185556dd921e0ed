"""How fast, and for how long at a time, an index is built."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class BuildPace:
    """``lease``: a batch that was opened may be written so long, unless it is renewed. ``margin``:
    nothing is put when less than that is left of it; the index and the store give up a write sooner.
    ``run``: after that long a run sends itself on. ``longest``: a run that is still at one document
    leaves off. ``grace``: an index that was replaced is kept so long; no search takes longer.
    ``documents``, ``chunks``: the most that a batch holds, one document at least."""

    lease: timedelta = timedelta(seconds=60)
    margin: timedelta = timedelta(seconds=45)
    run: timedelta = timedelta(seconds=120)
    longest: timedelta = timedelta(seconds=240)
    grace: timedelta = timedelta(seconds=120)
    documents: int = 25
    chunks: int = 500
