"""The words of a question that an answer must speak of, and words of evidence for a rewrite."""

from __future__ import annotations

from collections.abc import Iterator

from custody.domain.text.analysis import analyze, terms_for_gate
from custody.domain.text.word_break import WordKind, words

# Words that ask rather than name: answering evidence has no need to repeat them. Negations are not
# here: whether a question is answered may hang on them.
_ASKING = (
    "what who whom whose which when where why how many much often long do does did done have has "
    "had having can could should would may might must shall am were been being i me my we us our "
    "you your he him his she her its them so than too very about from between tell explain "
    "describe please give say let know want need get some any there here"
)
ASKING_TERMS = frozenset(terms_for_gate(_ASKING))


def content_terms(question: str) -> frozenset[str]:
    """Distinct index terms of the question that carry content; empty for "who are they?" and for a
    question of emoji, which are terms but say nothing that could be answered."""
    terms = frozenset(terms_for_gate(question)) - ASKING_TERMS
    return frozenset(term for term in terms if any(map(str.isalnum, term)))


def evidence_terms(*parts: str | None) -> frozenset[str]:
    """Distinct terms of an item's title, heading and text, negations included."""
    return frozenset(term for part in parts if part for term in terms_for_gate(part))


def term_of(word: str) -> str | None:
    """The index term of one word; None for a stop word, an asking word or no single term."""
    terms = analyze(word)
    return terms[0] if len(terms) == 1 and terms[0] not in ASKING_TERMS else None


def surface_words(text: str) -> Iterator[str]:
    """Words as they stand, in lower case; of scripts written without spaces, adjacent pairs, which
    are what the index holds."""
    run, run_end = "", -1
    for start, end, kind in words(text):
        if kind is WordKind.CJK:
            if start != run_end:
                yield from _pairs(run)
                run = ""
            run, run_end = run + text[start:end], end
            continue
        yield from _pairs(run)
        run = ""
        yield text[start:end].lower()
    yield from _pairs(run)


def feedback_words(title: str | None, text: str) -> tuple[str, ...]:
    """The words of a chunk that a rewrite is made from, in order; positions in a trace count in
    these."""
    return tuple(surface_words(f"{title or ''} {text}"))


def _pairs(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for at in range(len(run) - 1):
        yield run[at : at + 2]
