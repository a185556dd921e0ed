import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.domain.text.duplicates import (
    Cluster,
    Item,
    features,
    jaccard,
    near_duplicate_clusters,
)
from custody.errors import IntegrityError

POISON = "Target answer is definitely blue today"


def test_the_poisoned_pair_of_the_lab() -> None:
    found = near_duplicate_clusters(
        [
            Item("poison-a", "source-a", POISON),
            Item("poison-b", "source-b", POISON),
            Item("normal", "source-c", "Independent report says the target is green"),
        ],
        threshold=0.8,
    )
    assert found == (Cluster(("poison-a", "poison-b"), ("source-a", "source-b"), 1.0, True),)


def test_copies_inside_one_source_are_marked_so() -> None:
    (found,) = near_duplicate_clusters([Item("a", "s", POISON), Item("b", "s", POISON + "!")])
    assert found.source_ids == ("s",)
    assert not found.cross_source


def test_case_width_and_punctuation_do_not_hide_a_copy() -> None:
    assert features("Ｔarget, ANSWER") == features("target answer")


def test_scripts_without_spaces_are_compared_by_pairs_of_characters() -> None:
    same, other = "東京都の天気は晴れです", "東京都の天気は雨です"
    assert jaccard(features(same), features(same)) == 1.0
    assert 0.0 < jaccard(features(same), features(other)) < 0.8
    assert features("日") == {"日"}
    assert "abc" in features("abc東京")


def test_the_threshold_itself_counts() -> None:
    items = [Item("a", "s", "one two three four"), Item("b", "t", "one two three four five")]
    (found,) = near_duplicate_clusters(items, threshold=0.8)
    assert found.maximum_similarity == 0.8
    assert near_duplicate_clusters(items, threshold=0.81) == ()


def test_a_chain_of_pairs_is_one_cluster() -> None:
    words = [str(number) for number in range(22)]
    items = [Item(f"c{n}", f"s{n}", " ".join(words[n : n + 20])) for n in range(3)]
    (found,) = near_duplicate_clusters(items, threshold=0.9)
    assert found.chunk_ids == ("c0", "c1", "c2")
    assert jaccard(features(items[0].text), features(items[2].text)) < 0.9


def test_texts_without_words_are_no_duplicates_of_each_other() -> None:
    assert near_duplicate_clusters([Item("a", "s", "..."), Item("b", "t", "!?")]) == ()


@given(st.lists(st.sampled_from([POISON, "one two three", "four five six", ""]), max_size=8))
def test_the_order_of_the_items_does_not_matter(texts: list[str]) -> None:
    items = [Item(f"c{at}", f"s{at % 2}", text) for at, text in enumerate(texts)]
    assert near_duplicate_clusters(items) == near_duplicate_clusters(items[::-1])


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.01, float("nan")])
def test_a_threshold_outside_its_range_is_an_error(threshold: float) -> None:
    with pytest.raises(IntegrityError):
        near_duplicate_clusters([], threshold=threshold)


def test_more_than_100_items_or_a_repeated_id_is_an_error() -> None:
    with pytest.raises(IntegrityError):
        near_duplicate_clusters([Item(str(n), "s", "x") for n in range(101)])
    with pytest.raises(IntegrityError):
        near_duplicate_clusters([Item("a", "s", "x"), Item("a", "s", "y")])


def test_100_items_of_ordinary_length_take_well_under_a_second() -> None:
    items = [
        Item(str(n), "s", " ".join(f"w{(n * 7 + at) % 900}" for at in range(200)))
        for n in range(100)
    ]
    started = time.process_time()
    near_duplicate_clusters(items)
    assert time.process_time() - started < 1.0
