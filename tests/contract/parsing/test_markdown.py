"""Markdown keeps its headings and labels; its addresses and raw HTML meet the HTML rules."""

from __future__ import annotations

import time

import pytest

from custody.application.ports import Block
from tests.contract.parsing.conftest import Parse

MARKDOWN = "text/markdown"


def test_headings_lists_code_and_tables_are_kept(parse: Parse) -> None:
    parsed = parse(
        "# Guide\n\nIntro *text*\nwrapped.\n\n## Steps\n\n1. first\n2. second\n\n"
        "```py\nif x:\n    go()\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        MARKDOWN,
    )
    assert parsed.title == "Guide"
    assert parsed.blocks == (
        Block("Intro text wrapped.", heading="Guide"),
        Block("first\nsecond\nif x:\n    go()\na | b\n1 | 2", heading="Steps"),
    )


def test_addresses_go_and_labels_stay(parse: Parse) -> None:
    parsed = parse(
        "See [the label](https://evil.test/?leak=1) ![a chart](https://evil.test/p.png) "
        "[ref][1]\n\n[1]: https://evil.test/2 'tip'",
        MARKDOWN,
    )
    assert parsed.blocks == (Block("See the label a chart ref"),)
    assert not parsed.active_content_removed


@pytest.mark.parametrize(
    "source",
    [
        "seen <script>alert(1)</script>",
        "<script>\nalert(1)\n</script>\n\nseen",
        "[seen](javascript:alert(1))",
        "<b onclick='x()'>seen</b>",
        "![seen](data:text/html;base64,xx)",
    ],
)
def test_active_content_goes_and_is_told(parse: Parse, source: str) -> None:
    parsed = parse(source, MARKDOWN)
    assert parsed.blocks == (Block("seen"),)
    assert parsed.active_content_removed


def test_front_matter_gives_the_title_and_no_text(parse: Parse) -> None:
    parsed = parse(
        '---\r\ntitle: "The name"\r\ntags: [a]\r\n---\r\n# Heading\r\n\r\nText', MARKDOWN
    )
    assert parsed.title == "The name"
    assert parsed.blocks == (Block("Text", heading="Heading"),)


def test_a_rule_is_not_taken_for_front_matter(parse: Parse) -> None:
    assert parse("---\n\nText\n", MARKDOWN).blocks == (Block("Text"),)


@pytest.mark.parametrize(
    "hostile",
    [
        "[" * 50_000,
        "> " * 50_000,
        "*a " * 40_000,
        "[a](" * 40_000,
        "`" * 99_999 + "a",
        "<!-- " * 9_999 + "-->",
    ],
)
def test_hostile_repetition_takes_no_hostile_time(parse: Parse, hostile: str) -> None:
    started = time.process_time()
    assert "seen" in parse(hostile + "\n\nseen", MARKDOWN).blocks[-1].text
    assert time.process_time() - started < 10


def test_a_single_line_of_four_megabytes_is_read(parse: Parse) -> None:
    assert len(parse("word " * 800_000, MARKDOWN).blocks[0].text) == 3_999_999
