"""The one analysis of text: what a term is, for indexing, for querying and for the gate.

Words by UAX #29 (``word_break``) -> width folding -> lower case -> pairs of adjacent Chinese,
Japanese and Korean characters -> English stop words out -> Porter's stems. ``ANALYZER`` is the same
chain for OpenSearch; a contract test compares the two over many scripts and every character.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

import Stemmer

from custody.domain.text.word_break import WordKind, ascii_words, words

ANALYSIS_VERSION = "1"
"""Raised with every change of terms: an index of another version must be rebuilt."""

# fmt: off
STOP_WORDS = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they",
    "this", "to", "was", "will", "with",
})
# fmt: on
"""Lucene's 33 English stop words."""

GATE_STOP_WORDS = STOP_WORDS - {"no", "not"}
"""Whether a question is answered may hang on a negation, so the gate keeps it."""

MAX_QUERY_TERMS = 512
"""Distinct terms of one query that are searched; OpenSearch allows 1,024 clauses by default."""

ANALYZER: dict[str, object] = {
    "filter": {
        "custody_stop": {"type": "stop", "stopwords": sorted(STOP_WORDS)},
        # Snowball's porter, as in PyStemmer: Lucene's own porter_stem differs in some fifty words.
        "custody_stem": {"type": "snowball", "language": "Porter"},
    },
    "analyzer": {
        "custody": {
            "type": "custom",
            "tokenizer": "standard",
            "filter": ["cjk_width", "lowercase", "cjk_bigram", "custody_stop", "custody_stem"],
        }
    },
}
"""The ``analysis`` section of an OpenSearch index that yields the same terms."""

_STEMMER = Stemmer.Stemmer("porter", 0)
_WIDTH = {
    chr(point): unicodedata.normalize("NFKC", chr(point))
    for point in (*range(0xFF01, 0xFF5F), *range(0xFF65, 0xFFA0))
}
_VOICE_MARKS = {"\uff9e": "\u3099", "\uff9f": "\u309a"}
# One character to one character, as Unicode's simple mapping has it: no final sigma, no dotted i.
_LOWER_FIRST = str.maketrans({"Σ": "σ", "İ": "i"})


def analyze(text: str) -> list[str]:
    """Terms of ``text`` in order, repeats included."""
    return _terms(text, STOP_WORDS)


def terms_for_gate(text: str) -> list[str]:
    """As ``analyze``, with "no" and "not" kept."""
    return _terms(text, GATE_STOP_WORDS)


def searched_terms(title: str | None, heading: str | None, text: str) -> list[str]:
    """Terms of one chunk as it is searched: its title and heading belong to it."""
    return [term for part in (title, heading, text) if part for term in analyze(part)]


def query_terms(text: str, *, limit: int = MAX_QUERY_TERMS) -> dict[str, int]:
    """Distinct terms of a query with how often each is asked for; at most ``limit`` of them, the
    most frequent first and then the earliest."""
    return dict(Counter(analyze(text)).most_common(limit))


def _terms(text: str, stop_words: frozenset[str]) -> list[str]:
    tokens = ascii_words(text.lower()) if text.isascii() else _tokens(text)
    return [_stem(token) for token in tokens if token not in stop_words]


def _tokens(text: str) -> Iterator[str]:
    run: list[str] = []  # characters of adjacent CJK words
    run_end = -1
    for start, end, kind in words(text):
        token = _lower(_fold_width(text[start:end]))
        if kind is WordKind.CJK:
            if start != run_end:
                yield from _pairs(run)
                run = []
            run.extend(token)
            run_end = end
            continue
        yield from _pairs(run)
        run = []
        yield token
    yield from _pairs(run)


def _pairs(run: list[str]) -> Iterable[str]:
    """Overlapping pairs; a lone character stands for itself."""
    if len(run) < 2:
        return run
    return [first + second for first, second in pairwise(run)]


def _fold_width(token: str) -> str:
    """Full-width ASCII and half-width katakana to their usual forms (Unicode's compatibility
    mappings), a half-width voice mark joined to the kana before it."""
    if not any("\uff01" <= char <= "\uff9f" for char in token):
        return token
    folded: list[str] = []
    for char in token:
        mark = _VOICE_MARKS.get(char)
        if mark is not None and folded and "\u30a6" <= folded[-1] <= "\u30fd":
            voiced = unicodedata.normalize("NFC", folded[-1] + mark)
            if len(voiced) == 1:
                folded[-1] = voiced
                continue
        folded.append(_WIDTH.get(char, char))
    return "".join(folded)


def _lower(token: str) -> str:
    return token.lower() if token.isascii() else token.translate(_LOWER_FIRST).lower()


@lru_cache(maxsize=65536)
def _stem(token: str) -> str:
    stem: str = _STEMMER.stemWord(token)
    return stem
