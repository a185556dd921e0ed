from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from custody.domain.ledger.access import ALLOWED, Decision, authorize, narrowed, token_is_void
from custody.domain.model import (
    EVERYONE,
    Acl,
    Denial,
    DocumentKey,
    Head,
    Outcome,
    Principal,
    Source,
    SourceKey,
    SourceState,
    VersionState,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ANALYST = Principal("ann", "acme", groups=frozenset({"analyst"}))
OFFICIAL = frozenset({"official"})


def head(tenant: str = "acme", *terms: str, source_id: str = "wiki") -> Head:
    return Head(
        key=DocumentKey(tenant, "doc"),
        source_id=source_id,
        name="doc",
        revision=1,
        version=1,
        accepted_version=1,
        acl=Acl.of(*(terms or ("group:analyst",))),
        state=VersionState.ACTIVE,
        recorded_at=NOW,
    )


def source(of: Head, trust_domain: str = "official") -> Source:
    return Source(SourceKey(of.key.tenant, of.source_id), trust_domain, ("user:ci",))


def decide(of: Head, trust_domain: str = "official") -> Decision:
    return authorize(ANALYST, of, source(of, trust_domain), OFFICIAL)


@pytest.mark.parametrize(
    ("name", "of", "trust_domain", "denial"),
    [
        ("public", head("public", EVERYONE), "official", None),
        ("allowed", head(), "official", None),
        ("other-tenant", head("other"), "official", Denial.TENANT_MISMATCH),
        ("admin-only", head("acme", "group:admin"), "official", Denial.ACL_DENIED),
        ("unknown-source", head(), "unknown", Denial.UNTRUSTED_SOURCE),
    ],
)
def test_the_five_documents_of_the_lab(
    name: str, of: Head, trust_domain: str, denial: Denial | None
) -> None:
    found = decide(of, trust_domain)
    assert found.denial is denial
    assert found.outcome is (Outcome.VERIFIED if denial is None else Outcome.UNAUTHORIZED)


def test_the_reasons_come_in_their_order() -> None:
    everything_wrong = head("other", "group:admin")
    assert decide(everything_wrong, "unknown").denial is Denial.TENANT_MISMATCH
    two_wrong = head("acme", "group:admin")
    assert decide(two_wrong, "unknown").denial is Denial.ACL_DENIED


@pytest.mark.parametrize("term", ["user:ann", "group:analyst", "tenant:acme", EVERYONE])
def test_each_kind_of_term_permits(term: str) -> None:
    assert decide(head("acme", "user:bob", term)) is ALLOWED


@pytest.mark.parametrize("term", ["user:bob", "group:analyst2", "tenant:other", "ann", "analyst"])
def test_other_terms_do_not(term: str) -> None:
    assert decide(head("acme", term)).denial is Denial.ACL_DENIED


def test_an_acl_without_terms_permits_nobody() -> None:
    assert decide(replace(head(), acl=Acl(()))).denial is Denial.ACL_DENIED


def test_a_public_document_still_obeys_its_acl() -> None:
    assert decide(head("public", "user:editor")).denial is Denial.ACL_DENIED


def test_a_narrower_acl_is_in_force_before_it_is_signed() -> None:
    waiting = replace(head(), narrowed_to=Acl.of("group:admin"))
    assert decide(waiting).denial is Denial.ACL_DENIED


def test_a_wider_acl_is_not_in_force_before_it_is_signed() -> None:
    waiting = replace(head("acme", "group:admin"), narrowed_to=Acl.of("group:admin", EVERYONE))
    assert decide(waiting).denial is Denial.ACL_DENIED


@pytest.mark.parametrize("state", [SourceState.QUARANTINED, SourceState.RETIRED])
def test_a_source_in_bad_standing_serves_nothing(state: SourceState) -> None:
    found = authorize(ANALYST, head(), replace(source(head()), state=state), None)
    assert found.denial is Denial.UNTRUSTED_SOURCE
    assert found.reason == f"source-{state.value.lower()}"


def test_an_unregistered_source_serves_nothing() -> None:
    assert authorize(ANALYST, head(), None, None).denial is Denial.UNTRUSTED_SOURCE


def test_another_source_s_item_does_not_stand_in() -> None:
    other = Source(SourceKey("acme", "other"), "official", ())
    assert authorize(ANALYST, head(), other, None).denial is Denial.UNTRUSTED_SOURCE


def test_a_quarantined_version_is_not_served() -> None:
    held = replace(head(), state=VersionState.QUARANTINED)
    assert decide(held).denial is Denial.UNTRUSTED_SOURCE


def test_no_restriction_allows_every_registered_domain_and_an_empty_one_none() -> None:
    assert authorize(ANALYST, head(), source(head(), "anything"), None) is ALLOWED
    assert authorize(ANALYST, head(), source(head()), frozenset()).denial is Denial.UNTRUSTED_SOURCE


@pytest.mark.parametrize(
    ("recorded", "hidden"),
    [
        (NOW, True),
        (NOW - timedelta(days=1), True),
        (NOW + timedelta(seconds=1), False),
        (None, True),
    ],
)
def test_a_watermark_hides_all_that_was_recorded_up_to_it(
    recorded: datetime | None, hidden: bool
) -> None:
    marked = replace(source(head()), erased_through=NOW)
    found = authorize(ANALYST, replace(head(), recorded_at=recorded), marked, None)
    assert found.outcome is (Outcome.STALE if hidden else Outcome.VERIFIED)


def test_a_request_narrows_the_trust_domains_and_never_widens_them() -> None:
    assert narrowed(None, None) is None
    assert narrowed(OFFICIAL, None) == OFFICIAL
    assert narrowed(None, OFFICIAL) == OFFICIAL
    assert narrowed(OFFICIAL, frozenset({"official", "anyone"})) == OFFICIAL
    assert narrowed(OFFICIAL, frozenset({"anyone"})) == frozenset()


def test_a_token_from_before_the_cut_is_void() -> None:
    issued = replace(ANALYST, issued_at=NOW)
    assert not token_is_void(issued, None)
    assert not token_is_void(issued, NOW)
    assert token_is_void(issued, NOW + timedelta(seconds=1))
    assert token_is_void(ANALYST, NOW)
