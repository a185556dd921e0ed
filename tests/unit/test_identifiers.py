import hashlib
from base64 import b32encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.domain.intake import sequencer
from custody.domain.provenance import identifiers
from custody.errors import IntegrityError


def test_a_chunk_id_is_base32_of_the_digest_of_its_place() -> None:
    expected = hashlib.sha256(b'["acme","wiki","doc-1",3,7]').digest()
    found = identifiers.chunk_id("acme", "wiki", "doc-1", 3, 7)
    assert found == b32encode(expected).decode().rstrip("=").lower()
    assert len(found) == 52


def test_each_part_of_the_place_gives_another_chunk_id() -> None:
    places = [
        ("acme", "wiki", "doc", 1, 1),
        ("acme2", "wiki", "doc", 1, 1),
        ("acme", "wiki2", "doc", 1, 1),
        ("acme", "wiki", "doc2", 1, 1),
        ("acme", "wiki", "doc", 2, 1),
        ("acme", "wiki", "doc", 1, 2),
        ("acme", "wi", "kidoc", 1, 1),
    ]
    assert len({identifiers.chunk_id(*place) for place in places}) == len(places)


def test_a_drop_s_document_id_names_source_and_path_and_is_a_valid_document_id() -> None:
    found = identifiers.drop_document_id("wiki", "a b/ü+%.md")
    digest = hashlib.sha256("a b/ü+%.md".encode()).digest()
    assert found == "wiki:" + b32encode(digest).decode().lower()[:26]
    assert identifiers.valid_document_id(found)
    longest = identifiers.drop_document_id("s" * 64, "x")
    assert identifiers.valid_document_id(longest)


def test_a_document_s_folder_is_32_hex_characters() -> None:
    assert identifiers.document_hash("a:b") == hashlib.sha256(b"a:b").hexdigest()[:32]


@pytest.mark.parametrize("text", ["acme", "a1", "0-a", "a" * 40, "public"])
def test_valid_tenants(text: str) -> None:
    assert identifiers.valid_tenant(text)


@pytest.mark.parametrize("text", ["", "a", "A1", "-a", "a" * 41, "a_b", "a/b", "ab\n", "äb"])
def test_invalid_tenants(text: str) -> None:
    assert not identifiers.valid_tenant(text)


@pytest.mark.parametrize("text", ["", ".a", "a:b", "a/b", "a" * 65, "a\n", "a b"])
def test_invalid_sources(text: str) -> None:
    assert not identifiers.valid_source_id(text)


@pytest.mark.parametrize("text", ["", ":a", "a/b", "a" * 129, "a\n", "..", "a b", "ä"])
def test_invalid_documents(text: str) -> None:
    assert not identifiers.valid_document_id(text)


def test_a_path_that_is_no_text_has_no_id() -> None:
    with pytest.raises(UnicodeEncodeError):
        identifiers.drop_document_id("wiki", "\ud800")
    with pytest.raises(IntegrityError):
        identifiers.chunk_id("acme", "wiki", "\ud800", 1, 1)


def test_the_shorter_sequencer_is_padded_with_zeros_on_the_right() -> None:
    assert sequencer.compare("0055AED6DCD90281E5", "0055AED6DCD90281E6") < 0
    assert sequencer.compare("0055AED6DC", "0055AED6DCD90281E5") < 0
    assert sequencer.compare("0056", "0055AED6DCD90281E5") > 0
    assert sequencer.compare("0055", "00550000") == 0
    assert sequencer.compare("00aB", "00Ab") == 0
    assert sequencer.compare("0A", "09FF") > 0
    assert sequencer.compare("09", "09") == 0
    assert sequencer.compare("09", "0A") < 0


def test_nothing_seen_means_that_the_other_event_is_the_latest() -> None:
    assert sequencer.latest("00", None) == sequencer.latest(None, "00") == "00"
    assert sequencer.latest(None, None) is None


@given(st.lists(st.text("0123456789ABCDEF", min_size=1, max_size=20), min_size=1))
def test_any_order_of_delivery_ends_at_the_same_latest_event(events: list[str]) -> None:
    def settle(order: list[str]) -> str | None:
        seen: str | None = None
        for event in order:
            seen = sequencer.latest(seen, event)
        return seen

    first, second = settle(events), settle(events[::-1])
    assert first is not None
    assert second is not None
    assert sequencer.compare(first, second) == 0
    assert all(sequencer.compare(first, event) >= 0 for event in events)
