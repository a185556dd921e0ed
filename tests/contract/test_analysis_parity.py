"""OpenSearch's analyzer yields the terms of ``domain.analysis``, on a real node."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator

import pytest
from opensearchpy import OpenSearch

from custody.domain.text.analysis import ANALYZER, analyze

pytestmark = pytest.mark.opensearch

TEXTS = {
    "english": "The patient's results weren't 3.14% or 1,000.5 — isn't it? U.S.A. e-mail: me@x.org",
    "german": "Die Straßenbahnhaltestelle ÜBER dem Fluß; Größe: 10 m²",
    "greek": "Η ΟΔΟΣ του Οδυσσέα, ΣΟΦΟΣ καὶ ἀνήρ",
    "russian": "Съешь ещё этих мягких французских булок, да выпей чаю",
    "turkish": "İSTANBUL'da ılık IŞIK",
    "arabic": "السَّلَامُ عَلَيْكُمْ ١٢٣٫٤٥ الكتاب؛ قال",
    "hebrew": "צה\"ל וג'ירפה שָׁלוֹם ד״ר",
    "hindi": "नमस्ते दुनिया, क्षत्रिय १२३",
    "thai": "ภาษาไทยไม่มีช่องว่าง และตัวเลข ๑๒๓",
    "burmese and khmer": "မြန်မာဘာသာ ភាសាខ្មែរ ພາສາລາວ",
    "chinese": "北京大学的研究人员发现了新的方法，2021年发表。〇〆々",
    "japanese": "東京でﾗｰﾒﾝを食べました。ｶﾞｷﾞｸﾞ ﾊﾟﾋﾟﾌﾟ コンピューター・サイエンス 人々",
    "korean": "한국어 문장은 띄어쓰기가 있다. ㄱㄴㄷ 한국abc",
    "emoji": "I 👍🏽 the 👨‍👩‍👧‍👦 family 🇩🇪🇫🇷🇩 ❤️ 1️⃣ #️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ℹ️ Ⓜ ©",
    "mixed": "COVID-19の影響 iPhone15プロ vs. Galaxy S24——比較①② ＡＢＣ１２３",
    "numbers": "1.2.3 1,2,3 1;2 1:2 1_000 0x1F ½ ² ３．１４ ٣٤٫٥",
    "punctuation": "'tis ''quoted'' a.b.c a:b a·b l'été ’tis it’s don＇t __init__ _ ___",
    "zero width": "a\u200bb c\u200cd e\u200df \ufeffg h\u00adi j\u2060k l\u00a0m n\u202fo",
    "combining": "cafe\u0301 n\u0303 \u0301a Z\u0351\u036b\u0343a\u0323\u0321lgo",
    "bidi": "abc \u202eאבג\u202c def \u2067x\u2069",
    "long words": "x" * 600 + " " + "𝐀" * 300 + " " + "カ" * 300 + " y" + "\u0301" * 400,
    "stems": "relational conditional hopping ponies ties caress skies dying news us gas yes",
    "stop words": "The of and ＴＨＥ no not",
    "control": "a\u0000b c\u0001d\r\ne\u2028f",
}


@pytest.fixture(scope="module")
def terms(opensearch_url: str) -> Iterator[Callable[[str], list[str]]]:
    client = OpenSearch(opensearch_url)
    index = f"parity-{uuid.uuid4().hex[:12]}"
    settings = {"analysis": ANALYZER, "index.analyze.max_token_count": 100_000}
    client.indices.create(index=index, body={"settings": settings})

    def analyzed(text: str) -> list[str]:
        body = {"analyzer": "custody", "text": text}
        return [
            token["token"] for token in client.indices.analyze(index=index, body=body)["tokens"]
        ]

    yield analyzed
    client.indices.delete(index=index)
    client.close()


@pytest.mark.parametrize("script", TEXTS)
def test_terms_are_the_same_in_every_script(terms: Callable[[str], list[str]], script: str) -> None:
    assert analyze(TEXTS[script]) == terms(TEXTS[script])


def test_terms_are_the_same_in_30_000_characters(terms: Callable[[str], list[str]]) -> None:
    source = random.Random(5)
    pieces = list(TEXTS.values())
    text = ""
    while len(text) < 30_000:
        piece = source.choice(pieces)
        at = source.randrange(len(piece))
        text += piece[at : at + source.randint(1, 60)] + source.choice(["", " ", "\n"])
    assert analyze(text[:30_000]) == terms(text[:30_000])


@pytest.mark.slow
def test_terms_are_the_same_for_every_character(terms: Callable[[str], list[str]]) -> None:
    points = [point for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    for start in range(0, len(points), 4_000):
        chars = [chr(point) for point in points[start : start + 4_000]]
        text = "\n".join(f"{char} a{char}{char}b" for char in chars)
        assert analyze(text) == terms(text), f"from U+{points[start]:04X}"
