"""HTML to the text that a reader sees.

nh3 (html5ever) parses as a browser does and drops whatever acts or draws. What is left has a few
known tags and no attributes but those that hide: the standard library's parser reads the text out
of that, and leaves out what is hidden.
"""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

from custody.adapters.parsers.budget import Budget
from custody.adapters.parsers.draft import Draft, Piece
from custody.adapters.parsers.limits import Limits
from custody.domain.text.hygiene import HIDDEN_TEXT
from custody.errors import Rejected

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_PARAGRAPHS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "details", "div", "dl", "fieldset"}
    | {"figcaption", "figure", "footer", "form", "header", "main", "nav", "ol", "p", "section"}
    | {"summary", "table", "ul", "caption"}
)
_LINES = frozenset({"br", "dd", "dt", "hr", "li", "option", "pre", "tr"})
_CELLS = frozenset({"td", "th"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source"}
    | {"track", "wbr"}
)
# The parser closes these itself when the next one opens: an open one is no deeper nesting.
_CLOSED_BY_THE_NEXT = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "option"})
_INLINE = frozenset(
    {"a", "b", "code", "del", "em", "font", "i", "label", "q", "s", "small", "span"}
)
_INLINE_TOO = frozenset({"strong", "sub", "sup", "time", "u", "mark", "kbd", "ins", "cite", "abbr"})
_KEPT = (
    _HEADINGS | _PARAGRAPHS | _LINES | _CELLS | _INLINE | _INLINE_TOO | {"img", "title", "tbody"}
)
_DROPPED_WHOLE = frozenset(
    {"applet", "audio", "canvas", "embed", "frameset", "iframe", "math", "noembed", "noframes"}
    | {"noscript", "object", "script", "style", "svg", "template", "video"}
    # Their content is text to a browser, whatever markup it looks like: an old way to smuggle.
    | {"listing", "plaintext", "textarea", "xmp"}
)
_ADDRESSES = frozenset(
    {"action", "background", "cite", "data", "formaction", "href", "poster", "src", "srcdoc"}
    | {"xlink:href"}
)
_HIDING = frozenset({"hidden", "style", "aria-hidden"})
_START_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})")
# What stands in them is no markup, until their own end.
_RAW = frozenset({"script", "style", "textarea", "title", "xmp", "noembed", "noframes", "iframe"})
_ACTIVE_TAG = re.compile(
    r"<(?:script|iframe|frame|object|embed|applet|svg|math|template|base)[\s/>]"
    r"|<meta[^<>]{0,500}http-equiv[^<>]{0,40}refresh|<(?:html|body)[^<>]{0,500}\son[a-z]+\s*=",
    re.IGNORECASE,
)
_ACTIVE_ADDRESS = re.compile(r"^[\s\x00-\x20]*(?:javascript|vbscript|data)\s*:", re.IGNORECASE)
_INVISIBLE_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden"
    r"|(?:opacity|font-size|max-height|max-width)\s*:\s*0*(?:\.0+)?(?:px|em|rem|pt|%)?\s*(?:!|;|$)"
    r"|(?:left|top|right|text-indent)\s*:\s*-\d{3,}"
    r"|clip\s*:\s*rect\(\s*0|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(\s*0)"
    r"|color\s*:\s*transparent|transform\s*:\s*scale\(\s*0\s*\)",
    re.IGNORECASE,
)
_SENTENCE_END = (".", "!", "?", ":", ";", "…", "。", "！", "？", "；", "：", "।", "۔", "؟")


def read_html(text: str, limits: Limits, budget: Budget) -> Draft:
    """A piece is a section between headings. Raises Rejected: ``document-too-complex``,
    ``too-much-text``."""
    _refuse_bomb(text, limits.depth)
    clean, active = _sanitize(text)
    page = _Page(budget)
    page.feed(clean)
    page.close()
    return page.draft(active or _ACTIVE_TAG.search(text) is not None)


def _refuse_bomb(text: str, depth: int) -> None:
    """Refuse what opens more elements than a browser would nest.

    Parsing takes time in the square of the depth: half a megabyte of ``<div>`` takes 20 seconds.
    A cheap count on the raw text may be misled (by an end tag inside an attribute); then the time
    limit of the child process ends it.
    """
    open_tags: Counter[str] = Counter()
    nesting = 0
    raw: str | None = None
    for found in _START_TAG.finditer(text):
        name = found.group(2).lower()
        if raw:
            raw = None if found.group(1) and name == raw else raw
            continue
        if name in _RAW:
            raw = None if found.group(1) else name
            continue
        if name in _VOID or name in _CLOSED_BY_THE_NEXT:
            continue
        if not found.group(1):
            open_tags[name] += 1
            nesting += 1
        elif open_tags[name]:
            open_tags[name] -= 1
            nesting -= 1
        if nesting > depth:
            raise Rejected(
                f"The markup nests more than {depth} elements.", code="document-too-complex"
            )


def _sanitize(text: str) -> tuple[str, bool]:
    import nh3

    active = False

    def keep(tag: str, attribute: str, value: str) -> str | None:
        nonlocal active
        if attribute.startswith("on") or attribute == "srcdoc" or _ACTIVE_ADDRESS.match(value):
            active = True
        shown = attribute in _HIDING or (tag == "img" and attribute == "alt")
        return value if shown else None

    clean = nh3.clean(
        text,
        tags=set(_KEPT),
        clean_content_tags=set(_DROPPED_WHOLE),
        attributes={"*": set(_HIDING | _ADDRESSES), "img": {"alt"}},
        generic_attribute_prefixes={"on"},
        attribute_filter=keep,
        # Let through only to be seen by the filter, which drops every address.
        url_schemes={"javascript", "vbscript", "data", "http", "https", "mailto"},
        link_rel=None,
        strip_comments=True,
    )
    return clean, active


class _Page(HTMLParser):
    """Collects visible text. In ``_parts`` a NUL is a space that must stay (inside ``pre``)."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(convert_charrefs=True)
        self._budget = budget
        self._parts: list[str] = []
        self._heading: str | None = None
        self._pieces: list[Piece] = []
        self._title: list[str] = []
        self._first_heading: str | None = None
        self._concealed: list[str] = []
        self._signals: set[str] = set()
        self._open: list[tuple[str, bool]] = []
        self._hidden = 0
        self._preformatted = 0
        self._in_title = 0
        self._cells = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        hides = _hides(values)
        if tag not in _VOID:
            self._open.append((tag, hides))
            self._hidden += hides
        if hides and "aria-hidden" not in values:
            self._signals.add(HIDDEN_TEXT)
        if tag == "img":
            label = values.get("alt") or ""
            # A label that holds markup labels nothing: it waits for a careless renderer.
            self._add(" " if "<" in label else f" {label} ")
        elif tag == "pre":
            self._preformatted += 1
        elif tag == "title":
            self._in_title += 1
        elif tag == "tr":
            self._cells = 0
        elif tag in _CELLS:
            self._add(" | " if self._cells else " ")
            self._cells += 1
        elif tag in _HEADINGS and not self._hidden:
            self._end_section()
        self._boundary(tag)

    def handle_endtag(self, tag: str) -> None:
        hidden = self._hidden
        while self._open:
            name, hides = self._open.pop()
            self._hidden -= hides
            if name == tag:
                break
        if tag == "pre":
            self._preformatted -= 1
        elif tag == "title":
            self._in_title -= 1
        elif tag in _HEADINGS and not hidden:
            self._heading = _tidy(self._parts).replace("\n", " ") or self._heading
            if tag == "h1":
                self._first_heading = self._first_heading or self._heading
            self._parts = []
            return
        self._boundary(tag)

    def handle_data(self, data: str) -> None:
        self._budget.take(len(data))
        if self._in_title:
            self._title.append(data)
        elif self._hidden:
            self._concealed.append(data)
        elif self._preformatted:
            self._budget.take(3 * data.count("\t"))
            self._parts.append(data.replace("\t", "    ").replace(" ", "\x00"))
        else:
            self._parts.append(" ".join(f".{data}.".split())[1:-1])

    def _add(self, text: str) -> None:
        self._budget.take(len(text))
        (self._concealed if self._hidden else self._parts).append(text)

    def _boundary(self, tag: str) -> None:
        if tag in _LINES:
            self._add("\n")
        elif tag in _PARAGRAPHS:
            self._add("\n\n")

    def _end_section(self) -> None:
        text = _tidy(self._parts)
        if text:
            self._pieces.append(self._budget.piece(text, self._heading))
        self._parts = []

    def draft(self, active: bool) -> Draft:
        self._end_section()
        title = _tidy(self._title).replace("\n", " ") or self._first_heading
        concealed = " ".join(" ".join(self._concealed).split())
        pieces = self._pieces
        if not pieces and self._heading:
            pieces = [self._budget.piece(self._heading, self._heading)]
        return Draft(
            tuple(pieces),
            title=title,
            signals=tuple(self._signals) if concealed else (),
            active_content_removed=active,
            concealed=concealed,
        )


def _hides(attributes: dict[str, str | None]) -> bool:
    return (
        ("hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found")
        or (attributes.get("aria-hidden") or "").strip().lower() == "true"
        or _INVISIBLE_STYLE.search(attributes.get("style") or "") is not None
    )


def _tidy(parts: list[str]) -> str:
    """One space between words, one line end between lines. Paragraphs that end a sentence flow
    into the next; others (menus, captions, lists of links) keep lines of their own."""
    text = re.sub(r"[ \t\r\f\v]+", " ", "".join(parts))
    out: list[str] = []
    for paragraph in re.split(r" ?\n ?\n[ \n]*", text.strip()):
        lines = "\n".join(line.strip() for line in paragraph.split("\n") if line.strip())
        if not lines:
            continue
        if out:
            out.append(" " if out[-1].endswith(_SENTENCE_END) else "\n")
        out.append(lines)
    return "".join(out).replace("\x00", " ").strip()
