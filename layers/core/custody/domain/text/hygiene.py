"""What a hostile text may carry: characters that nobody sees, and sentences that give orders.

A signal is a note for policies and people. It proves nothing, its absence proves nothing, and no
permission depends on it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from custody.domain.model import Inspection

INSTRUCTION_OVERRIDE = "instruction-override"
SECRET_EXFILTRATION = "secret-exfiltration"  # noqa: S105 - the name of a signal
TOOL_INVOCATION = "tool-invocation"
ROLE_IMPERSONATION = "role-impersonation"
HIDDEN_TEXT = "hidden-text"

_ORDER = (
    INSTRUCTION_OVERRIDE,
    SECRET_EXFILTRATION,
    TOOL_INVOCATION,
    ROLE_IMPERSONATION,
    HIDDEN_TEXT,
)

# Every gap is bounded and stays within a sentence, so that matching is linear.
_GAP = r"[^.!?]{0,60}?"


@dataclass(frozen=True, slots=True)
class _Detector:
    """``triggers``: substrings one of which every match has (a search for them is far cheaper)."""

    signal: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]


_DETECTORS = (
    _Detector(
        INSTRUCTION_OVERRIDE,
        ("ignor", "disregard", "forget", "overrid", "bypass", "overlook", "follow"),
        re.compile(
            r"\b(?:ignor(?:e|ing)|disregard|forget|override|bypass|overlook|"
            rf"(?:do not|don't|stop) follow(?:ing)?)\b{_GAP}"
            r"\b(?:instructions?|prompts?|guidelines|directives?|"
            r"(?:system|safety|previous|prior|earlier|above|your) "
            r"(?:rules?|messages?|polic(?:y|ies)))\b"
            rf"|\b(?:ignore|disregard|forget) (?:everything|all|anything){_GAP}"
            r"\b(?:above|before|previous(?:ly)?|prior|earlier|so far|you were told)\b"
        ),
    ),
    _Detector(
        SECRET_EXFILTRATION,
        ("key", "password", "secret", "credential", "prompt", "token", "environment", "instruct"),
        re.compile(
            r"\b(?:reveal|send|print|show|leak|exfiltrate|output|disclose|share|give|tell|e-?mail|"
            rf"post|upload|repeat|expose|dump|forward|return)\b{_GAP}"
            r"\b(?:api[ _-]?keys?|passwords?|secrets?|credentials?|"
            r"(?:private|secret|access|ssh) keys?|system prompts?|"
            r"(?:access|auth|api|bearer|session) tokens?|environment variables|"
            r"(?:initial|original|hidden|your) (?:instructions?|prompts?))\b"
        ),
    ),
    _Detector(
        TOOL_INVOCATION,
        ("call", "invoke", "tool", "function", "plugin", "run", "execute", "rm -rf", "curl", "os."),
        re.compile(
            r"</?(?:tool_call|function_call|tool_use|invoke)\b"
            r"|\"(?:tool_calls?|function_call)\"\s*:"
            r"|\b(?:call|invoke|use|run|execute) the [a-z0-9_.-]{1,40} (?:tool|function|plugin)\b"
            r"|\b(?:run|execute) (?:the following|this) "
            r"(?:shell )?(?:commands?|code|script|query)\b"
            r"|\brm -rf\b|\bcurl\s[^\n]{0,80}https?://|\bos\.system\("
        ),
    ),
    _Detector(
        ROLE_IMPERSONATION,
        ("<|", "inst", "sys", "assistant", "developer", "you are now", "from now on"),
        re.compile(
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?inst\]|<</?sys>>"
            r"|^[ \t>*#]{0,10}(?:system|assistant|developer)[ \t*]{0,4}:"
            r"|^#{1,6} ?(?:system|new instructions?)\b"
            r"|\byou are now (?:a|an|in|the|my|acting|dan)\b"
            r"|\b(?:new|updated) (?:system )?instructions?:"
            r"|\bfrom now on,? you (?:are|will|must)\b",
            re.MULTILINE,
        ),
    ),
)

_LINE_ENDS = re.compile("\r\n?|\u2028|\u2029|\x85")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")
# Controls but tab and newline, soft hyphens, direction marks, byte order marks: dropped as noise.
_NOISE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200e\u200f\ufeff\ufff9-\ufffb]")
# Dropped and told: embeddings, overrides and isolates, invisible operators and fillers, tags that
# aren't part of a flag, more variation selectors than a character can have.
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_HIDDEN = re.compile(
    f"(?P<flag>{_FLAG})"
    "|[\u202a-\u202e\u2066-\u2069\u2060-\u2064\u206a-\u206f\u180e\u115f\u1160\u3164\uffa0]"
    "|[\U000e0000-\U000e007f]"
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
# Joiners and zero-width spaces write Persian, Indic and Thai text and join emoji; between other
# characters they only hide something.
_NO_WIDTH = re.compile("[\u200b-\u200d]+")
_FIRST_NON_LATIN = "\u0300"
# One character's compatibility form can be 18, and its words as many strings: a long text is looked
# at in parts. They overlap by more than any match is long once long gaps are one space.
_PART_CHARACTERS = 50_000
_OVERLAP_CHARACTERS = 2_000
_LONG_GAP = re.compile(r"\s{20,}")


@dataclass(frozen=True, slots=True)
class Cleaned:
    text: str
    signals: tuple[str, ...] = ()


def clean_text(text: str) -> Cleaned:
    """Text without what can't be seen: line ends are LF, terminal escapes, control, direction and
    zero-width characters are gone (signal ``hidden-text`` where they could have hidden something).
    Letters, marks, emoji and ordinary white space stay as they are."""
    text = _LINE_ENDS.sub("\n", text)
    seen = len(text)
    text = _ANSI.sub("", text)
    text = _HIDDEN.sub(lambda found: found.group("flag") or "", text)
    text = _NO_WIDTH.sub(_keep_between_letters, text)
    hidden = len(text) != seen
    return Cleaned(_NOISE.sub("", text), (HIDDEN_TEXT,) if hidden else ())


def inspect_text(text: str) -> tuple[str, ...]:
    """The signals of a text, in a fixed order. Compatibility forms and case don't matter, nor does
    how the words are broken into lines."""
    return ordered({signal for part in _parts(text) for signal in _signals(part)})


def _parts(text: str) -> Iterator[str]:
    """A letter stands where the text goes on, so that what is cut there is neither a word nor the
    start of a line."""
    text = _LONG_GAP.sub(lambda gap: "\n" if "\n" in gap.group() else " ", text)
    for start in range(0, len(text), _PART_CHARACTERS):
        end = start + _PART_CHARACTERS
        part = text[max(0, start - _OVERLAP_CHARACTERS) : end]
        yield ("x" if start else "") + part + ("x" if end < len(text) else "")


def _signals(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
    # Line ends matter to the marks of a forged role only.
    flowing = " ".join(folded.split())
    for detector in _DETECTORS:
        if any(trigger in flowing for trigger in detector.triggers) and (
            detector.pattern.search(flowing)
            or (detector.pattern.flags & re.MULTILINE and detector.pattern.search(folded))
        ):
            yield detector.signal


def ordered(signals: Iterable[str]) -> tuple[str, ...]:
    """Each once: the known ones in their order, then the others by name."""
    found = set(signals)
    return (*(name for name in _ORDER if name in found), *sorted(found.difference(_ORDER)))


def inspection(
    content: bytes, *, signals: Iterable[str], active_content_removed: bool
) -> Inspection:
    """What the door says of the raw bytes. ``suspicious``: it has any signal at all."""
    found = ordered(signals)
    return Inspection(
        content_hash=hashlib.sha256(content).hexdigest(),
        signals=found,
        suspicious=bool(found),
        active_content_removed=active_content_removed,
    )


def _keep_between_letters(found: re.Match[str]) -> str:
    before = found.string[found.start() - 1] if found.start() else ""
    after = found.string[found.end() : found.end() + 1]
    alone = found.end() - found.start() == 1
    return found.group() if alone and min(before, after) >= _FIRST_NON_LATIN else ""
