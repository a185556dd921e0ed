"""The ledger's word on what an index proposes. Nothing is served without passing here.

For each candidate, in this order (the first that fails is the outcome):

1. STALE: the document or the version is not what is live (unknown, superseded, erased, outside its
   validity, older than the caller's limit).
2. UNAUTHORIZED: the rules of ``custody.domain.ledger.access``.
3. UNVERIFIED: no statement, or one whose key is unknown, of another purpose, retired, revoked, or
   outside its window when it signed.
4. TAMPERED: the signature, the statement against the head, or the chunk against the signed root.

A head or a source whose item can't be read is TAMPERED too.

What is remembered between calls is only the result of cryptography over given bytes (a signature
under a key, a leaf under a root), in bounded caches. The state of keys, heads, sources and
rights is judged anew on every call, from the ``LedgerView`` that was read for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

from custody.application.ports import Verifier
from custody.domain.index.candidates import IndexEntry
from custody.domain.ledger import access
from custody.domain.model import (
    Denial,
    DocumentKey,
    Envelope,
    Head,
    KeyState,
    LedgerView,
    Objection,
    Outcome,
    Principal,
    Source,
    SourceKey,
    VerificationKey,
    VersionState,
)
from custody.domain.provenance import identifiers, merkle, statement
from custody.domain.provenance.canonical import leaf_of
from custody.domain.provenance.digests import text_sha256
from custody.domain.provenance.statement import Statement
from custody.errors import IntegrityError, Unauthenticated

EVIDENCE_PURPOSE = "ingestion"
_OF_KEY_STATE = {
    KeyState.RETIRED: Objection.KEY_RETIRED,
    KeyState.REVOKED: Objection.KEY_REVOKED,
}


class Verified(NamedTuple):
    """One item that may be served, with the ledger's facts about it. Of ``entry`` only what the
    leaf covers (document, version, ordinal, title, heading, page, text) and ``chunk_id`` are
    proven; everything else that is shown comes from ``head``, ``source`` and ``statement``."""

    entry: IndexEntry
    head: Head
    source: Source
    statement: Statement
    keyid: str

    @property
    def statement_id(self) -> str:
        return self.statement.statement_id

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of the chunk's text."""
        return text_sha256(self.entry.text)


class Finding(NamedTuple):
    """``reason``: None when verified. ``denial``: of UNAUTHORIZED."""

    entry: IndexEntry
    outcome: Outcome
    reason: Objection | None = None
    denial: Denial | None = None
    verified: Verified | None = None

    @property
    def why(self) -> str:
        """The code of what stands against it, in kebab case."""
        return (self.denial or self.reason or self.outcome).value.lower()


class _Ruling(NamedTuple):
    """What holds for every chunk of one document version. ``source`` and ``statement`` are set when
    nothing stands against it."""

    outcome: Outcome
    reason: Objection | None = None
    denial: Denial | None = None
    source: Source | None = None
    statement: Statement | None = None


@dataclass(frozen=True, slots=True)
class _Reader:
    view: LedgerView
    principal: Principal
    terms: frozenset[str]
    trust_domains: frozenset[str] | None
    now: datetime
    max_age: timedelta | None


class EvidenceCheck:
    """Safe to share between threads. ``signatures`` and ``leaves`` bound the two caches."""

    def __init__(
        self, verifier: Verifier, *, signatures: int = 4_096, leaves: int = 65_536
    ) -> None:
        self._signed = _Signed(verifier, kept=signatures)
        self._proven: Callable[[_LeafPosition, bytes, tuple[str, ...]], bool] = lru_cache(
            maxsize=leaves
        )(_is_proven)

    def __call__(
        self,
        candidates: Sequence[IndexEntry],
        view: LedgerView,
        principal: Principal,
        *,
        now: datetime,
        trust_domains: frozenset[str] | None = None,
        max_age: timedelta | None = None,
    ) -> tuple[Finding, ...]:
        """One finding a candidate, in their order.

        ``view`` must be of this principal's tenant and hold the heads and sources of the
        candidates: what it lacks does not exist. ``trust_domains`` narrows those that the tenant's
        control item allows. ``max_age`` is counted from ``observed_at``. Raises
        Unauthenticated(token-revoked) when the principal's access was cut after the token was
        issued.
        """
        if access.token_is_void(principal, view.not_before):
            raise Unauthenticated("This token is no longer valid.", code="token-revoked")
        reader = _Reader(
            view=view,
            principal=principal,
            terms=principal.terms,
            trust_domains=access.narrowed(view.control.trust_domains, trust_domains),
            now=now,
            max_age=max_age,
        )
        rulings: dict[DocumentKey, _Ruling] = {}
        return tuple(self._find(entry, reader, rulings) for entry in candidates)

    def against(
        self, head: Head, view: LedgerView, principal: Principal, *, now: datetime
    ) -> str | None:
        """The code of what stands against each chunk of the live version, None where nothing
        does. ``view`` holds the head's source, and the caller's token is good."""
        reader = _Reader(
            view=view,
            principal=principal,
            terms=principal.terms,
            trust_domains=view.control.trust_domains,
            now=now,
            max_age=None,
        )
        ruling = self._rule(head, reader)
        if ruling.statement is not None:
            return None
        return (ruling.denial or ruling.reason or ruling.outcome).value.lower()

    def _find(
        self, entry: IndexEntry, reader: _Reader, rulings: dict[DocumentKey, _Ruling]
    ) -> Finding:
        head = reader.view.heads.get(entry.key)
        if head is None:
            if entry.key in reader.view.unreadable_heads:
                return Finding(entry, Outcome.TAMPERED, Objection.LEDGER_UNREADABLE)
            return Finding(entry, Outcome.STALE, Objection.UNKNOWN_DOCUMENT)
        if entry.version != head.version:
            return Finding(entry, Outcome.STALE, _why_not_live(entry.version, head))
        if entry.source_id != head.source_id:
            # The source was looked up by the entry's word: a false one is tampering, not a source
            # that nobody registered.
            return Finding(entry, Outcome.TAMPERED, Objection.SOURCE_MISMATCH)
        ruling = rulings.get(entry.key)
        if ruling is None:
            ruling = rulings[entry.key] = self._rule(head, reader)
        if ruling.statement is None or ruling.source is None:
            return Finding(entry, ruling.outcome, ruling.reason, ruling.denial)
        reason = self._chunk_fault(entry, ruling.statement)
        if reason is not None:
            return Finding(entry, Outcome.TAMPERED, reason)
        return Finding(
            entry,
            Outcome.VERIFIED,
            verified=Verified(entry, head, ruling.source, ruling.statement, head.envelope.keyid)
            if head.envelope
            else None,
        )

    def _rule(self, head: Head, reader: _Reader) -> _Ruling:
        stale = _staleness(head, reader.now, reader.max_age)
        if stale is not None:
            return _Ruling(Outcome.STALE, stale)
        owner = SourceKey(head.key.tenant, head.source_id)
        if owner in reader.view.unreadable_sources:
            return _Ruling(Outcome.TAMPERED, Objection.LEDGER_UNREADABLE)
        source = reader.view.sources.get(owner)
        decision = access.authorize(
            reader.principal, head, source, reader.trust_domains, reader.terms
        )
        if decision is not access.ALLOWED:
            return _Ruling(decision.outcome, decision.reason, decision.denial)
        if head.envelope is None:
            return _Ruling(Outcome.UNVERIFIED, Objection.STATEMENT_MISSING)
        key = reader.view.control.keys.get(head.envelope.keyid)
        if key is None or key.purpose != EVIDENCE_PURPOSE:
            return _Ruling(Outcome.UNVERIFIED, Objection.KEY_UNKNOWN)
        if key.state is not KeyState.ACTIVE:
            return _Ruling(Outcome.UNVERIFIED, _OF_KEY_STATE[key.state])
        signed = self._signed(head.envelope, key)
        if signed is None:
            return _Ruling(Outcome.TAMPERED, Objection.SIGNATURE_MISMATCH)
        if signed.signed_at < key.not_before or (
            key.not_after is not None and signed.signed_at >= key.not_after
        ):
            return _Ruling(Outcome.UNVERIFIED, Objection.KEY_OUTSIDE_WINDOW)
        if not statement.describes(signed, head):
            return _Ruling(Outcome.TAMPERED, Objection.STATEMENT_MISMATCH)
        return _Ruling(Outcome.VERIFIED, source=source, statement=signed)

    def _chunk_fault(self, entry: IndexEntry, signed: Statement) -> Objection | None:
        try:
            leaf = merkle.leaf_hash(
                leaf_of(
                    entry.key.document_id,
                    entry.version,
                    entry.ordinal,
                    entry.title,
                    entry.heading,
                    entry.page,
                    entry.text,
                )
            )
        except IntegrityError:  # text with a lone surrogate was never signed
            return Objection.CHUNK_MISMATCH
        place = (
            signed.chunk_root,
            signed.chunk_count,
            entry.ordinal,
            entry.chunk_id,
            signed.key,
            signed.source_id,
            signed.version,
        )
        return None if self._proven(place, leaf, entry.proof) else Objection.CHUNK_MISMATCH


type _LeafPosition = tuple[str, int, int, str, DocumentKey, str, int]


def _is_proven(place: _LeafPosition, leaf: bytes, proof: tuple[str, ...]) -> bool:
    """Does the leaf stand at its ordinal under the root, and is its id the id of that place?"""
    root, count, ordinal, chunk_id, key, source_id, version = place
    try:
        path = [bytes.fromhex(step) for step in proof]
    except ValueError:
        return False
    return merkle.verify(leaf, ordinal, count, path, bytes.fromhex(root)) and (
        chunk_id == identifiers.chunk_id(key.tenant, source_id, key.document_id, version, ordinal)
    )


class _Signed:
    """Statements by what was signed and with which key. Only the result of the cryptography is kept.

    The cache is keyed by texts and bytes, whose hashes Python keeps; a dataclass is hashed anew at
    each look. The oldest entry makes room.
    """

    def __init__(self, verifier: Verifier, *, kept: int) -> None:
        self._verifier = verifier
        self._kept = kept
        self._known: dict[tuple[object, ...], Statement | None] = {}
        self._lock = Lock()

    def __call__(self, envelope: Envelope, key: VerificationKey) -> Statement | None:
        """The statement in the envelope, or None when the key did not sign one."""
        place = (
            envelope.payload,
            envelope.signature,
            envelope.payload_type,
            envelope.keyid,
            key.keyid,
            key.public_key_pem,
        )
        try:
            return self._known[place]
        except KeyError:
            found = self._read(envelope, key)
        with self._lock:
            while len(self._known) >= self._kept:
                del self._known[next(iter(self._known))]
            self._known[place] = found
        return found

    def _read(self, envelope: Envelope, key: VerificationKey) -> Statement | None:
        if envelope.payload_type != statement.PAYLOAD_TYPE:
            return None
        if not self._verifier.verify(envelope, key):
            return None
        try:
            return statement.parse(envelope.payload)
        except IntegrityError:  # signed, but no statement of ours
            return None


def _why_not_live(version: int, head: Head) -> Objection:
    if head.state is VersionState.ERASED or 0 < version <= head.erased_through:
        return Objection.ERASED
    return Objection.SUPERSEDED if version < head.version else Objection.NOT_LIVE


def _staleness(head: Head, now: datetime, max_age: timedelta | None) -> Objection | None:
    if head.state is VersionState.ERASED or 0 < head.version <= head.erased_through:
        return Objection.ERASED
    if head.version < 1 or head.state not in (VersionState.ACTIVE, VersionState.QUARANTINED):
        return Objection.NOT_LIVE
    if head.valid_from is not None and now < head.valid_from:
        return Objection.NOT_YET_VALID
    if head.valid_to is not None and now >= head.valid_to:
        return Objection.EXPIRED
    if max_age is not None and (head.observed_at is None or now - head.observed_at > max_age):
        return Objection.TOO_OLD
    return None
