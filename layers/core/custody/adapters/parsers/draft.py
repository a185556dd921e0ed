"""What a format's parser hands on, before hygiene looks at it."""

from __future__ import annotations

from dataclasses import dataclass

from custody.application.ports import Block


@dataclass(frozen=True, slots=True)
class Draft:
    """``concealed`` is text that was in the document and isn't shown: inspected, never kept."""

    blocks: tuple[Block, ...]
    title: str | None = None
    signals: tuple[str, ...] = ()
    active_content_removed: bool = False
    concealed: str = ""
