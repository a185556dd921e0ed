"""Documents of every supported type to text: the ``Parser`` port."""

from __future__ import annotations

from custody.adapters.parsers.format_parser import FormatParser
from custody.adapters.parsers.limits import Limits

__all__ = ["FormatParser", "Limits"]
