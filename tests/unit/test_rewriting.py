from __future__ import annotations

import pytest

from custody.domain.ranking.rewriting import (
    ADDED_TERMS,
    Feedback,
    Rewrite,
    rewrite,
)
from custody.domain.text.question import content_terms, feedback_words, term_of

QUESTION = "How long is parental leave?"


def feedback(text: str, score: float = 1.0) -> Feedback:
    return Feedback(feedback_words(None, text), score)


def rewritten(*items: Feedback, known: frozenset[str] | None = None) -> Rewrite | None:
    return rewrite(
        QUESTION,
        items,
        term_of=term_of,
        known=content_terms(QUESTION) if known is None else known,
    )


def test_the_original_words_always_stay() -> None:
    found = rewritten(feedback("Maternity leave lasts sixteen weeks."))
    assert found is not None
    assert found.query == f"{QUESTION} {' '.join(found.added_terms)}"


def test_at_most_five_terms_are_added_the_weightiest_first() -> None:
    found = rewritten(feedback("alpha beta gamma delta epsilon zeta zeta zeta eta eta"))
    assert found is not None
    assert len(found.added_terms) == ADDED_TERMS
    assert found.added_terms[:2] == ("zeta", "eta")


def test_a_term_weighs_by_its_share_of_a_document_and_by_the_document() -> None:
    found = rewritten(feedback("maternity weeks", 0.9), feedback("lunch noon noon noon", 0.1))
    assert found is not None
    assert found.added_terms == ("maternity", "weeks", "noon", "lunch")


def test_words_of_the_question_and_stop_words_are_not_added() -> None:
    found = rewritten(feedback("The parental leaves are not for the maternity. How? What? 16 x"))
    assert found is not None
    assert found.added_terms == ("maternity",)


def test_terms_already_tried_are_not_added_again() -> None:
    first = rewritten(feedback("maternity maternity weeks"))
    assert first is not None
    known = content_terms(first.query)
    assert rewritten(feedback("maternity weeks Week MATERNITY"), known=known) is None


def test_only_the_first_three_items_speak() -> None:
    items = [feedback(word) for word in ("one", "two", "three", "four")]
    found = rewritten(*items)
    assert found is not None
    assert "four" not in found.added_terms


def test_no_evidence_gives_no_rewrite() -> None:
    assert rewritten() is None
    assert rewritten(feedback("")) is None


@pytest.mark.parametrize("score", [0.0, -1.0])
def test_items_without_a_positive_score_count_alike(score: float) -> None:
    found = rewritten(feedback("maternity", score), feedback("weeks", score))
    assert found is not None
    assert set(found.added_terms) == {"maternity", "weeks"}


def test_scripts_without_spaces_add_the_pairs_that_the_index_holds() -> None:
    found = rewrite("休暇", [feedback("育児休暇")], term_of=term_of, known=content_terms("休暇"))
    assert found is not None
    assert found.added_terms == ("児休", "育児")


# where an added word came from


def places(*items: Feedback) -> dict[str, tuple[int, int]]:
    found = rewritten(*items)
    assert found is not None
    for term in found.added:
        assert items[term.item].words[term.position] == term.word
    return {term.word: (term.item, term.position) for term in found.added}


def test_a_word_is_told_by_its_first_place_in_the_item_of_the_highest_score() -> None:
    low, high = feedback("maternity weeks", 0.2), feedback("the weeks and the weeks", 0.9)
    assert places(low, high) == {"weeks": (1, 1), "maternity": (0, 0)}


def test_of_items_of_one_score_the_first_is_told() -> None:
    assert places(feedback("a maternity", 0.5), feedback("maternity", 0.5))["maternity"] == (0, 1)


def test_the_item_holds_the_word_as_it_was_added_not_only_its_term() -> None:
    """Both say "renew", the weightier one in another form than the commoner one."""
    top, other = feedback("renewed", 0.9), feedback("renews renews", 0.1)
    assert places(top, other) == {"renews": (1, 0)}


def test_an_item_without_words_moves_no_number() -> None:
    assert places(feedback("", 0.9), feedback("maternity", 0.1)) == {"maternity": (1, 0)}


def test_the_words_of_a_title_come_first() -> None:
    assert feedback_words("On Leave", "Six weeks.") == ("on", "leave", "six", "weeks")
    assert feedback_words(None, "Six weeks.") == ("six", "weeks")
