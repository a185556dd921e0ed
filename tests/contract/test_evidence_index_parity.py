"""The two indexes rank one corpus alike: terms, scores and order."""

from __future__ import annotations

import random

import pytest

from custody.adapters.opensearch_index import OpenSearchIndex
from custody.adapters.sqlite_index import SqliteIndex
from custody.domain.index.candidates import IndexEntry, LegHits, Space
from custody.domain.model import Leg
from tests.support.evidence import entry, fill, query, unit, wanted

pytestmark = pytest.mark.opensearch

ACME, PUBLIC = Space("acme"), Space("public")
_PIECES = [
    "the", "protein", "binds", "to", "a", "receptor", "and", "inhibits", "relational", "cells",
    "U.S.A.", "3.14", "can't", "naïve", "Straße", "Οδυσσέας", "ИСПЫТАНИЕ", "كتاب", "שלום",
    "नमस्ते", "ภาษาไทย", "北京大学", "東京でﾗｰﾒﾝ", "한국어", "👍🏽", "snake_case", "ＡＢＣ",
]  # fmt: skip


def corpus(source: random.Random, tenant: str, size: int) -> list[IndexEntry]:
    return [
        entry(
            f"{tenant}{n}",
            tenant=tenant,
            title=" ".join(source.choices(_PIECES, k=source.randint(0, 5))) or None,
            heading=source.choice([None, "Results", "北京"]),
            text=" ".join(source.choices(_PIECES, k=source.choice([1, 5, 30, 90, 400]))),
            acl=["everyone"] if n % 3 else ["user:x"],
            vector=unit(n % 50),  # many equal vectors
        )
        for n in range(size)
    ]


def ranking(found: LegHits) -> list[tuple[str, float]]:
    return [(hit.entry.chunk_id, hit.score) for hit in found[Leg.LEXICAL]]


@pytest.mark.parametrize("terms", [["everyone"], ["user:x"], ["everyone", "user:x"]])
def test_lexical_rankings_and_scores_are_the_same(
    sqlite_index: SqliteIndex, opensearch_index: OpenSearchIndex, terms: list[str]
) -> None:
    source = random.Random(11)
    mine, theirs = corpus(source, "acme", 150), corpus(source, "public", 60)
    for index in (sqlite_index, opensearch_index):
        fill(index, ACME, mine)
        fill(index, PUBLIC, theirs)
    for number in range(40):
        spaces = source.choice([(ACME,), (PUBLIC,), (ACME, PUBLIC)])
        asked = query(
            *spaces,
            text=" ".join(source.choices(_PIECES, k=source.randint(1, 8))),
            vector=unit(1_000 + number),
            depth=source.choice([1, 10, 50, 200]),
            only=wanted(terms=terms),
        )
        embedded, served = sqlite_index.search(asked), opensearch_index.search(asked)
        assert ranking(embedded) == ranking(served), asked.text
        assert [hit.entry for hit in embedded[Leg.LEXICAL]] == [
            hit.entry for hit in served[Leg.LEXICAL]
        ]
        assert [hit.entry.chunk_id for hit in embedded[Leg.SEMANTIC]] == [
            hit.entry.chunk_id for hit in served[Leg.SEMANTIC]
        ]
        for one, other in zip(embedded[Leg.SEMANTIC], served[Leg.SEMANTIC], strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-6)
