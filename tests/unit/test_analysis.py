"""What a term is."""

from __future__ import annotations

import pytest

from custody.domain.text.analysis import analyze, query_terms, searched_terms, terms_for_gate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("the of and", []),
        ("The QUICK foxes were running", ["quick", "fox", "were", "run"]),
        ("東京都", ["東京", "京都"]),
        ("東", ["東"]),
        ("東京 大阪", ["東京", "大阪"]),
        ("日本のカタカナ", ["日本", "本の", "のカ", "カタ", "タカ", "カナ"]),
        ("ｶﾞｷﾞ ﾊﾟﾝ", ["ガギ", "パン"]),
        ("ＡＢＣ１２３ ｔｈｅ", ["abc123"]),
        ("한국어", ["한국", "국어"]),
        ("ΟΔΟΣ", ["οδοσ"]),
        ("İstanbul STRASSE straße", ["istanbul", "strass", "straße"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert analyze(text) == expected


def test_the_gate_keeps_negation() -> None:
    assert analyze("is it not so, no") == ["so"]
    assert terms_for_gate("is it not so, no") == ["not", "so", "no"]


def test_title_and_heading_are_searched_with_the_text() -> None:
    assert searched_terms("Red fox", None, "runs") == ["red", "fox", "run"]
    assert searched_terms("東", "京", "都") == ["東", "京", "都"]  # no pair spans two fields


def test_query_terms_count_repeats_and_keep_the_most_frequent() -> None:
    assert query_terms("fox fox dog") == {"fox": 2, "dog": 1}
    assert query_terms("c b a fox b", limit=2) == {"b": 2, "c": 1}
    assert len(query_terms("".join(map(chr, range(0x4E00, 0x4E00 + 2_000))))) == 512
