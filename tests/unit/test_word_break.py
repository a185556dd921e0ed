"""Words by UAX #29 and the search engine's additions to it."""

from __future__ import annotations

import random

import pytest

from custody.domain.text.word_break import MAX_UTF16_UNITS, WordKind, ascii_words, words


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n", []),
        ("can't stop", ["can't", "stop"]),
        ("'quoted'", ["quoted"]),
        ("3.14 1,000.5 v1.2", ["3.14", "1,000.5", "v1.2"]),
        ("a.b a,b 1:2 a:b", ["a.b", "a", "b", "1", "2", "a:b"]),
        ("snake_case __x__ ___", ["snake_case", "__x__"]),
        ("e-mail me@x.org", ["e", "mail", "me", "x.org"]),
        ("cafe\u0301", ["cafe\u0301"]),
        ("צה\"ל ג'", ['צה"ל', "ג'"]),
        ("ภาษาไทย", ["ภาษาไทย"]),
        ("東京", ["東", "京"]),
        ("ひらがな", ["ひ", "ら", "が", "な"]),
        ("カタカナ語", ["カタカナ", "語"]),
        ("한국어 텍스트", ["한국어", "텍스트"]),
        ("👨‍👩‍👧👍🏽🇩🇪1️⃣", ["👨‍👩‍👧", "👍🏽", "🇩🇪", "1️⃣"]),
        ("#️⃣ #tag", ["#️⃣", "tag"]),
        ("🇩", []),
        ("ℹ️ ℹa", ["ℹ️", "ℹa"]),
        ("zero\u200bwidth so\u00adft", ["zero", "width", "so\u00adft"]),
    ],
)
def test_text_is_cut_where_the_standard_says(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize("script", ["東", "ひ", "カナ", "한국"])
def test_chinese_japanese_and_korean_words_are_marked(script: str) -> None:
    assert [word.kind for word in words(script)] == [WordKind.CJK]


def test_a_word_of_mixed_scripts_is_plain() -> None:
    assert [word.kind for word in words("한국abc")] == [WordKind.PLAIN]


@pytest.mark.parametrize("char", ["a", "カ", "𝐀"])
def test_long_words_are_cut_at_255_utf16_units(char: str) -> None:
    units = len(char.encode("utf-16-le")) // 2
    text = char * 600
    pieces = cut(text)
    assert "".join(pieces) == text
    assert len(pieces[0]) == MAX_UTF16_UNITS // units
    assert all(len(piece) * units <= MAX_UTF16_UNITS for piece in pieces)


def test_the_ascii_way_finds_the_same_words() -> None:
    source = random.Random(7)
    for _ in range(5_000):
        text = "".join(source.choice("ab1_'.,;:\"#* -") for _ in range(source.randint(0, 20)))
        assert ascii_words(text) == cut(text)
    assert ascii_words("x" * 600) == cut("x" * 600)


def test_hostile_repetition_takes_linear_time() -> None:
    for piece in ("a_", "'a", "1.", "z\u200d", "👨\u200d", "#\u20e3", "\u0301", 'א"'):
        assert len("".join(cut(piece * 50_000))) <= len(piece) * 50_000
