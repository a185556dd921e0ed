"""Words of a text by the rules of Unicode Standard Annex #29, as search engines apply them.

The rules are those of UAX #29 (WB4 to WB13b) with three additions that Lucene's standard tokenizer
makes, since both indexes must cut alike: a Han or Hiragana character is a word of its own, a run of
South-East Asian script (Line_Break=SA) is one word, and an emoji sequence (UTS #51) is one word.
What is none of these separates words. A word is at most 255 UTF-16 units long; a longer one is cut
there and goes on as the next word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from custody.domain.text.word_break_classes import RANGES

MAX_UTF16_UNITS = 255
_SEPARATOR = "."


class WordKind(Enum):
    """``CJK`` words are the ones that are searched by pairs of characters."""

    PLAIN = "plain"
    CJK = "cjk"


class Word(NamedTuple):
    """``start`` and ``end`` count characters of the text."""

    start: int
    end: int
    kind: WordKind


class _Classes(dict[int, str]):
    """Code point -> class letter, for ``str.translate``. Fills itself as characters turn up."""

    def __init__(self) -> None:
        super().__init__()
        ranges: list[tuple[int, int, str]] = []
        for line in RANGES.strip().splitlines():
            letter, *spans = line.split(" ")
            for span in spans:
                first, _, last = span.partition("-")
                ranges.append((int(first, 16), int(last or first, 16), letter))
        ranges.sort()
        self._starts = [first for first, _, _ in ranges]
        self._ranges = ranges

    def __missing__(self, point: int) -> str:
        at = bisect_right(self._starts, point) - 1
        letter = _SEPARATOR
        if at >= 0 and point <= self._ranges[at][1]:
            letter = self._ranges[at][2]
        self[point] = letter
        return letter


_CLASSES = _Classes()

# WB4: a base takes every Extend, Format and ZWJ that follows (`_E`); inside an emoji the two
# presentation selectors are not among them (`_X`). Quantifiers are possessive where what follows
# can't start with the same class, so that matching is linear.
_E = "[etzkfFmxy]*+"
_X = "[etkmxy]"
_LETTER = f"[awhi]{_E}"
_NUMBER = f"[09]{_E}"
_QUOTED = f"w{_E}(?:D{_E}w{_E}|q{_E})"  # WB7a to WB7c
_LETTERS = f"{_LETTER}(?:[lbq]{_E}{_LETTER})*+"  # WB5 to WB7
_NUMBERS = f"{_NUMBER}(?:[nbq]{_E}{_NUMBER})*+"  # WB8, WB11, WB12
_JOINER = f"(?:_{_E})"  # WB13a, WB13b
_CORE = f"(?:(?:K{_E})++|(?:{_QUOTED}|{_NUMBERS}|{_LETTERS})++)"
_WORD = f"{_JOINER}*+{_CORE}(?:{_JOINER}++{_CORE})*+{_JOINER}*+"
# UTS #51. A ZWJ before a pictograph joins it; any other belongs to what stands before it.
_X_RUN = f"(?:{_X}|z(?!z*[pi]))*+"
_PICTOGRAPH = f"z*[pi]{_X_RUN}F?"
_MODIFIER = f"m{_X_RUN}"
_ZWJ_TAIL = f"(?:z(?:{_PICTOGRAPH}|{_MODIFIER}))"
_EMOJI = f"(?:{_PICTOGRAPH}|{_MODIFIER})(?:{_ZWJ_TAIL}++|x++y)?"
_KEYCAP = "#[etzkmxy]*+Fk[etzkmxy]*|#[etzkmxy]*k[etzkmxy]*"
_FLAG = f"g{_E}g{_E}"

_TOKEN = re.compile(
    f"(?P<plain>{_WORD}|(?:[st]{_E})++)|(?P<cjk>[cr]{_E})|(?P<emoji>{_EMOJI}|{_KEYCAP}|{_FLAG})"
)
_EMOJI_ONLY = re.compile(_EMOJI)
_ASCII_CORE = "(?:[0-9]++(?:[.,;'][0-9]++)*+|[A-Za-z]++(?:[.:'][A-Za-z]++)*+)++"
_ASCII_WORD = re.compile(f"_*+{_ASCII_CORE}(?:_++{_ASCII_CORE})*+_*+")
# Words of Hangul or Katakana alone are searched by pairs, as Han and Hiragana are.
_PURE = re.compile(f"(?:h{_E})+|(?:K{_E})+")


def words(text: str) -> Iterator[Word]:
    """The words of ``text``, in order. Linear in its length."""
    classes = text.translate(_CLASSES)
    emoji_letters = "i" in classes
    position = 0
    while True:
        for match in _TOKEN.finditer(classes, position):
            start, end = match.span()
            position = end
            if emoji_letters and classes[start] == "i":
                end = _longest(classes, start, len(classes))
            if end - start > MAX_UTF16_UNITS // 2:
                end = _cut(text, classes, start, end)
            kind = WordKind.CJK if match.lastgroup == "cjk" else WordKind.PLAIN
            if classes[start] in "hK" and _PURE.fullmatch(classes, start, end):
                kind = WordKind.CJK
            yield Word(start, end, kind)
            if end != position:
                position = end
                break
        else:
            return


def ascii_words(text: str) -> list[str]:
    """What ``words`` finds in a text of ASCII alone, several times faster."""
    found: list[str] = _ASCII_WORD.findall(text)
    if any(len(word) > MAX_UTF16_UNITS for word in found):
        return [text[start:end] for start, end, _ in words(text)]
    return found


def _longest(classes: str, start: int, limit: int) -> int:
    """End of the longest word at ``start``: a letter such as U+2139 starts an emoji as well."""
    ends = [
        match.end()
        for pattern in (_TOKEN, _EMOJI_ONLY)
        if (match := pattern.match(classes, start, limit)) is not None
    ]
    return max(ends)


def _cut(text: str, classes: str, start: int, end: int) -> int:
    """End of the word at ``start`` when no more than 255 UTF-16 units are looked at."""
    units = 0
    for limit in range(start, end):
        units += 2 if text[limit] > "\uffff" else 1
        if units > MAX_UTF16_UNITS:
            return _longest(classes, start, limit)
    return end
