"""What every evidence index must do."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from custody.application.ports import EvidenceIndex
from custody.domain.index.candidates import IndexEntry, LegHits, Range, Space
from custody.domain.model import Acl, DocumentKey, Leg, MetadataValue, SourceKey
from custody.errors import CustodyError, IntegrityError, Unavailable, Unprocessable
from tests.support.evidence import (
    DIMENSIONS,
    MODEL,
    NOW,
    chunk_id_of,
    entry,
    fill,
    lexical,
    query,
    semantic,
    unit,
    wanted,
)

ACME = Space("acme")
QUERY = unit(4242)


def both_legs(index: EvidenceIndex, text: str, depth: int = 50, **filters: Any) -> LegHits:
    only = wanted(**filters)
    return index.search(query(ACME, text=text, vector=QUERY, depth=depth, only=only))


class TestWhatIsFound:
    def test_a_space_that_does_not_exist_proposes_nothing(self, index: EvidenceIndex) -> None:
        found = index.search(query(ACME, Space("other"), text="fox", vector=QUERY))
        assert found == LegHits()
        assert index.count(ACME, DocumentKey("acme", "doc")) == 0

    def test_a_space_that_does_not_exist_takes_nothing_from_another(
        self, index: EvidenceIndex
    ) -> None:
        fill(index, ACME, [entry("a", text="fox")])
        found = index.search(query(Space("public"), ACME, text="fox", vector=QUERY))
        assert lexical(found) == semantic(found) == ["a"]

    def test_an_empty_space_proposes_nothing(self, index: EvidenceIndex) -> None:
        index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
        index.refresh([ACME])
        assert index.search(query(ACME, text="fox", vector=QUERY)) == LegHits()

    def test_a_hit_is_the_entry_that_was_put_without_its_vector(self, index: EvidenceIndex) -> None:
        put = replace(
            entry(
                "doc",
                text="A fox — 東京 👍🏽",
                title='Title "quoted" \\ and <b>',
                heading="Heading",
                acl=["user:a", "group:b"],
                metadata={"n": 3, "f": 1.5, "b": True, "s": "x", "l": ("p", "q"), "e": ()},
                observed_at=NOW - timedelta(microseconds=1),
                valid_from=NOW - timedelta(days=1),
                valid_to=NOW + timedelta(days=1),
            ),
            page=7,
        )
        fill(index, ACME, [put])
        found = both_legs(index, "fox", terms=["user:a"])
        bare = replace(put, vector=None)
        assert [hit.entry for hit in found[Leg.LEXICAL]] == [bare]
        assert [hit.entry for hit in found[Leg.SEMANTIC]] == [bare]
        assert put.vector is not None
        assert found[Leg.SEMANTIC][0].score == pytest.approx(float(put.vector @ QUERY), abs=1e-5)

    def test_title_and_heading_are_searched_with_each_chunk(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry("a", title="Zebra", heading="Quagga", text="Stripes"), entry("b")])
        for word in ("zebra", "quaggas", "stripe"):
            assert lexical(both_legs(index, word)) == ["a"]

    def test_any_term_is_enough_and_no_term_is_no_hit(self, index: EvidenceIndex) -> None:
        fill(
            index, ACME, [entry("a", text="red fox"), entry("b", text="dog"), entry("c", text="x")]
        )
        found = both_legs(index, "fox dog")
        assert set(lexical(found)) == {"a", "b"}
        assert all(hit.score > 0 for hit in found[Leg.LEXICAL])
        assert both_legs(index, "unheard")[Leg.LEXICAL] == ()

    def test_a_term_asked_for_twice_weighs_twice(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry("a", text="fox"), entry("b", text="dog")])
        one = index.search(query(ACME, text="fox"))[Leg.LEXICAL][0].score
        two = index.search(query(ACME, text="fox fox"))[Leg.LEXICAL][0].score
        assert two == pytest.approx(2 * one, rel=1e-6)

    def test_a_short_lexical_leg_leaves_the_other_whole(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry(f"d{n}", text="fox" if n == 3 else "dog") for n in range(60)])
        alone = index.search(query(ACME, vector=QUERY))
        found = both_legs(index, "fox")
        assert lexical(found) == ["d3"]
        assert semantic(found) == semantic(alone)
        assert len(found[Leg.SEMANTIC]) == 50

    @pytest.mark.parametrize("leg", Leg)
    def test_only_the_legs_that_are_asked_for_run(self, index: EvidenceIndex, leg: Leg) -> None:
        fill(index, ACME, [entry("a", text="fox")])
        found = index.search(query(ACME, text="fox", vector=QUERY, legs=[leg]))
        assert set(found.legs) == {leg}

    def test_a_semantic_leg_without_a_vector_is_refused(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry("a", text="fox")])
        with pytest.raises(IntegrityError) as refused:
            index.search(query(ACME, text="fox", legs=[Leg.SEMANTIC]))
        assert refused.value.code == "invalid-vector"

    def test_a_question_without_terms_finds_nothing(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry("a", text="fox")])
        assert index.search(query(ACME)) == LegHits()
        assert index.search(query(ACME, text="")) == LegHits()
        assert index.search(query(ACME, text="the of and")) == LegHits()

    @pytest.mark.parametrize("depth", [1, 10, 50, 200])
    def test_depth_is_honoured(self, index: EvidenceIndex, depth: int) -> None:
        fill(index, ACME, [entry(f"d{n}", text="fox " * (1 + n % 7)) for n in range(230)])
        found = both_legs(index, "fox", depth=depth)
        deeper = both_legs(index, "fox", depth=230)
        assert len(deeper[Leg.LEXICAL]) == len(deeper[Leg.SEMANTIC]) == 230
        assert found[Leg.LEXICAL] == deeper[Leg.LEXICAL][:depth]
        assert found[Leg.SEMANTIC] == deeper[Leg.SEMANTIC][:depth]

    def test_the_nearest_comes_first(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry(f"d{n}") for n in range(40)])
        found = index.search(query(ACME, vector=entry("d7").vector))[Leg.SEMANTIC]
        assert found[0].entry.key.document_id == "d7"
        assert found[0].score == pytest.approx(1.0, abs=1e-5)
        opposite = entry("d7").vector
        assert opposite is not None
        assert index.search(query(ACME, vector=-opposite))[Leg.SEMANTIC][-1].score == pytest.approx(
            -1.0, abs=1e-5
        )


ODD_TEXTS = {
    "emoji": ("A rocket 🚀 and 👩‍🚀 up", "👩‍🚀"),
    "arabic": ("السلام عليكم ورحمة الله", "عليكم"),
    "hebrew": ("שלום עולם טוב", "עולם"),
    "chinese": ("北京大学的研究人员发现了新的方法", "研究"),
    "japanese": ("東京でラーメンを食べました", "ラーメン"),
    "half-width kana": ("ﾗｰﾒﾝ", "ラーメン"),
    "thai": ("ภาษาไทย ไม่มีช่องว่าง", "ภาษาไทย"),
    "korean": ("한국어 문장은 띄어쓰기가 있다", "한국어"),
    "one character": ("x", "X"),
    "one han character": ("京", "京"),
    "full width": ("ＡＢＣ１２３", "abc123"),
    "quotes": ("say \"yes\" OR 'no' \\ {a:b} [x TO y] *:*", "yes"),
    "zero width": ("soft\u00adhyphen and zero\u200bwidth", "width"),
    "control": ("tab\there\u0001 nul\u0000end", "nul"),
    "long word": ("w" * 700, "w" * 255),
}


class TestOddTexts:
    @pytest.mark.parametrize("kind", ODD_TEXTS)
    def test_is_found_by_a_word_of_it_and_comes_back_whole(
        self, index: EvidenceIndex, kind: str
    ) -> None:
        text, word = ODD_TEXTS[kind]
        fill(index, ACME, [entry("odd", text=text), entry("other", text="something else")])
        found = both_legs(index, word)
        assert lexical(found) == ["odd"]
        assert found[Leg.LEXICAL][0].entry.text == text
        assert set(semantic(found)) == {"odd", "other"}

    def test_30_000_characters(self, index: EvidenceIndex) -> None:
        text = ("北京 fox " + "é" * 40 + " 👍🏽 " + "ข" * 30 + "\n") * 400
        text = text[:29_990] + " needle42"
        fill(index, ACME, [entry("long", text=text), entry("short", text="fox")])
        found = both_legs(index, "needle42")
        assert lexical(found) == ["long"]
        assert found[Leg.LEXICAL][0].entry.text == text
        assert lexical(both_legs(index, "fox")) == ["short", "long"] or lexical(
            both_legs(index, "fox")
        ) == ["long", "short"]

    def test_only_stop_words_have_no_term_and_a_vector(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry("stop", text="it is not of the"), entry("b", text="fox")])
        assert both_legs(index, "not it")[Leg.LEXICAL] == ()
        found = both_legs(index, "fox not")
        assert lexical(found) == ["b"]
        assert set(semantic(found)) == {"stop", "b"}

    def test_a_query_of_2_000_different_terms_is_answered(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry("a", text="一丁丂"), entry("b", text="fox")])
        text = "".join(chr(0x4E00 + n) for n in range(2_000))
        assert lexical(both_legs(index, text)) == ["a"]

    @pytest.mark.parametrize(
        "text", ['"', "fox OR dog", "*:*", "fox AND (", "_exists_:acl", "-fox"]
    )
    def test_a_query_is_words_and_no_syntax(self, index: EvidenceIndex, text: str) -> None:
        fill(index, ACME, [entry("a", text="fox"), entry("b", text="cat")])
        assert lexical(both_legs(index, text)) == (["a"] if "fox" in text else [])


HOSTILE = [
    'x" OR "1"="1',
    "x' OR '1'='1",
    "x') OR 1=1 --",
    "x\\",
    "*",
    "x*",
    '{"match_all":{}}',
    'k","s","v',
    "a/b c:d",
    "ünï©ode 東",
    "",
]


class TestFilters:
    @pytest.mark.parametrize("value", HOSTILE)
    def test_a_hostile_value_matches_only_itself(self, index: EvidenceIndex, value: str) -> None:
        term = f"group:{value}"
        hostile = entry(
            "h",
            text="fox",
            acl=[term],
            source_id=value,
            trust_domain=value,
            metadata={value: value},
        )
        fill(index, ACME, [hostile, entry("plain", text="fox", metadata={"k": "v"})])
        for filters in (
            {"terms": [term]},
            {"terms": [term, "everyone"], "sources": [value]},
            {"terms": [term, "everyone"], "trust_domains": [value]},
            {"terms": [term, "everyone"], "metadata": {value: value}},
            {"terms": [term, "everyone"], "metadata": {value: (value, "other")}},
        ):
            found = both_legs(index, "fox", **filters)
            assert lexical(found) == semantic(found) == ["h"], filters
        assert lexical(both_legs(index, "fox", metadata={"k": value})) == []

    def test_what_is_left_out_is_of_one_tenant(self, index: EvidenceIndex) -> None:
        """One id may be two documents' and two sources': a tenant's and a public one's."""
        public = Space("public")
        for space in (ACME, public):
            named = [("a", "wiki"), ("b", "wiki"), ("c", "press")]
            fill(
                index,
                space,
                [entry(n, tenant=space.tenant, text="fox", source_id=of) for n, of in named],
            )
        everything = {(tenant, name) for tenant in ("acme", "public") for name in "abc"}
        for without, left_out in (
            ({"without_documents": [DocumentKey("acme", "a")]}, {("acme", "a")}),
            (
                {"without_documents": [DocumentKey("acme", "a"), DocumentKey("public", "c")]},
                {("acme", "a"), ("public", "c")},
            ),
            ({"without_sources": [SourceKey("acme", "wiki")]}, {("acme", "a"), ("acme", "b")}),
            (
                {
                    "without_sources": [SourceKey("public", "press")],
                    "without_documents": [DocumentKey("acme", "b")],
                },
                {("public", "c"), ("acme", "b")},
            ),
            ({"without_documents": [DocumentKey("other", "a")]}, set()),
        ):
            only = wanted(**without)
            found = index.search(query(ACME, public, text="fox", vector=QUERY, only=only))
            for leg in Leg:
                assert {tuple(h.entry.key) for h in found[leg]} == everything - left_out, without

    def test_validity_is_half_open(self, index: EvidenceIndex) -> None:
        tick = timedelta(microseconds=1)
        fill(
            index,
            ACME,
            [
                entry("ended", text="fox", valid_to=NOW),
                entry("ends", text="fox", valid_to=NOW + tick),
                entry("begins", text="fox", valid_from=NOW),
                entry("future", text="fox", valid_from=NOW + tick),
                entry("open", text="fox"),
            ],
        )
        found = both_legs(index, "fox", valid_at=NOW)
        assert set(lexical(found)) == set(semantic(found)) == {"ends", "begins", "open"}

    def test_observed_since_leaves_out_what_was_never_observed(self, index: EvidenceIndex) -> None:
        fill(
            index,
            ACME,
            [
                entry("old", text="fox", observed_at=NOW - timedelta(microseconds=1)),
                entry("new", text="fox", observed_at=NOW),
                entry("never", text="fox"),
            ],
        )
        found = both_legs(index, "fox", observed_since=NOW)
        assert lexical(found) == semantic(found) == ["new"]

    @pytest.mark.parametrize(
        "filters",
        [
            {"terms": []},
            {"sources": []},
            {"trust_domains": []},
            {"metadata": {"k": ()}},
            {"metadata": {"unknown": "v"}},
            {"metadata": {"unknown": Range(gte=0)}},
            {"metadata": {"k": "V"}},
            {"metadata": {"n": "1"}},
            {"metadata": {"n": True}},
            {"metadata": {"b": 1}},
            {"metadata": {"k": Range(gte=0)}},
            {"metadata": {"two": Range(gte=2, lte=4)}},
        ],
    )
    def test_what_nothing_satisfies_finds_nothing_in_either_leg(
        self, index: EvidenceIndex, filters: dict[str, Any]
    ) -> None:
        metadata: dict[str, MetadataValue] = {"k": "v", "n": 1, "b": True, "two": ("x",)}
        fill(index, ACME, [entry("a", text="fox", metadata=metadata)])
        found = both_legs(index, "fox", **filters)
        assert found[Leg.SEMANTIC] == found[Leg.LEXICAL] == ()

    @pytest.mark.parametrize(
        ("clause", "expected"),
        [
            ({"k": "v"}, {"a"}),
            ({"k": ("v", "w")}, {"a", "b"}),
            ({"n": 1.0}, {"a"}),
            ({"n": Range(gte=1, lte=2.5)}, {"a", "b"}),
            ({"n": Range(gte=1.5)}, {"b", "c"}),
            ({"b": False}, {"b"}),
            ({"l": "q"}, {"a", "b"}),
            ({"t": Range(gte="2026-01-02T00:00:00Z")}, {"b"}),
            ({"t": Range(lte="2026-01-01T02:00:00+02:00")}, {"a"}),
            ({"k": "v", "n": Range(lte=0)}, set()),
            ({"big": 2**60 + 1}, {"c"}),
        ],
    )
    def test_metadata_clauses(
        self, index: EvidenceIndex, clause: dict[str, object], expected: set[str]
    ) -> None:
        fill(
            index,
            ACME,
            [
                entry(
                    "a",
                    text="fox",
                    metadata={
                        "k": "v",
                        "n": 1,
                        "b": True,
                        "l": ("p", "q"),
                        "t": "2026-01-01T00:00:00Z",
                    },
                ),
                entry(
                    "b",
                    text="fox",
                    metadata={
                        "k": "w",
                        "n": 2.5,
                        "b": False,
                        "l": ("q",),
                        "t": "2026-01-03T00:00:00Z",
                    },
                ),
                entry("c", text="fox", metadata={"n": 1e6, "t": "not a time", "big": 2**60 + 1}),
                entry("d", text="fox", metadata={"big": 2**60}),
            ],
        )
        found = both_legs(index, "fox", metadata=clause)
        assert set(lexical(found)) == set(semantic(found)) == expected

    def test_both_bounds_bind_one_and_the_same_value(self, index: EvidenceIndex) -> None:
        # Metadata lists hold strings; times are the ones that have an order.
        ends = ("2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z")
        fill(index, ACME, [entry("a", text="fox", metadata={"t": ends})])
        within = Range(gte="2026-01-15T00:00:00Z", lte="2026-02-15T00:00:00Z")
        assert both_legs(index, "fox", metadata={"t": within}) == LegHits()

    def test_a_sample_is_of_what_its_filter_lets_through(self, index: EvidenceIndex) -> None:
        fill(
            index,
            ACME,
            [
                entry("a", text="fox", metadata={"team": "a", "empty": (), 'q"': ("v", "w")}),
                entry("b", text="dog", acl=["user:ann"], metadata={"case": 7, "ended": "x"}),
                entry("c", source_id="press", trust_domain="open", valid_to=NOW),
            ],
        )
        fill(index, Space("public"), [entry("p", text="fox", tenant="public", metadata={"pub": 1})])
        spaces = query(ACME, Space("public"), Space("unmade"))

        def sampled(*filters: dict[str, Any], size: int = 9) -> list[set[str]]:
            found = index.sample(spaces, [wanted(**one) for one in filters], size)
            return [{one.key.document_id for one in entries} for entries in found]

        assert sampled() == []
        assert sampled({}, {"terms": ["user:ann"]}, {"terms": []}) == [{"a", "p"}, {"b"}, set()]
        carried = {"team": {"a"}, 'q"': {"a"}, "pub": {"p"}, "case": set()}
        assert sampled(*({"carries": name} for name in carried)) == list(carried.values())
        for name in ("tea", "team ", "teams", "TEAM", "empty", "q", 'q",', 'team","s', "s", "a"):
            assert sampled({"carries": name}) == [set()], name
        assert sampled({"carries": "case", "terms": ["user:ann"]}) == [{"b"}]
        earlier = NOW - timedelta(days=1)
        assert sampled({"sources": ["press"], "valid_at": earlier}, {"sources": ["press"]}) == [
            {"c"},
            set(),
        ]
        assert sampled({"trust_domains": ["open"], "valid_at": earlier}) == [{"c"}]
        without = {"without_documents": [DocumentKey("acme", "a")]}
        assert sampled(without) == [{"p"}]
        assert [len(found) for found in index.sample(spaces, [wanted()] * 2, 1)] == [1, 1]
        (first,) = index.sample(spaces, [wanted(carries="team")], 9)
        assert first == (replace(entry("a", text="fox", metadata={"team": "a", "empty": (), 'q"': ("v", "w")}), vector=None),)  # fmt: skip

    def test_nothing_carries_a_field_once_its_last_chunk_is_gone(
        self, index: EvidenceIndex
    ) -> None:
        fill(index, ACME, [entry("a", text="fox", metadata={"team": "a"}), entry("b", text="fox")])
        of_team = [wanted(carries="team")]
        assert len(index.sample(query(ACME), of_team, 9)[0]) == 1
        index.delete(ACME, DocumentKey("acme", "a"))
        index.refresh([ACME])
        assert index.sample(query(ACME), of_team, 9) == ((),)
        assert index.sample(query(Space("unmade")), of_team, 9) == ((),)

    def test_a_range_without_bounds_is_refused(self, index: EvidenceIndex) -> None:
        with pytest.raises(Unprocessable):
            both_legs(index, "fox", metadata={"k": Range()})

    def test_one_permitted_chunk_in_a_thousand_is_found(self, index: EvidenceIndex) -> None:
        rare = {500, 1500}
        fill(
            index,
            ACME,
            [
                entry(
                    f"d{n}",
                    text=f"fox number {n}",
                    acl=["group:rare" if n in rare else "group:common"],
                    vector=unit([1.0, n / 3000] + [0.0] * 6),
                )
                for n in range(2_000)
            ],
        )
        found = index.search(
            query(
                ACME,
                text="fox",
                vector=unit([1.0] + [0.0] * 7),
                only=wanted(terms=["group:rare"]),
            )
        )
        assert semantic(found) == ["d500", "d1500"]
        assert set(lexical(found)) == {"d500", "d1500"}

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_filtered_search_equals_a_brute_force_oracle(
        self, index: EvidenceIndex, seed: int
    ) -> None:
        source = random.Random(seed)
        entries = [_random_entry(source, n) for n in range(250)]
        fill(index, ACME, entries)
        for _ in range(25):
            filters = _random_filter(source)
            vector = unit(source.randrange(10**6))
            words = source.sample(_WORDS, 2)
            found = index.search(
                query(
                    ACME,
                    text=" ".join(words),
                    vector=vector,
                    depth=30,
                    only=wanted(**filters),
                )
            )
            permitted = [one for one in entries if _oracle_permits(one, filters)]
            by_cosine = sorted(permitted, key=lambda one: (-_cosine(one, vector), one.chunk_id))
            assert [hit.entry.chunk_id for hit in found[Leg.SEMANTIC]] == [
                one.chunk_id for one in by_cosine[:30]
            ]
            matching = {one.chunk_id for one in permitted if set(words) & set(one.text.split())}
            got = {hit.entry.chunk_id for hit in found[Leg.LEXICAL]}
            assert got <= matching
            assert len(found[Leg.LEXICAL]) == min(len(matching), 30)
            assert list(found[Leg.LEXICAL]) == sorted(
                found[Leg.LEXICAL], key=lambda hit: (-hit.score, hit.entry.chunk_id)
            )


_WORDS = ["apple", "birch", "cedar", "daisi", "elm", "fern", "ginkgo", "holli"]
_TERMS = ["user:a", "user:b", "group:x", "group:y", "everyone"]


def _random_entry(source: random.Random, number: int) -> IndexEntry:
    return entry(
        f"d{number}",
        text=" ".join(source.choices(_WORDS, k=source.randint(1, 12))),
        acl=source.sample(_TERMS[:4], source.randint(1, 2))
        + (["everyone"] if number % 9 == 0 else []),
        vector=unit(number),
        source_id=f"s{number % 4}",
        trust_domain=source.choice(["official", "partner", "web"]),
        metadata={
            "year": source.randint(2000, 2010),
            "lang": source.choice(["en", "de", "日本"]),
            "tags": tuple(source.sample(["p", "q", "r"], source.randint(0, 3))),
        },
        valid_from=source.choice([None, NOW - timedelta(days=2), NOW + timedelta(days=2)]),
        valid_to=source.choice([None, NOW - timedelta(days=1), NOW + timedelta(days=3)]),
        observed_at=source.choice([None, NOW - timedelta(days=5), NOW]),
    )


def _random_filter(source: random.Random) -> dict[str, Any]:
    filters: dict[str, Any] = {
        "terms": source.sample(_TERMS, source.randint(1, 3)),
        "valid_at": NOW + timedelta(days=source.randint(-3, 3)),
    }
    if source.random() < 0.4:
        filters["sources"] = source.sample(["s0", "s1", "s2", "s3"], source.randint(1, 3))
    if source.random() < 0.3:
        filters["trust_domains"] = source.sample(["official", "partner", "web"], 2)
    if source.random() < 0.3:
        filters["observed_since"] = NOW - timedelta(days=source.randint(0, 6))
    metadata: dict[str, object] = {}
    if source.random() < 0.4:
        metadata["year"] = Range(gte=2003, lte=2008)
    if source.random() < 0.3:
        metadata["lang"] = source.choice(["en", ("de", "日本")])
    if source.random() < 0.3:
        metadata["tags"] = source.choice(["p", ("q", "r")])
    filters["metadata"] = metadata
    return filters


def _oracle_permits(one: IndexEntry, filters: dict[str, Any]) -> bool:
    at, since = filters["valid_at"], filters.get("observed_since")
    metadata = filters["metadata"]
    assert isinstance(metadata, dict)
    for key, clause in metadata.items():
        held = one.metadata[key]
        values = held if isinstance(held, tuple) else (held,)
        if isinstance(clause, Range):
            if not any(clause.gte <= value <= clause.lte for value in values):  # type: ignore[operator]  # numbers, with both ends
                return False
        elif not set(values) & set(clause if isinstance(clause, tuple) else (clause,)):
            return False
    return (
        bool(set(one.acl) & set(filters["terms"]))
        and (one.valid_from is None or one.valid_from <= at)
        and (one.valid_to is None or at < one.valid_to)
        and ("sources" not in filters or one.source_id in filters["sources"])
        and ("trust_domains" not in filters or one.trust_domain in filters["trust_domains"])
        and (since is None or (one.observed_at is not None and one.observed_at >= since))
    )


def _cosine(one: IndexEntry, vector: np.ndarray) -> float:
    assert one.vector is not None
    return float(one.vector.astype(np.float64) @ vector.astype(np.float64))


class TestWriting:
    def test_a_chunk_put_again_is_replaced(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry("a", text="fox", acl=["user:x"], metadata={"k": "v"})])
        fill(index, ACME, [entry("a", text="dog", acl=["everyone"], metadata={"k": "w"})])
        assert index.count(ACME, DocumentKey("acme", "a")) == 1
        everything: dict[str, Any] = {"terms": ["user:x", "everyone"]}
        assert both_legs(index, "fox", **everything)[Leg.LEXICAL] == ()
        assert lexical(both_legs(index, "dog", **everything)) == ["a"]
        assert both_legs(index, "dog", terms=["user:x"]) == LegHits()
        assert both_legs(index, "dog", metadata={"k": "v"}) == LegHits()

    def test_putting_the_same_again_changes_nothing(self, index: EvidenceIndex) -> None:
        entries = [entry(f"d{n}", text=f"fox {n}") for n in range(150)]
        fill(index, ACME, entries)
        before = both_legs(index, "fox", depth=200)
        fill(index, ACME, entries)
        after = both_legs(index, "fox", depth=200)
        assert [hit.entry for hit in after[Leg.LEXICAL]] == [
            hit.entry for hit in before[Leg.LEXICAL]
        ]
        assert after[Leg.SEMANTIC] == before[Leg.SEMANTIC]

    def test_counts_are_by_document_and_version(self, index: EvidenceIndex) -> None:
        fill(
            index,
            ACME,
            [
                entry("a", version=version, ordinal=ordinal)
                for version in (1, 2)
                for ordinal in range(version)
            ]
            + [entry("ab"), entry("a b")],
        )
        key = DocumentKey("acme", "a")
        assert [index.count(ACME, key, version) for version in (1, 2, 3)] == [1, 2, 0]
        assert index.count(ACME, key) == 3

    @pytest.mark.parametrize(
        ("arguments", "left"),
        [
            ({"version": 2}, [1, 3]),
            ({"through": 2}, [3]),
            ({"version": 2, "through": 1}, [1, 2, 3]),
            ({}, []),
            ({"version": 9}, [1, 2, 3]),
        ],
    )
    def test_deletes_what_is_named_and_no_more(
        self, index: EvidenceIndex, arguments: dict[str, int], left: list[int]
    ) -> None:
        fill(
            index,
            ACME,
            [entry("a", version=v, text="fox") for v in (1, 2, 3)] + [entry("b", text="fox")],
        )
        key = DocumentKey("acme", "a")
        for _ in range(2):
            index.delete(ACME, key, **arguments)
            found = both_legs(index, "fox")
            for hits in (found[Leg.LEXICAL], found[Leg.SEMANTIC]):
                versions = [hit.entry.version for hit in hits if hit.entry.key == key]
                assert sorted(versions) == left
                assert sum(hit.entry.key.document_id == "b" for hit in hits) == 1

    def test_deletes_what_was_put_and_never_refreshed(self, index: EvidenceIndex) -> None:
        index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
        index.put(ACME, [entry("a", text="fox")])
        index.delete(ACME, DocumentKey("acme", "a"))
        index.refresh([ACME])
        assert both_legs(index, "fox") == LegHits()

    def test_writes_to_a_space_that_was_never_made(self, index: EvidenceIndex) -> None:
        index.delete(ACME, DocumentKey("acme", "a"))
        index.set_acl(ACME, DocumentKey("acme", "a"), 1, Acl.of("everyone"))
        index.refresh([ACME])
        with pytest.raises(Unavailable) as refused:
            index.put(ACME, [entry("a")])
        assert refused.value.code == "index-unavailable"

    def test_an_acl_change_takes_effect_both_ways(self, index: EvidenceIndex) -> None:
        fill(
            index,
            ACME,
            [entry("a", text="fox", ordinal=n) for n in range(3)] + [entry("b", text="fox")],
        )
        key = DocumentKey("acme", "a")
        index.set_acl(ACME, key, 1, Acl.of("user:x"))
        assert set(lexical(both_legs(index, "fox"))) == {"b"}
        found = both_legs(index, "fox", terms=["user:x"])
        assert len(found[Leg.LEXICAL]) == len(found[Leg.SEMANTIC]) == 3
        assert found[Leg.LEXICAL][0].entry.acl == ("user:x",)
        index.set_acl(ACME, key, 1, Acl.of("everyone", "user:y"))
        index.set_acl(ACME, key, 2, Acl.of("nobody"))
        assert both_legs(index, "fox", terms=["user:x"]) == LegHits()
        assert len(both_legs(index, "fox")[Leg.SEMANTIC]) == 4

    def test_the_next_neighbour_follows_a_deleted_one(self, index: EvidenceIndex) -> None:
        a, b, c = (unit([1.0, y] + [0.0] * 6) for y in (0.0, 0.5, 2.0))
        fill(index, ACME, [entry("a", vector=a), entry("b", vector=b), entry("c", vector=c)])
        index.delete(ACME, DocumentKey("acme", "a"))
        assert semantic(index.search(query(ACME, vector=a, depth=1))) == ["b"]
        assert semantic(index.search(query(ACME, vector=a, depth=3))) == ["b", "c"]

    def test_rewrites_never_cost_recall(self, index: EvidenceIndex) -> None:
        index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
        documents = [f"d{n}" for n in range(16)]
        for version in range(1, 91):
            index.put(
                ACME,
                [entry(one, version=version, text=f"fox {version}") for one in documents],
            )
            if version % 9 == 0:
                index.refresh([ACME])
            if version % 15 == 0:
                one = documents[version % 16]
                index.delete(ACME, DocumentKey("acme", one), through=version - 1)
        for one in documents:
            index.delete(ACME, DocumentKey("acme", one), through=89)
        index.refresh([ACME])
        for depth in (16, 50):
            found = both_legs(index, "fox", depth=depth)
            assert sorted(semantic(found)) == sorted(lexical(found)) == sorted(documents)
            assert {hit.entry.version for hit in found[Leg.SEMANTIC]} == {90}

    def test_concurrent_writers_lose_nothing(self, index: EvidenceIndex) -> None:
        index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
        faults: list[Exception] = []

        def write(worker: int) -> None:
            try:
                index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
                for n in range(8):
                    index.put(ACME, [entry(f"w{worker}", ordinal=n, text="fox")])
                    if n % 4 == 3:
                        index.set_acl(ACME, DocumentKey("acme", "shared"), 1, Acl.of("everyone"))
                        index.delete(ACME, DocumentKey("acme", f"w{worker}"), version=2)
                    index.put(ACME, [entry("shared", text="shared")])
            except Exception as fault:  # noqa: BLE001 - shown by the assertion below
                faults.append(fault)

        threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        index.refresh([ACME])
        assert faults == []
        assert [index.count(ACME, DocumentKey("acme", f"w{n}")) for n in range(4)] == [8] * 4
        assert index.count(ACME, DocumentKey("acme", "shared")) == 1
        assert len(both_legs(index, "fox", depth=100)[Leg.LEXICAL]) == 32


PAST = Space("acme", history=True)


def version(number: int, text: str = "fox", **changes: Any) -> IndexEntry:
    """Of the document "doc", as long as it was live an hour."""
    return replace(
        entry("doc", version=number, text=text, **changes),
        recorded_from=NOW + timedelta(hours=number),
        recorded_through=NOW + timedelta(hours=number + 1),
    )


class TestHistory:
    """A space of its own: exact, and of no weight to what is live."""

    def test_live_searches_and_those_of_the_past_know_nothing_of_each_other(
        self, index: EvidenceIndex
    ) -> None:
        fill(index, ACME, [entry("a", text="fox"), entry("b", text="fox fox dog")])
        alone = both_legs(index, "fox")
        fill(index, PAST, [version(n, text="fox fox fox") for n in range(1, 30)])
        assert both_legs(index, "fox") == alone
        found = index.search(query(PAST, text="fox", vector=QUERY))
        assert {hit.entry.key.document_id for hit in found[Leg.LEXICAL]} == {"doc"}
        assert index.count(ACME, DocumentKey("acme", "doc")) == 0
        assert index.count(PAST, DocumentKey("acme", "doc")) == 29

    def test_its_times_come_back_as_they_were_put(self, index: EvidenceIndex) -> None:
        put = version(3)
        fill(index, PAST, [put])
        (hit,) = index.search(query(PAST, text="fox"))[Leg.LEXICAL]
        assert hit.entry == replace(put, vector=None)

    def test_equal_vectors_are_all_found(self, index: EvidenceIndex) -> None:
        same = entry("doc").vector
        fill(index, PAST, [replace(version(n), vector=same) for n in range(1, 301)])
        found = index.search(query(PAST, vector=same, depth=200))[Leg.SEMANTIC]
        assert len(found) == len({hit.entry.chunk_id for hit in found}) == 200
        assert all(hit.score == pytest.approx(1.0, abs=1e-5) for hit in found)

    def test_its_cosines_are_on_the_scale_of_the_live_ones(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry(f"d{n}") for n in range(20)])
        fill(index, PAST, [entry(f"d{n}") for n in range(20)])
        live = index.search(query(ACME, vector=QUERY))[Leg.SEMANTIC]
        past = index.search(query(PAST, vector=QUERY))[Leg.SEMANTIC]
        assert [hit.entry for hit in past] == [hit.entry for hit in live]
        assert [hit.score for hit in past] == pytest.approx([hit.score for hit in live], abs=1e-5)

    def test_a_time_finds_what_may_have_been_live_then(self, index: EvidenceIndex) -> None:
        fill(index, PAST, [version(n) for n in (1, 2, 3)])
        live = replace(entry("doc", version=4, text="fox"), recorded_from=NOW + timedelta(hours=4))
        fill(index, ACME, [live])

        def at(hours: float) -> tuple[list[int], list[int]]:
            only = wanted(recorded_at=NOW + timedelta(hours=hours))
            found = index.search(query(ACME, PAST, text="fox", vector=QUERY, only=only))
            return tuple(  # type: ignore[return-value]  # one for each of the two legs
                sorted(hit.entry.version for hit in found[leg]) for leg in Leg
            )

        assert at(0.5) == ([], [])
        assert at(1) == at(1.999) == ([1], [1])
        assert at(2) == ([2], [2])
        assert at(4) == at(1000) == ([4], [4])

    def test_a_chunk_on_its_way_into_it_is_found_once(self, index: EvidenceIndex) -> None:
        moving = [version(1), version(2), version(3)]
        fill(index, ACME, [replace(each, recorded_through=None) for each in moving])
        fill(index, PAST, moving[:2])
        for spaces in ((ACME, PAST), (PAST, ACME)):
            found = index.search(query(*spaces, text="fox", vector=QUERY))
            for leg in Leg:
                assert sorted(hit.entry.version for hit in found[leg]) == [1, 2, 3]
                told = {hit.entry.version: hit.entry.recorded_through for hit in found[leg]}
                assert told == {
                    1: moving[0].recorded_through,
                    2: moving[1].recorded_through,
                    3: None,
                }

    def test_a_depth_is_kept_where_chunks_are_in_both(self, index: EvidenceIndex) -> None:
        moving = [version(n) for n in range(1, 31)]
        fill(index, ACME, [replace(each, recorded_through=None) for each in moving])
        fill(index, PAST, moving)
        found = index.search(query(ACME, PAST, text="fox", vector=QUERY, depth=20))
        assert [len(found[leg]) for leg in Leg] == [20, 20]

    def test_permissions_of_all_versions_change_at_once(self, index: EvidenceIndex) -> None:
        fill(index, PAST, [version(n, acl=["user:a"]) for n in (1, 2)])
        index.set_acl(PAST, DocumentKey("acme", "doc"), None, Acl.of("user:b"))
        index.refresh([PAST])
        for term, versions in (("user:a", []), ("user:b", [1, 2])):
            only = wanted(terms=[term])
            found = index.search(query(PAST, text="fox", only=only))[Leg.LEXICAL]
            assert sorted(hit.entry.version for hit in found) == versions

    def test_versions_are_deleted_from_it_and_nothing_live(self, index: EvidenceIndex) -> None:
        key = DocumentKey("acme", "doc")
        fill(index, ACME, [entry("doc", version=9, text="fox")])
        fill(index, PAST, [version(n) for n in (1, 2, 3)])
        index.delete(PAST, key, through=2)
        index.refresh([PAST])
        assert [index.left(PAST, key, n) for n in (1, 2, 3)] == [0, 0, 1]
        assert index.left(ACME, key) == 1


class TestRefusals:
    @pytest.mark.parametrize(
        "vector",
        [
            None,
            np.zeros(DIMENSIONS, dtype=np.float32),
            np.full(DIMENSIONS, np.nan, dtype=np.float32),
            np.array([np.inf] + [0.0] * 7, dtype=np.float32),
            np.ones(DIMENSIONS + 1, dtype=np.float32),
            np.full(DIMENSIONS, 1e-30, dtype=np.float32),
        ],
        ids=["none", "zero", "nan", "infinite", "wrong size", "vanishing"],
    )
    def test_a_vector_that_has_no_direction_is_refused_and_nothing_written(
        self, index: EvidenceIndex, vector: np.ndarray | None
    ) -> None:
        index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
        bad = replace(entry("bad", text="fox"), vector=vector)
        with pytest.raises(IntegrityError) as refused:
            index.put(ACME, [entry("good", text="fox"), bad])
        assert refused.value.code == "invalid-vector"
        index.refresh([ACME])
        assert both_legs(index, "fox") == LegHits()

    @pytest.mark.parametrize(
        "vector",
        [
            np.zeros(DIMENSIONS, dtype=np.float32),
            np.full(DIMENSIONS, np.nan, dtype=np.float32),
            np.ones(DIMENSIONS + 1, dtype=np.float32),
            np.ones((1, DIMENSIONS), dtype=np.float32),
        ],
        ids=["zero", "nan", "wrong size", "matrix"],
    )
    def test_a_bad_query_vector_is_an_error_and_no_empty_leg(
        self, index: EvidenceIndex, vector: np.ndarray
    ) -> None:
        fill(index, ACME, [entry("a", text="fox")])
        with pytest.raises(IntegrityError) as refused:
            index.search(query(ACME, text="fox", vector=vector))
        assert refused.value.code == "invalid-vector"

    def test_mixed_model_revisions_are_refused(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry("a", text="fox")])
        calls: list[Callable[[], object]] = [
            lambda: index.ensure(ACME, model_revision="model-b", dimensions=DIMENSIONS),
            lambda: index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS + 1),
            lambda: index.put(ACME, [entry("b"), entry("c", model_revision="model-b")]),
            lambda: index.search(query(ACME, vector=QUERY, model_revision="model-b")),
            lambda: index.search(query(ACME, vector=QUERY, model_revision=None)),
            lambda: index.search(query(ACME, text="fox", model_revision="model-b")),
            lambda: index.search(query(Space("public"), ACME, text="fox", model_revision="b")),
        ]
        for call in calls:
            with pytest.raises(IntegrityError) as refused:
                call()
            assert refused.value.code == "model-revision-mismatch"
        index.refresh([ACME])
        assert index.count(ACME, DocumentKey("acme", "b")) == 0
        assert lexical(index.search(query(ACME, text="fox"))) == ["a"]

    def test_a_chunk_of_another_tenant_is_refused(self, index: EvidenceIndex) -> None:
        index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
        with pytest.raises(IntegrityError):
            index.put(ACME, [entry("a", tenant="other")])

    def test_ensure_is_idempotent(self, index: EvidenceIndex) -> None:
        fill(index, ACME, [entry("a", text="fox")])
        index.ensure(ACME, model_revision=MODEL, dimensions=DIMENSIONS)
        assert lexical(both_legs(index, "fox")) == ["a"]

    def test_ping_answers(self, index: EvidenceIndex) -> None:
        index.ping()

    def test_errors_are_of_one_tree(self, index: EvidenceIndex) -> None:
        with pytest.raises(CustodyError):
            index.put(ACME, [entry("a")])


class TestOrder:
    def test_equal_scores_are_ordered_by_chunk_id_at_any_depth(self, index: EvidenceIndex) -> None:
        vector = unit(1)
        entries = [entry(f"d{n}", text="same words", vector=vector) for n in range(120)]
        random.Random(3).shuffle(entries)
        for start in range(0, 120, 40):  # several segments
            fill(index, ACME, entries[start : start + 40])
        expected = sorted(one.chunk_id for one in entries)
        for depth in (7, 50, 120):
            for _ in range(2):
                found = both_legs(index, "words", depth=depth)
                assert [hit.entry.chunk_id for hit in found[Leg.LEXICAL]] == expected[:depth]
                assert [hit.entry.chunk_id for hit in found[Leg.SEMANTIC]] == expected[:depth]

    def test_scores_of_one_tenant_do_not_depend_on_another(self, index: EvidenceIndex) -> None:
        other = Space("other")
        fill(index, ACME, [entry("a", text="fox dog"), entry("b", text="dog")])
        fill(index, other, [entry("x", tenant="other", text="dog")])
        before = index.search(query(ACME, text="fox dog"))
        fill(index, other, [entry(f"o{n}", tenant="other", text="fox " * 9) for n in range(50)])
        assert index.search(query(ACME, text="fox dog")) == before

    def test_statistics_of_a_tenant_and_the_public_are_taken_together(
        self, index: EvidenceIndex
    ) -> None:
        public = Space("public")
        together = Space("joined")
        mine = [("a", "fox dog"), ("b", "dog dog bird"), ("c", "bird")]
        theirs = [("p", "fox"), ("q", "dog bird bird cat"), ("r", "cat")]
        fill(index, ACME, [entry(name, text=text) for name, text in mine])
        fill(index, public, [entry(name, tenant="public", text=text) for name, text in theirs])
        fill(index, together, [entry(n, tenant="joined", text=text) for n, text in mine + theirs])
        apart = index.search(query(ACME, public, text="fox bird", vector=QUERY))
        joined = index.search(query(together, text="fox bird", vector=QUERY))
        scores = [
            {hit.entry.key.document_id: pytest.approx(hit.score, rel=1e-6) for hit in leg}
            for leg in (joined[Leg.LEXICAL], joined[Leg.SEMANTIC])
        ]
        assert {hit.entry.key.document_id: hit.score for hit in apart[Leg.LEXICAL]} == scores[0]
        assert {hit.entry.key.document_id: hit.score for hit in apart[Leg.SEMANTIC]} == scores[1]

    def test_an_isolated_source_has_statistics_of_its_own(self, index: EvidenceIndex) -> None:
        isolated = Space("acme", "secret")
        fill(index, isolated, [entry("s", source_id="secret", text="fox dog")])
        alone = index.search(query(isolated, text="fox"))[Leg.LEXICAL][0].score
        fill(index, ACME, [entry(f"d{n}", text="fox") for n in range(20)])
        found = index.search(query(ACME, isolated, text="fox", depth=50))
        scores = {hit.entry.key.document_id: hit.score for hit in found[Leg.LEXICAL]}
        assert len(scores) == 21
        assert scores["s"] == alone
        assert index.search(query(ACME, text="fox"))[Leg.LEXICAL] != ()

    def test_a_chunk_id_is_unique_in_a_space_only(self, index: EvidenceIndex) -> None:
        other = Space("other")
        shared = chunk_id_of("shared")
        fill(index, ACME, [entry("a", text="fox", chunk_id=shared)])
        fill(index, other, [entry("b", tenant="other", text="fox", chunk_id=shared)])
        assert lexical(index.search(query(ACME, text="fox"))) == ["a"]
        assert lexical(index.search(query(other, text="fox"))) == ["b"]
