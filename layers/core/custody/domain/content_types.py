"""Declared content types: which are taken, and what a dropped file's name says of it.

The bytes are compared with the declared type where the document is parsed.
"""

from __future__ import annotations

from custody.errors import UnsupportedMedia

SUPPORTED = frozenset(
    {
        "text/plain",
        "text/markdown",
        "text/html",
        "text/csv",
        "application/pdf",
        "application/json",
        "application/jsonl",
    }
)
_SAME = {
    "text/x-markdown": "text/markdown",
    "application/xhtml+xml": "text/html",
    "application/csv": "text/csv",
    "application/x-ndjson": "application/jsonl",
    "application/ndjson": "application/jsonl",
    "application/x-jsonlines": "application/jsonl",
    "application/jsonlines": "application/jsonl",
    "text/json": "application/json",
}
_OF_SUFFIX = {
    "txt": "text/plain",
    "text": "text/plain",
    "log": "text/plain",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "html": "text/html",
    "htm": "text/html",
    "xhtml": "text/html",
    "csv": "text/csv",
    "pdf": "application/pdf",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "ndjson": "application/jsonl",
}
# What a client sends that was told no type: then the name decides.
_UNTOLD = frozenset(
    {"application/octet-stream", "binary/octet-stream", "application/x-www-form-urlencoded"}
)


def supported(declared: str) -> str:
    """One name for each type. Raises UnsupportedMedia(type-not-supported)."""
    name = _SAME.get(declared, declared)
    if name not in SUPPORTED:
        raise UnsupportedMedia(
            f"Documents are of {', '.join(sorted(SUPPORTED))}.",
            code="type-not-supported",
            field="content_type",
        )
    return name


def of_drop(declared: str | None, path: str) -> str:
    """The declared type; where the client told none, the one of the name's suffix. ``text/plain``
    of a name that says more gives way, since it is what clients send for any text."""
    bare = (declared or "").split(";", 1)[0].strip().lower()
    suffix = path.rsplit("/", 1)[-1].rpartition(".")[2].lower()
    named = _OF_SUFFIX.get(suffix) if "." in path.rsplit("/", 1)[-1] else None
    if not bare or bare in _UNTOLD or bare == "text/plain":
        bare = named or bare
    if not bare:
        raise UnsupportedMedia("The file has no content type.", code="type-not-supported")
    return supported(bare)
