from collections import UserDict
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from custody.adapters.ecdsa_verifier import EcdsaVerifier
from custody.application.reading.evidence_check import EvidenceCheck, Finding
from custody.domain.index.candidates import IndexEntry
from custody.domain.model import (
    Acl,
    Denial,
    DocumentKey,
    Envelope,
    Head,
    KeyState,
    LedgerView,
    Outcome,
    SourceState,
    VerificationKey,
    VersionState,
)
from custody.domain.provenance import statement
from custody.domain.provenance.canonical import canonical_json, parse_json
from custody.errors import Unauthenticated
from tests.support.signed_evidence import (
    NOW,
    READER,
    ledger_view,
    publish,
    signer,
    source,
    with_head,
)

SIGNER = signer()
STRANGER = signer()
WIKI = source()
HEAD, ENTRIES = publish(SIGNER, WIKI, "doc", ("one", "two", "three", "four", "five"))
VIEW = ledger_view(HEAD, sources=(WIKI,), keys=(SIGNER,))


class CountingVerifier(EcdsaVerifier):
    def __init__(self) -> None:
        self.calls = 0

    def verify(self, envelope: Envelope, key: VerificationKey) -> bool:
        self.calls += 1
        return super().verify(envelope, key)


def check(
    entry: IndexEntry = ENTRIES[1], read: LedgerView = VIEW, **options: Any
) -> tuple[Outcome, str | None]:
    """A cold and a warm check of one candidate must agree."""
    check_once = EvidenceCheck(EcdsaVerifier())
    warm = EvidenceCheck(EcdsaVerifier())
    warm(ENTRIES, VIEW, READER, now=NOW)
    options = {"now": NOW} | options
    (cold,) = check_once([entry], read, READER, **options)
    (again,) = warm([entry], read, READER, **options)
    assert (cold.outcome, cold.reason, cold.denial) == (again.outcome, again.reason, again.denial)
    assert (cold.verified is None) == (cold.outcome is not Outcome.VERIFIED)
    assert (cold.denial is None) == (cold.outcome is not Outcome.UNAUTHORIZED)
    return cold.outcome, cold.reason


def head_with(**changes: Any) -> LedgerView:
    return with_head(VIEW, replace(HEAD, **changes))


def key_with(**changes: Any) -> LedgerView:
    key = replace(SIGNER.verification_key(), **changes)
    return replace(VIEW, control=replace(VIEW.control, keys={key.keyid: key}))


def resigned(by: Any = SIGNER, **changes: object) -> LedgerView:
    """The statement with one claim changed, signed again, the head pointing to it."""
    value: Any = parse_json(HEAD.envelope.payload)  # type: ignore[union-attr]  # it is there
    value["predicate"].update(changes)
    payload = canonical_json(value)
    return head_with(
        envelope=by.sign(statement.PAYLOAD_TYPE, payload),
        statement_id=statement.statement_id(payload),
    )


def test_a_signed_permitted_live_chunk_is_verified_with_the_ledger_s_facts() -> None:
    findings = EvidenceCheck(EcdsaVerifier())(ENTRIES, VIEW, READER, now=NOW)
    assert [finding.outcome for finding in findings] == [Outcome.VERIFIED] * 5
    verified = findings[1].verified
    assert verified is not None
    assert verified.head is HEAD
    assert verified.source is WIKI
    assert verified.statement_id == HEAD.statement_id
    assert verified.keyid == SIGNER.verification_key().keyid
    assert verified.sha256 == (  # of "two"
        "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"
    )


# each mutation and its outcome


@pytest.mark.parametrize(
    ("change", "outcome", "reason"),
    [
        ({"text": "twO"}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"text": "two\ud800"}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"title": None}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"heading": "Another"}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"page": 2}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"ordinal": 2}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"ordinal": -1}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"ordinal": 2**60}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"chunk_id": ENTRIES[2].chunk_id}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"source_id": "handbook"}, Outcome.TAMPERED, "source-mismatch"),
        ({"proof": ENTRIES[2].proof}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"proof": ENTRIES[1].proof[:-1]}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"proof": ("zz", *ENTRIES[1].proof[1:])}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"proof": ()}, Outcome.TAMPERED, "chunk-mismatch"),
        ({"key": DocumentKey("acme", "unknown")}, Outcome.STALE, "unknown-document"),
        ({"key": DocumentKey("other", "doc")}, Outcome.STALE, "unknown-document"),
        ({"version": 2}, Outcome.STALE, "not-live"),
        ({"version": 0}, Outcome.STALE, "superseded"),
    ],
)
def test_each_change_of_a_candidate(change: dict[str, Any], outcome: Outcome, reason: str) -> None:
    assert check(replace(ENTRIES[1], **change)) == (outcome, reason)


@pytest.mark.parametrize(
    "change",
    [
        {"trust_domain": "official"},
        {"acl": ("everyone",)},
        {"chunk_count": 99},
        {"version_digest": "00"},
        {"model_revision": "m2"},
        {"metadata": {"forged": "yes"}},
        {"observed_at": None},
        {"valid_from": NOW + timedelta(days=1)},
        {"valid_to": NOW},
        {"recorded_from": NOW + timedelta(days=1)},
        {"recorded_through": NOW - timedelta(days=1)},
    ],
)
def test_what_an_index_says_beyond_the_chunk_changes_nothing(change: dict[str, Any]) -> None:
    assert check(replace(ENTRIES[1], **change)) == (Outcome.VERIFIED, None)


def test_every_field_of_a_candidate_is_covered_by_these_two_tests() -> None:
    signed = {"text", "title", "heading", "page", "ordinal", "chunk_id", "source_id", "proof"}
    looked_up = {"key", "version"}
    ignored = {"trust_domain", "acl", "chunk_count", "version_digest", "model_revision"}
    ignored |= {"metadata", "observed_at", "valid_from", "valid_to", "vector"}
    ignored |= {"recorded_from", "recorded_through"}
    assert {field.name for field in fields(IndexEntry)} == signed | looked_up | ignored


@pytest.mark.parametrize(
    ("change", "outcome", "reason"),
    [
        ({"source_id": "other"}, Outcome.TAMPERED, "source-mismatch"),
        ({"version": 2}, Outcome.STALE, "superseded"),
        ({"version": 0, "state": VersionState.PENDING}, Outcome.STALE, "not-live"),
        ({"state": VersionState.ERASED}, Outcome.STALE, "erased"),
        ({"state": VersionState.PENDING}, Outcome.STALE, "not-live"),
        ({"state": VersionState.REJECTED}, Outcome.STALE, "not-live"),
        ({"state": VersionState.SUPERSEDED}, Outcome.STALE, "not-live"),
        ({"state": VersionState.QUARANTINED}, Outcome.UNAUTHORIZED, "version-quarantined"),
        ({"erased_through": 1}, Outcome.STALE, "erased"),
        ({"acl": Acl.of("group:admin")}, Outcome.UNAUTHORIZED, "acl-denied"),
        ({"acl": Acl.of("group:staff", "user:x")}, Outcome.TAMPERED, "statement-mismatch"),
        ({"narrowed_to": Acl.of("group:admin")}, Outcome.UNAUTHORIZED, "acl-denied"),
        ({"acl_revision": 1}, Outcome.TAMPERED, "statement-mismatch"),
        ({"content_sha256": "cd" * 32}, Outcome.TAMPERED, "statement-mismatch"),
        ({"chunk_root": "cd" * 32}, Outcome.TAMPERED, "statement-mismatch"),
        ({"chunk_count": 6}, Outcome.TAMPERED, "statement-mismatch"),
        ({"statement_id": "cd" * 32}, Outcome.TAMPERED, "statement-mismatch"),
        ({"statement_id": None}, Outcome.TAMPERED, "statement-mismatch"),
        ({"observed_at": NOW}, Outcome.TAMPERED, "statement-mismatch"),
        ({"valid_from": NOW}, Outcome.TAMPERED, "statement-mismatch"),
        ({"valid_to": NOW + timedelta(days=1)}, Outcome.TAMPERED, "statement-mismatch"),
        ({"valid_from": NOW + timedelta(seconds=1)}, Outcome.STALE, "not-yet-valid"),
        ({"valid_to": NOW}, Outcome.STALE, "expired"),
        ({"envelope": None}, Outcome.UNVERIFIED, "statement-missing"),
    ],
)
def test_each_change_of_the_head(change: dict[str, Any], outcome: Outcome, reason: str) -> None:
    assert check(read=head_with(**change)) == (outcome, reason)


def test_a_waiting_wider_acl_or_pending_newer_version_leaves_the_live_one_served() -> None:
    assert check(read=head_with(accepted_version=2)) == (Outcome.VERIFIED, None)
    assert check(read=head_with(narrowed_to=Acl.of("group:staff"))) == (Outcome.VERIFIED, None)


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": "other"},
        {"source": "other"},
        {"version": 9},
        {"acl": {"sha256": "cd" * 32, "revision": 0}},
        {"chunks": {"root": "cd" * 32, "count": 5}},
        {"observedAt": None},
        {"validTo": "2027-01-01T00:00:00Z"},
    ],
)
def test_a_signed_statement_of_something_else_is_tampering(change: dict[str, object]) -> None:
    outcome, _ = check(read=resigned(**change))
    assert outcome is Outcome.TAMPERED


def _envelope(**changes: Any) -> LedgerView:
    assert HEAD.envelope is not None
    return head_with(envelope=replace(HEAD.envelope, **changes))


@pytest.mark.parametrize(
    ("read", "outcome", "reason"),
    [
        (_envelope(payload=b"{}"), Outcome.TAMPERED, "signature-mismatch"),
        (_envelope(signature=b""), Outcome.TAMPERED, "signature-mismatch"),
        (
            _envelope(signature=HEAD.envelope.signature[:-1] + b"\x00"),  # type: ignore[union-attr]  # it is there
            Outcome.TAMPERED,
            "signature-mismatch",
        ),
        (_envelope(payload_type="text/plain"), Outcome.TAMPERED, "signature-mismatch"),
        (_envelope(keyid="unknown"), Outcome.UNVERIFIED, "key-unknown"),
        (
            head_with(
                envelope=SIGNER.sign(
                    "application/vnd.custody.policy+json",
                    HEAD.envelope.payload,  # type: ignore[union-attr]  # it is there
                )
            ),
            Outcome.TAMPERED,
            "signature-mismatch",
        ),
        (
            head_with(envelope=SIGNER.sign(statement.PAYLOAD_TYPE, b"{}")),
            Outcome.TAMPERED,
            "signature-mismatch",
        ),
    ],
)
def test_each_change_of_the_envelope(read: LedgerView, outcome: Outcome, reason: str) -> None:
    assert check(read=read) == (outcome, reason)


def test_a_forged_statement_under_an_attacker_s_own_key_is_unverified() -> None:
    assert check(read=resigned(by=STRANGER)) == (Outcome.UNVERIFIED, "key-unknown")


def test_a_forged_statement_that_borrows_a_trusted_key_id_is_tampering() -> None:
    forged = resigned(by=STRANGER)
    head = forged.heads[HEAD.key]
    assert head.envelope is not None
    borrowed = replace(head.envelope, keyid=SIGNER.verification_key().keyid)
    read = with_head(forged, replace(head, envelope=borrowed))
    assert check(read=read) == (Outcome.TAMPERED, "signature-mismatch")


@pytest.mark.parametrize(
    ("change", "outcome", "reason"),
    [
        ({"state": KeyState.RETIRED}, Outcome.UNVERIFIED, "key-retired"),
        ({"state": KeyState.REVOKED}, Outcome.UNVERIFIED, "key-revoked"),
        ({"purpose": "policy"}, Outcome.UNVERIFIED, "key-unknown"),
        (
            {"not_before": NOW + timedelta(seconds=1)},
            Outcome.UNVERIFIED,
            "key-outside-window",
        ),
        ({"not_after": NOW}, Outcome.UNVERIFIED, "key-outside-window"),
        ({"not_after": NOW + timedelta(seconds=1)}, Outcome.VERIFIED, None),
        (
            {"public_key_pem": STRANGER.verification_key().public_key_pem},
            Outcome.TAMPERED,
            "signature-mismatch",
        ),
        ({"public_key_pem": "nonsense"}, Outcome.TAMPERED, "signature-mismatch"),
    ],
)
def test_each_change_of_the_key(
    change: dict[str, Any], outcome: Outcome, reason: str | None
) -> None:
    assert check(read=key_with(**change)) == (outcome, reason)


def test_what_was_signed_in_the_window_stays_good_after_it() -> None:
    read = key_with(not_after=NOW + timedelta(days=1))
    assert check(read=read, now=NOW + timedelta(days=365)) == (Outcome.VERIFIED, None)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (SourceState.QUARANTINED, "source-quarantined"),
        (SourceState.RETIRED, "source-retired"),
    ],
)
def test_each_change_of_the_source(state: SourceState, reason: str) -> None:
    read = replace(VIEW, sources={WIKI.key: replace(WIKI, state=state)})
    assert check(read=read) == (Outcome.UNAUTHORIZED, reason)


def test_the_source_s_watermark_hides_what_was_recorded_up_to_it() -> None:
    read = replace(VIEW, sources={WIKI.key: replace(WIKI, erased_through=NOW)})
    assert check(read=read) == (Outcome.STALE, "source-erased")


def test_trust_domains_come_from_the_tenant_and_a_request_only_narrows_them() -> None:
    allowed = replace(VIEW, control=replace(VIEW.control, trust_domains=frozenset({"x"})))
    denied = (Outcome.UNAUTHORIZED, "trust-domain-not-allowed")
    assert check(read=allowed) == denied
    assert check(read=allowed, trust_domains=frozenset({"internal"})) == denied
    assert check(trust_domains=frozenset({"x"})) == denied
    assert check(trust_domains=frozenset({"internal"})) == (Outcome.VERIFIED, None)


def test_a_freshness_limit_counts_from_the_observation_and_an_unknown_one_is_stale() -> None:
    assert check(max_age=timedelta(hours=1)) == (Outcome.VERIFIED, None)
    assert check(max_age=timedelta(minutes=59)) == (Outcome.STALE, "too-old")
    never = head_with(observed_at=None)
    assert check(read=never, max_age=timedelta(days=999)) == (Outcome.STALE, "too-old")


def test_another_tenant_s_document_is_a_tenant_mismatch() -> None:
    theirs = source(tenant="other")
    head, entries = publish(SIGNER, theirs, "doc", ("one",), acl=Acl.of("group:staff", "everyone"))
    read = ledger_view(head, sources=(theirs,), keys=(SIGNER,))
    (finding,) = EvidenceCheck(EcdsaVerifier())(entries, read, READER, now=NOW)
    assert (finding.outcome, finding.denial) == (Outcome.UNAUTHORIZED, Denial.TENANT_MISMATCH)


def test_a_public_document_is_served_to_any_tenant() -> None:
    commons = source(tenant="public")
    head, entries = publish(SIGNER, commons, "doc", ("one",), acl=Acl.of("everyone"))
    read = ledger_view(head, sources=(commons,), keys=(SIGNER,))
    (finding,) = EvidenceCheck(EcdsaVerifier())(entries, read, READER, now=NOW)
    assert finding.outcome is Outcome.VERIFIED


def test_access_that_was_cut_ends_with_the_next_read() -> None:
    read = replace(VIEW, not_before=NOW + timedelta(seconds=1))
    with pytest.raises(Unauthenticated) as caught:
        EvidenceCheck(EcdsaVerifier())(ENTRIES, read, READER, now=NOW)
    assert caught.value.code == "token-revoked"


# the invariants


def test_invariant_1_nothing_unsigned_is_served() -> None:
    """Every way to be unsigned, and the state of a key judged again on a warm container."""
    verify = EvidenceCheck(EcdsaVerifier())

    def outcomes(read: LedgerView, entries: tuple[IndexEntry, ...] = ENTRIES) -> set[Outcome]:
        return {finding.outcome for finding in verify(entries, read, READER, now=NOW)}

    assert outcomes(VIEW) == {Outcome.VERIFIED}
    assert outcomes(key_with(state=KeyState.REVOKED)) == {Outcome.UNVERIFIED}
    assert outcomes(VIEW) == {Outcome.VERIFIED}
    no_keys = replace(VIEW, control=replace(VIEW.control, keys={}))
    assert outcomes(no_keys) == {Outcome.UNVERIFIED}
    assert outcomes(head_with(envelope=None)) == {Outcome.UNVERIFIED}
    assert outcomes(replace(VIEW, heads={})) == {Outcome.STALE}
    forged = tuple(replace(entry, text=entry.text + ".") for entry in ENTRIES)
    assert outcomes(VIEW, forged) == {Outcome.TAMPERED}


def test_invariant_2_authorization_comes_again_as_evidence_is_assembled() -> None:
    """The index let these through its filter; a later change in the ledger still takes them out."""
    verify = EvidenceCheck(EcdsaVerifier())
    later: dict[Denial, LedgerView] = {
        Denial.ACL_DENIED: head_with(narrowed_to=Acl.of("user:bob")),
        Denial.UNTRUSTED_SOURCE: replace(
            VIEW, sources={WIKI.key: replace(WIKI, state=SourceState.QUARANTINED)}
        ),
    }
    for denial, read in later.items():
        first = verify(ENTRIES, VIEW, READER, now=NOW)
        again = verify([finding.entry for finding in first], read, READER, now=NOW)
        assert {finding.outcome for finding in first} == {Outcome.VERIFIED}
        assert {finding.denial for finding in again} == {denial}
    stranger = replace(READER, tenant="other", groups=frozenset({"staff"}))
    findings = verify(ENTRIES, VIEW, stranger, now=NOW)
    assert {finding.denial for finding in findings} == {Denial.TENANT_MISMATCH}


# what is remembered


def test_a_signature_is_verified_once_and_a_changed_one_again() -> None:
    verifier = CountingVerifier()
    verify = EvidenceCheck(verifier)
    for _ in range(3):
        verify(ENTRIES, VIEW, READER, now=NOW)
    assert verifier.calls == 1
    verify(ENTRIES, _envelope(signature=b"0"), READER, now=NOW)
    assert verifier.calls == 2


def test_the_caches_are_bounded() -> None:
    verifier = CountingVerifier()
    verify = EvidenceCheck(verifier, signatures=1, leaves=1)
    other, more = publish(SIGNER, WIKI, "other", ("one",))
    read = ledger_view(HEAD, other, sources=(WIKI,), keys=(SIGNER,))
    for _ in range(2):
        findings: tuple[Finding, ...] = verify((*ENTRIES, *more), read, READER, now=NOW)
        assert all(finding.outcome is Outcome.VERIFIED for finding in findings)
    assert verifier.calls == 4


class CountedHeads(UserDict[DocumentKey, Head]):
    """Counts how often a head is looked at: a view is never remembered."""

    lookups = 0

    def __getitem__(self, key: DocumentKey) -> Head:
        self.lookups += 1
        return super().__getitem__(key)


def test_every_candidate_is_looked_up_in_the_standing_of_this_very_call() -> None:
    verify = EvidenceCheck(EcdsaVerifier())
    for _ in range(2):
        heads = CountedHeads(VIEW.heads)
        verify(ENTRIES, replace(VIEW, heads=heads), READER, now=NOW)
        assert heads.lookups == len(ENTRIES)


def test_findings_keep_the_order_of_the_candidates() -> None:
    shuffled = [ENTRIES[at] for at in (3, 0, 4, 1, 2)]
    findings = EvidenceCheck(EcdsaVerifier())(shuffled, VIEW, READER, now=NOW)
    assert [finding.entry for finding in findings] == shuffled
