"""What the DynamoDB ledger makes of lost replies, throttling, conflicts and limits."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any

import pytest
from moto import mock_aws

from custody.adapters.dynamodb import DynamoLedger, DynamoPolicies, Pacing, connect, layout
from custody.application.ports import Flip
from custody.domain.ledger.drops import Drop, DropState
from custody.domain.ledger.erasures import Erasure
from custody.domain.ledger.trust_changes import TrustAction, TrustChange
from custody.domain.model import (
    Acl,
    DocumentKey,
    KeyState,
    LedgerView,
    ObjectRef,
    PolicyRef,
    SourceKey,
    VersionState,
)
from custody.errors import Conflict, IntegrityError, Moved, TooLarge, Unavailable
from tests.support import records, tables
from tests.support.faulty import (
    Fault,
    Faulty,
    cancelled,
    lost_reply,
    lost_request,
    pass_through,
    refused,
    repeated_by_sdk,
)
from tests.support.records import LATER
from tests.support.tables import PARTS, create_ledger, delete_ledger, ledger_on

pytestmark = pytest.mark.emulator

KEY = DocumentKey("acme", "guide")
WIKI = SourceKey("acme", "wiki")
ANN = Acl.of("user:ann")
THROTTLED = refused("ProvisionedThroughputExceededException")


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def pacing(self) -> Pacing:
        return Pacing(sleep=self.sleep, monotonic=lambda: self.now)


class Fixture:
    """``prefix``: of the names of its tables."""

    def __init__(self, client: Any, prefix: str) -> None:
        self.client = client
        self.prefix = prefix
        self.sound = ledger_on(client, prefix)

    def faulty(self, **faults: Any) -> tuple[DynamoLedger, Faulty]:
        client = Faulty(self.client, faults)
        ledger = ledger_on(client, self.prefix, pacing=Time().pacing())  # type: ignore[arg-type]  # stands for the client
        return ledger, client


@pytest.fixture(scope="module")
def client(aws_endpoint: str) -> Iterator[Any]:
    client = connect(endpoint_url=aws_endpoint, read_timeout=60)
    yield client
    client.close()


@pytest.fixture
def stack(client: Any) -> Iterator[Fixture]:
    name = f"faults-{uuid.uuid4().hex}"
    create_ledger(client, name)
    yield Fixture(client, name)
    delete_ledger(client, name)


def publish(ledger: DynamoLedger, key: DocumentKey = KEY) -> None:
    head = ledger.head(key)
    record = ledger.accept(records.draft(key), expected_revision=head.revision if head else 0)
    ledger.flip(Flip(replace(record, **records.published(record)), LATER))


# Each write: what prepares it, the write, and what it must have left behind exactly once.


def _prepare_nothing(ledger: DynamoLedger) -> None:
    """The table is empty."""


def _prepare_pending(ledger: DynamoLedger) -> None:
    ledger.accept(records.draft(KEY), expected_revision=0)


def _prepare_parsed(ledger: DynamoLedger) -> None:
    _prepare_pending(ledger)
    ledger.chunked(KEY, 1, **records.parsed())


def _prepare_live_and_pending(ledger: DynamoLedger) -> None:
    publish(ledger)
    ledger.accept(records.draft(KEY), expected_revision=2)


def _prepare_narrowed(ledger: DynamoLedger) -> None:
    publish(ledger)
    ledger.narrow(KEY, ANN, expected_revision=2, at=LATER)


def _prepare_erased(ledger: DynamoLedger) -> None:
    publish(ledger)
    _tombstone(ledger)


def _prepare_superseded(ledger: DynamoLedger) -> None:
    for _ in range(2):
        publish(ledger)


def _prepare_expired(ledger: DynamoLedger) -> None:
    _prepare_superseded(ledger)
    _expire(ledger)


def _expire(ledger: DynamoLedger) -> object:
    return ledger.expire(KEY, 1, through=LATER, at=LATER)


def _tombstone(ledger: DynamoLedger) -> object:
    erasure = Erasure("erasure-1", KEY, 0, "asked", "user:ann", LATER)
    return ledger.tombstone(erasure, expected_revision=2)


def _flip(ledger: DynamoLedger) -> object:
    record = ledger.version(KEY, 2)
    assert record is not None
    return ledger.flip(Flip(replace(record, **records.published(record)), LATER))


def _sign(ledger: DynamoLedger) -> object:
    record = ledger.version(KEY, 1)
    assert record is not None
    return ledger.signed(replace(record, **records.published(record)))


def _flip_acl(ledger: DynamoLedger) -> object:
    return ledger.flip_acl(
        KEY,
        version=1,
        acl_revision=1,
        acl=ANN,
        statement_id="acl",
        envelope=records.envelope("acl"),
        at=LATER,
    )


type Write = Callable[[DynamoLedger], object]
WRITES: Mapping[str, tuple[Write, Write]] = {
    "accept": (
        _prepare_nothing,
        lambda ledger: ledger.accept(records.draft(KEY), expected_revision=0),
    ),
    "chunked": (_prepare_pending, lambda ledger: ledger.chunked(KEY, 1, **records.parsed())),
    "part_done": (
        _prepare_parsed,
        lambda ledger: ledger.part_done(KEY, 1, 2, model_revision="model-1"),
    ),
    "signed": (_prepare_pending, _sign),
    "flip": (_prepare_live_and_pending, _flip),
    "reject": (_prepare_pending, lambda ledger: ledger.reject(KEY, 1, ["bad"])),
    "narrow": (
        _prepare_live_and_pending,
        lambda ledger: ledger.narrow(KEY, ANN, expected_revision=3, at=LATER),
    ),
    "flip_acl": (_prepare_narrowed, _flip_acl),
    "tombstone": (lambda ledger: publish(ledger), _tombstone),
    "expire": (_prepare_superseded, lambda ledger: _expire(ledger)),
    "let_go": (_prepare_expired, lambda ledger: ledger.let_go(KEY, 1)),
    "mark_erased": (_prepare_erased, lambda ledger: ledger.mark_erased(KEY, 1, at=LATER)),
    "put_source": (
        _prepare_nothing,
        lambda ledger: ledger.put_source(records.source("acme"), expected_revision=0),
    ),
    "put_source_whatever": (
        _prepare_nothing,
        lambda ledger: ledger.put_source(records.source("acme"), expected_revision=None),
    ),
    "put_key": (_prepare_nothing, lambda ledger: ledger.put_key(records.key())),
    "put_policy_ref": (
        _prepare_nothing,
        lambda ledger: ledger.put_policy_ref("acme", PolicyRef("gate", "1", "d")),
    ),
    "set_not_before": (
        _prepare_nothing,
        lambda ledger: ledger.set_not_before("acme", "ann", LATER),
    ),
}


def contents(stack: Fixture) -> list[dict[str, Any]]:
    """Of all its tables, without the marks of who wrote."""
    items = [
        item
        for part in PARTS
        for item in stack.client.scan(TableName=f"{stack.prefix}-{part}", ConsistentRead=True)[
            "Items"
        ]
    ]
    for item in items:
        item.pop("tok", None)
    return sorted(items, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


@pytest.fixture
def expected(
    client: Any, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], tuple[object, list[dict[str, Any]]]]]:
    """What a write returns and leaves when nothing goes wrong."""
    name = f"sound-{uuid.uuid4().hex}"
    create_ledger(client, name)
    sound = Fixture(client, name)

    def run(write: str) -> tuple[object, list[dict[str, Any]]]:
        prepare, act = WRITES[write]
        prepare(sound.sound)
        return act(sound.sound), contents(sound)

    yield run
    delete_ledger(client, name)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("fault", [lost_reply, repeated_by_sdk], ids=lambda fault: fault.__name__)
def test_a_write_whose_reply_was_lost_is_a_success_and_done_once(
    stack: Fixture,
    expected: Callable[[str], tuple[object, list[dict[str, Any]]]],
    write: str,
    fault: Fault,
) -> None:
    prepare, act = WRITES[write]
    prepare(stack.sound)
    ledger, _ = stack.faulty(update_item=[fault], transact_write_items=[fault])
    returned = act(ledger)
    assert (returned, contents(stack)) == expected(write)


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_never_arrived_is_unavailable_and_leaves_nothing(
    stack: Fixture, write: str
) -> None:
    prepare, act = WRITES[write]
    prepare(stack.sound)
    before = contents(stack)
    ledger, _ = stack.faulty(update_item=[lost_request], transact_write_items=[lost_request])
    with pytest.raises(Unavailable) as unavailable:
        act(ledger)
    assert unavailable.value.code == "ledger-unavailable"
    assert contents(stack) == before


@pytest.mark.parametrize("write", WRITES)
def test_a_write_in_the_way_of_another_is_tried_again(
    stack: Fixture,
    expected: Callable[[str], tuple[object, list[dict[str, Any]]]],
    write: str,
) -> None:
    prepare, act = WRITES[write]
    prepare(stack.sound)
    ledger, client = stack.faulty(
        update_item=[refused("TransactionConflictException"), THROTTLED],
        transact_write_items=[
            cancelled("None", "TransactionConflict"),
            refused("TransactionInProgressException"),
            cancelled("ThrottlingError", "None"),
        ],
    )
    returned = act(ledger)
    assert (returned, contents(stack)) == expected(write)
    tried = [method for method, _ in client.calls if method != "get_item"]
    assert len(tried) > 2


def test_a_transaction_that_is_always_in_the_way_is_unavailable(stack: Fixture) -> None:
    always = repeat(cancelled("TransactionConflict", "None"))
    ledger, _ = stack.faulty(transact_write_items=always)
    with pytest.raises(Unavailable) as unavailable:
        ledger.accept(records.draft(KEY), expected_revision=0)
    assert unavailable.value.code == "ledger-unavailable"
    assert contents(stack) == []


def test_a_failed_condition_is_a_conflict_even_beside_a_transaction_conflict(
    stack: Fixture,
) -> None:
    ledger, client = stack.faulty(
        transact_write_items=[cancelled("ConditionalCheckFailed", "TransactionConflict")]
    )
    with pytest.raises(Moved):
        ledger.accept(records.draft(KEY), expected_revision=0)
    assert [method for method, _ in client.calls].count("transact_write_items") == 1


def test_a_write_overtaken_by_another_is_told_as_moved_not_as_a_success(stack: Fixture) -> None:
    publish(stack.sound)

    def overtaken(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        stack.sound.narrow(KEY, Acl.of("user:bob"), expected_revision=2, at=LATER)
        return call(**arguments)

    ledger, _ = stack.faulty(transact_write_items=[overtaken])
    with pytest.raises(Moved):
        ledger.narrow(KEY, ANN, expected_revision=2, at=LATER)
    head = stack.sound.head(KEY)
    assert head is not None
    assert (head.narrowed_to, head.revision) == (Acl.of("user:bob"), 3)


def test_a_flip_overtaken_by_an_erasure_decides_again(stack: Fixture) -> None:
    _prepare_live_and_pending(stack.sound)

    def overtaken(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        erasure = Erasure("erasure-1", KEY, 0, "asked", "user:ann", LATER)
        stack.sound.tombstone(erasure, expected_revision=3)
        return call(**arguments)

    ledger, _ = stack.faulty(transact_write_items=[overtaken])
    assert _flip(ledger) is None
    head = stack.sound.head(KEY)
    assert head is not None
    assert (head.version, head.state) == (0, VersionState.ERASED)


def test_a_signature_overtaken_by_another_yields_to_it(stack: Fixture) -> None:
    _prepare_pending(stack.sound)
    record = stack.sound.version(KEY, 1)
    assert record is not None

    def overtaken(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        stack.sound.signed(replace(record, **records.published(record, "theirs")))
        return call(**arguments)

    ledger, _ = stack.faulty(update_item=[overtaken])
    kept = ledger.signed(replace(record, **records.published(record, "ours")))
    assert kept.statement_id == "theirs"


# throttled and broken reads


def ledger_view(ledger: DynamoLedger, *others: DocumentKey) -> LedgerView:
    return ledger.view("acme", "ann", [KEY, *others], [WIKI])


def test_a_throttled_read_is_tried_again(stack: Fixture) -> None:
    stack.sound.put_key(records.key())
    publish(stack.sound)
    ledger, _ = stack.faulty(batch_get_item=[THROTTLED, THROTTLED], get_item=[THROTTLED])
    assert ledger_view(ledger) == ledger_view(stack.sound)
    assert ledger.head(KEY) == stack.sound.head(KEY)


def test_a_read_that_stays_throttled_is_unavailable_within_its_deadline(stack: Fixture) -> None:
    clock = Time()
    client = Faulty(stack.client, {"batch_get_item": repeat(THROTTLED)})
    pacing = replace(clock.pacing(), attempts=10_000, deadline_seconds=3)
    ledger = ledger_on(client, stack.prefix, pacing=pacing)  # type: ignore[arg-type]  # stands for the client
    with pytest.raises(Unavailable) as unavailable:
        ledger_view(ledger)
    assert unavailable.value.code == "ledger-unavailable"
    assert "throttled" in unavailable.value.detail
    assert 3 <= clock.now < 4


def test_unprocessed_keys_are_asked_for_again_until_the_deadline(stack: Fixture) -> None:
    stack.sound.put_key(records.key())
    publish(stack.sound)

    def half(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        now, later = {}, {}
        for table, request in arguments["RequestItems"].items():
            keys = request["Keys"]
            now[table] = request | {"Keys": keys[: len(keys) // 2]}
            later[table] = request | {"Keys": keys[len(keys) // 2 :]}
        now = {table: request for table, request in now.items() if request["Keys"]}
        reply = call(RequestItems=now) if now else {"Responses": {}}
        return reply | {"UnprocessedKeys": later}

    ledger, client = stack.faulty(batch_get_item=[half, half, half])
    assert ledger_view(ledger) == ledger_view(stack.sound)
    assert len(client.calls) == 4
    ledger, _ = stack.faulty(batch_get_item=repeat(half))
    with pytest.raises(Unavailable):
        ledger_view(ledger)


@pytest.mark.slow
def test_a_reply_above_sixteen_megabytes_comes_in_pieces(aws_credentials: None) -> None:
    """The emulator never leaves keys unprocessed; moto stops at 16 MB, as the service does."""
    with mock_aws():
        client = connect()
        create_ledger(client, "custody")
        faulty = Faulty(client, {})
        ledger = ledger_on(faulty, "custody")  # type: ignore[arg-type]  # stands for the client
        ledger.put_key(records.key())
        keys = [DocumentKey("acme", f"d{number}") for number in range(90)]
        for key in keys:
            record = ledger.accept(records.draft(key), expected_revision=0)
            # Far larger than any real statement, and within the limit of an item.
            large = records.published(record, envelope=records.envelope("s", 200_000))
            assert ledger.flip(Flip(replace(record, **large), LATER)) is not None
        faulty.calls.clear()
        view = ledger.view("acme", "ann", keys, [])
        assert set(view.heads) == set(keys)
        assert all(
            len(head.envelope.payload) > 200_000 for head in view.heads.values() if head.envelope
        )
        assert len([method for method, _ in faulty.calls if method == "batch_get_item"]) > 1
        client.close()


@pytest.mark.parametrize(
    "fault",
    [
        refused("AccessDeniedException"),
        refused("ResourceNotFoundException"),
        refused("InternalServerError", status=500),
        lost_request,
    ],
)
def test_a_table_that_cannot_answer_is_never_an_empty_answer(stack: Fixture, fault: Fault) -> None:
    publish(stack.sound)
    ledger, _ = stack.faulty(
        get_item=repeat(fault), batch_get_item=repeat(fault), query=repeat(fault)
    )
    reads: list[Callable[[], object]] = [
        lambda: ledger.head(KEY),
        lambda: ledger.version(KEY, 1),
        lambda: ledger.versions(KEY),
        lambda: ledger.source(WIKI),
        lambda: ledger_view(ledger),
        lambda: ledger.control("acme"),
        lambda: ledger.drop(WIKI, "a"),
        lambda: ledger.find_drops("acme", "a"),
        lambda: ledger.erasure("acme", "e"),
        lambda: ledger.list_sources("acme", limit=5, cursor=None),
        lambda: ledger.list_heads(
            "acme", source_id=None, state=None, name=None, limit=5, cursor=None
        ),
        ledger.ping,
    ]
    for read in reads:
        with pytest.raises(Unavailable) as unavailable:
            read()
        assert unavailable.value.code == "ledger-unavailable"


def test_a_table_that_is_not_there_is_unavailable(stack: Fixture) -> None:
    ledger = ledger_on(stack.client, f"none-{uuid.uuid4().hex}")
    with pytest.raises(Unavailable):
        ledger.ping()


# limits and damage


def test_a_record_too_large_for_an_item_is_refused_before_anything_is_written(
    stack: Fixture,
) -> None:
    ledger, client = stack.faulty()
    large = records.draft(KEY, metadata={"text": "é" * 210_000})
    with pytest.raises(TooLarge) as refused_:
        ledger.accept(large, expected_revision=0)
    assert refused_.value.code == "item-too-large"
    assert not [method for method, _ in client.calls if method != "get_item"]
    fits = records.draft(KEY, metadata={"text": "é" * 190_000})
    assert ledger.accept(fits, expected_revision=0).version == 1


def test_a_damaged_item_is_an_error_not_a_guess(stack: Fixture) -> None:
    stack.sound.put_key(records.key())
    publish(stack.sound)
    item = next(item for item in contents(stack) if item["sk"]["S"] == "HEAD")
    for damage in ("", "{}", item["body"]["S"].replace('"ACTIVE"', '"LIVE"')):
        stack.client.put_item(
            TableName=f"{stack.prefix}-ledger", Item={**item, "body": {"S": damage}}
        )
        with pytest.raises(IntegrityError) as broken:
            stack.sound.head(KEY)
        assert broken.value.code == "malformed-item"


DAMAGES: dict[str, dict[str, Any]] = {
    "no body": {},
    "an empty one": {"body": {"S": ""}},
    "no text": {"body": {"N": "1"}},
    "another kind": {"body": {"S": "{}"}},
    "no JSON": {"body": {"S": "{"}},
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["HEAD", "SOURCE"])
def test_a_damaged_item_costs_a_view_nothing_but_itself(
    stack: Fixture, kind: str, damage: str
) -> None:
    stack.sound.put_key(records.key())
    publish(stack.sound)
    stack.sound.put_source(records.source("acme"), expected_revision=0)
    other = KEY._replace(document_id="other")
    publish(stack.sound, other)
    whole = ledger_view(stack.sound, other)
    assert (set(whole.heads), set(whole.sources)) == ({KEY, other}, {WIKI})
    place = layout.head(KEY) if kind == "HEAD" else layout.source(WIKI)
    damaged = {"pk": {"S": place.pk}, "sk": {"S": place.sk}, **DAMAGES[damage]}
    table = "ledger" if kind == "HEAD" else "trust"
    stack.client.put_item(TableName=f"{stack.prefix}-{table}", Item=damaged)
    found = ledger_view(stack.sound, other)
    if kind == "HEAD":
        expected = replace(
            whole, heads={other: whole.heads[other]}, unreadable_heads=frozenset({KEY})
        )
    else:
        expected = replace(whole, sources={}, unreadable_sources=frozenset({WIKI}))
    assert found == expected


def test_a_damaged_item_that_governs_all_is_an_error(stack: Fixture) -> None:
    stack.sound.put_key(records.key())
    publish(stack.sound)
    items = [item for item in contents(stack) if item["sk"]["S"] == "CONTROL"]
    assert len(items) == layout.CONTROL_COPIES
    for item in items:
        place = {name: item[name] for name in ("pk", "sk")}
        stack.client.put_item(TableName=f"{stack.prefix}-trust", Item={**place, "body": {"S": "{"}})
    with pytest.raises(IntegrityError) as broken:
        ledger_view(stack.sound)
    assert broken.value.code == "malformed-item"


def test_every_search_reads_another_copy_of_the_control_item(stack: Fixture) -> None:
    ledger, client = stack.faulty()
    ledger.put_key(records.key())
    client.calls.clear()
    for _ in range(8):
        ledger.control("acme")
    read = {
        key["pk"]["S"]
        for _, arguments in client.calls
        for key in arguments["RequestItems"][f"{stack.prefix}-trust"]["Keys"]
        if key["sk"]["S"] == "CONTROL"
    }
    assert len(read) == 8


def test_a_view_is_one_call_over_both_of_its_tables(stack: Fixture) -> None:
    stack.sound.put_key(records.key())
    publish(stack.sound)
    ledger, client = stack.faulty()
    keys = [KEY, *(DocumentKey("acme", f"d{number}") for number in range(94))]
    assert ledger.view("acme", "ann", keys, [WIKI]).heads.keys() == {KEY}
    ((method, arguments),) = client.calls
    assert method == "batch_get_item"
    asked = {table: len(each["Keys"]) for table, each in arguments["RequestItems"].items()}
    assert asked == {
        f"{stack.prefix}-trust": 4,
        f"{stack.prefix}-revocations": 1,
        f"{stack.prefix}-ledger": 95,
    }
    client.calls.clear()
    keys.append(DocumentKey("acme", "d95"))  # 101 keys: one more than a call takes
    assert ledger.view("acme", "ann", keys, [WIKI]).heads.keys() == {KEY}
    sizes = [
        sum(len(each["Keys"]) for each in arguments["RequestItems"].values())
        for _, arguments in client.calls
    ]
    assert sorted(sizes) == [50, 51]


def test_each_kind_of_item_lies_in_the_table_whose_rights_it_needs(stack: Fixture) -> None:
    ledger = stack.sound
    ledger.put_key(records.key())
    ledger.put_policy_ref("acme", PolicyRef("gate", "1", "d"))
    ledger.set_not_before("acme", "ann", LATER)
    ledger.put_source(records.source("acme"), expected_revision=0)
    ledger.make_page_secret()
    ledger.mark_layout()
    DynamoPolicies(stack.client, f"{stack.prefix}-trust").put(
        PolicyRef("gate", "1", "d"), records.envelope("s")
    )
    publish(ledger)
    _tombstone(ledger)
    ledger.put_drop(Drop(WIKI, "a.md", KEY, 0, DropState.PENDING))
    found = {
        part: {
            item["sk"]["S"].partition("#")[0]
            for item in stack.client.scan(TableName=f"{stack.prefix}-{part}")["Items"]
        }
        for part in PARTS
    }
    assert found == {
        "revocations": set(),
        "trust": {"CONTROL", "TENANT", "PRINCIPAL", "SOURCE", "CHANGE", "SECRET", "POLICY"},
        "ledger": {"ACL", "HEAD", "ERASURE", "LAYOUT"},
        "work": {"V", "DROP", "LAYOUT"},
    }


def test_no_item_of_a_drop_holds_its_path(stack: Fixture) -> None:
    name = "hr/jane-doe.txt"
    pinned = ObjectRef(f"incoming/acme/wiki/{name}", "v1", 3)
    beside = ObjectRef(f"incoming/acme/wiki/{name}.metadata.json", "v2", 3)
    drop = Drop(WIKI, name, KEY, 0, DropState.PENDING, object=pinned, sidecar=beside)
    stored = stack.sound.put_drop(drop)
    assert stored == stack.sound.drop(WIKI, name) == replace(drop, revision=1)
    assert stack.sound.find_drops("acme", name) == (stored,)
    items = stack.client.scan(TableName=f"{stack.prefix}-work")["Items"]
    assert items
    assert "jane" not in repr(items)


def test_an_older_copy_of_the_trust_table_brings_no_revoked_key_back(stack: Fixture) -> None:
    ledger, client = stack.sound, stack.client
    ledger.put_key(records.key())
    kept = client.scan(TableName=f"{stack.prefix}-trust")["Items"]
    change = TrustChange("key/key-1", TrustAction.REVOKED, LATER, "sec", "leaked")
    ledger.set_key_state("key-1", KeyState.REVOKED, change)
    for item in client.scan(TableName=f"{stack.prefix}-trust")["Items"]:
        client.delete_item(
            TableName=f"{stack.prefix}-trust", Key={"pk": item["pk"], "sk": item["sk"]}
        )
    for item in kept:
        client.put_item(TableName=f"{stack.prefix}-trust", Item=item)
    for _ in range(16):  # whichever copy is read
        assert ledger.control("acme").keys["key-1"].state is KeyState.REVOKED
        view = ledger.view("acme", "ann", (), ())
        assert view.control.keys["key-1"].state is KeyState.REVOKED
    for state in (KeyState.ACTIVE, KeyState.RETIRED):
        with pytest.raises(Conflict):
            ledger.set_key_state("key-1", state, change)
        with pytest.raises(Conflict):
            ledger.put_key(records.key(state=state))
    assert ledger.set_key_state("key-1", KeyState.REVOKED, change).state is KeyState.REVOKED


def test_without_the_table_of_revocations_nothing_is_answered(stack: Fixture) -> None:
    stack.sound.put_key(records.key())
    trust, _, ledger, work = (
        tables.table(stack.client, f"{stack.prefix}-{part}") for part in PARTS
    )
    gone = tables.table(stack.client, f"none-{uuid.uuid4().hex}")
    blind = DynamoLedger(trust, lambda: gone, ledger, work)
    reads: list[Callable[[], object]] = [
        lambda: blind.control("acme"),
        lambda: ledger_view(blind),
    ]
    for read in reads:
        with pytest.raises(Unavailable) as unavailable:
            read()
        assert unavailable.value.code == "ledger-unavailable"


def test_reads_are_strongly_consistent(stack: Fixture) -> None:
    ledger, client = stack.faulty(get_item=[pass_through])
    stack.sound.put_key(records.key())
    ledger.head(KEY)
    ledger_view(ledger)
    ledger.versions(KEY)
    ledger.find_drops("acme", "a")
    for method, arguments in client.calls:
        batched = method == "batch_get_item"
        requests = arguments["RequestItems"].values() if batched else [arguments]
        assert {request["ConsistentRead"] for request in requests} == {True}, method


def test_documents_of_one_tenant_spread_over_partitions(stack: Fixture) -> None:
    for number in range(40):
        key = DocumentKey("acme", f"d{number}")
        stack.sound.accept(records.draft(key), expected_revision=0)
    items = contents(stack)
    assert len({item["pk"]["S"] for item in items}) == 40
    assert len(items) == 80  # a head and a version each
    listings = {item["gsi1pk"]["S"] for item in items if "gsi1pk" in item}
    assert len(listings) == 8


def listed(stack: Fixture) -> list[str]:
    """Sort keys of the versions that the listing of superseded ones holds."""
    return [
        item["sk"]["S"]
        for item in contents(stack)
        if item.get("gsi1pk", {}).get("S", "").startswith("X#")
    ]


@pytest.mark.parametrize("ended", ["let_go", "mark_erased"])
def test_only_versions_of_which_something_may_be_left_are_listed(
    stack: Fixture, ended: str
) -> None:
    publish(stack.sound)
    assert listed(stack) == []
    publish(stack.sound)
    _expire(stack.sound)
    assert listed(stack) == ["V#000000000001"]
    if ended == "let_go":
        stack.sound.let_go(KEY, 1)
    else:
        erasure = Erasure("erasure-1", KEY, 0, "asked", "user:ann", LATER)
        stack.sound.tombstone(erasure, expected_revision=4)
        stack.sound.mark_erased(KEY, 1, at=LATER)
    assert listed(stack) == []


def test_a_listing_that_lags_behind_names_nothing_that_is_not_due(stack: Fixture) -> None:
    _prepare_superseded(stack.sound)

    def behind(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        reply = call(**arguments)
        if reply["Items"]:
            _expire(stack.sound)
            stack.sound.let_go(KEY, 1)
        return reply

    ledger, client = stack.faulty(query=repeat(behind))
    assert list(ledger.superseded_through(LATER)) == []
    read = [asked for method, asked in client.calls if method == "batch_get_item"]
    assert [
        each["ConsistentRead"] for asked in read for each in asked["RequestItems"].values()
    ] == [True]


def test_every_process_seals_positions_with_the_same_secret(stack: Fixture) -> None:
    """A cursor comes back to another container than the one that gave it."""
    others = [stack.faulty()[0] for _ in range(2)]
    others[0].make_page_secret()
    assert {ledger.page_secret() for ledger in others} == {stack.sound.page_secret()}


def test_a_listing_with_a_rare_match_reads_a_bounded_amount_a_call(stack: Fixture) -> None:
    ledger, client = stack.faulty()

    def one_at_a_time(call: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        return call(**arguments | {"Limit": 1})

    for number in range(60):
        key = DocumentKey("acme", f"d{number:02d}")
        stack.sound.accept(records.draft(key, name=f"n{number}"), expected_revision=0)
    ledger, client = stack.faulty(query=repeat(one_at_a_time))
    found: list[str] = []
    cursor = None
    for _ in range(60):
        client.calls.clear()
        page = ledger.list_heads(
            "acme", source_id=None, state=None, name="n59", limit=5, cursor=cursor
        )
        assert len([method for method, _ in client.calls if method == "query"]) <= 4 * 8
        found += [head.key.document_id for head in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert found == ["d59"]
    assert cursor is None
