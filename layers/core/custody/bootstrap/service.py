"""Use cases from ports. Each is made when it is first asked for, and then kept.

Imports stay inside the factories: a function then loads only what its own use case needs, which
keeps a cold start short.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from custody.application.callers import Sight
    from custody.application.erasure.expire_superseded import ExpireSuperseded
    from custody.application.erasure.propagate import PropagateErasure
    from custody.application.erasure.request import Erasures
    from custody.application.erasure.tombstone import Tombstone
    from custody.application.governance.access_cut import CutAccess
    from custody.application.governance.deploy_policies import DeployPolicies
    from custody.application.governance.key_registry import KeyRegistry
    from custody.application.governance.policy_registry import PolicyRegistry
    from custody.application.governance.source_registry import SourceRegistry
    from custody.application.health import Health
    from custody.application.idempotency import Idempotency
    from custody.application.indexing.elsewhere import IndexElsewhere
    from custody.application.indexing.indices import Indices
    from custody.application.indexing.rebuild import Rebuild
    from custody.application.ingestion.accept_document import Accept
    from custody.application.ingestion.accept_drop import AcceptDrop
    from custody.application.ingestion.change_acl import ChangeAcl
    from custody.application.ingestion.clean_up import CleanUpSuperseded
    from custody.application.ingestion.close_rejected import CloseRejected
    from custody.application.ingestion.embed import Embed
    from custody.application.ingestion.parse import Parse
    from custody.application.ingestion.post_document import PostDocument
    from custody.application.ingestion.publish import Publish
    from custody.application.ingestion.rejecting import Rejecting
    from custody.application.ingestion.repeats import Repeats
    from custody.application.ingestion.uploads import Uploads
    from custody.application.ingestion.waiting import Waiting
    from custody.application.ports import Authorizer, Clock, Cursors, Jobs
    from custody.application.reading.access_history import AccessHistory
    from custody.application.reading.answer import Answers
    from custody.application.reading.documents import Documents
    from custody.application.reading.evidence_check import EvidenceCheck
    from custody.application.reading.ranking import Policies
    from custody.application.reading.read_trace import ReadTrace
    from custody.application.reading.retrieval import Retriever
    from custody.application.reading.search import Search
    from custody.bootstrap.ports import Limits, Ports
    from custody.domain.model import Principal


class Service:
    def __init__(self, ports: Ports, limits: Limits) -> None:
        self._ports, self._limits = ports, limits

    # --- what the edge asks for -------------------------------------------------------------------

    @property
    def clock(self) -> Clock:
        return self._ports.clock

    @property
    def max_token_age(self) -> timedelta:
        return self._limits.max_token_age

    @property
    def idempotency(self) -> Idempotency:
        return self._ports.idempotency

    @property
    def authorizer(self) -> Authorizer:
        return self._ports.authorizer

    def check_token(self, principal: Principal) -> None:
        from custody.application.callers import trust_view_for

        trust_view_for(self._ports.trust, principal)

    # --- what use cases share ---------------------------------------------------------------------

    @cached_property
    def check(self) -> EvidenceCheck:
        from custody.application.reading.evidence_check import EvidenceCheck

        return EvidenceCheck(self._ports.verifier)

    @cached_property
    def sight(self) -> Sight:
        from custody.application.callers import Sight

        return Sight(self.check, self._ports.clock)

    @cached_property
    def active_policies(self) -> Policies:
        from custody.application.governance.active_policies import ActivePolicies

        return ActivePolicies(self._ports.policies, self._ports.verifier)

    @cached_property
    def retriever(self) -> Retriever:
        from custody.application.reading.retrieval import Retriever

        return Retriever(
            index=self._ports.index,
            ledger=self._ports.heads,
            check=self.check,
            policies=self.active_policies,
            leg_weights=self._limits.leg_weights,
            reranker=self._ports.reranker,
        )

    @cached_property
    def _cursors(self) -> Cursors:
        from custody.adapters.sealed_cursors import SealedCursors

        return SealedCursors(self._ports.trust.page_secret)

    @cached_property
    def _rejecting(self) -> Rejecting:
        from custody.application.ingestion.rejecting import Rejecting

        return Rejecting(self._ports.objects, self._ports.clock)

    @cached_property
    def _waiting(self) -> Waiting:
        from custody.application.ingestion.waiting import Waiting

        return Waiting(self._ports.clock, self._ports.sleep, self._limits.publish_wait_seconds)

    def _tombstone(self, jobs: Jobs) -> Tombstone:
        from custody.application.erasure.tombstone import Tombstone

        ports = self._ports
        return Tombstone(ports.heads, ports.work, jobs, ports.clock, ports.identifiers)

    # --- ingestion --------------------------------------------------------------------------------

    @cached_property
    def accept(self) -> Accept:
        from custody.application.ingestion.accept_document import Accept

        ports = self._ports
        jobs = ports.jobs("parse", "publish")
        return Accept(ports.ledger, ports.objects, ports.index, jobs, ports.clock)

    @cached_property
    def post_document(self) -> PostDocument:
        from custody.application.ingestion.post_document import PostDocument

        return PostDocument(self.accept, self._ports.work, self._ports.index, self._waiting)

    @cached_property
    def repeats(self) -> Repeats:
        from custody.application.ingestion.repeats import Repeats

        return Repeats(self._ports.heads)

    @cached_property
    def change_acl(self) -> ChangeAcl:
        from custody.application.ingestion.change_acl import ChangeAcl

        ports = self._ports
        return ChangeAcl(ports.heads, ports.jobs("publish"), ports.clock, self._waiting, self.sight)

    @cached_property
    def uploads(self) -> Uploads:
        from custody.application.ingestion.uploads import Uploads

        ports = self._ports
        return Uploads(ports.ledger, ports.objects, max_object_bytes=self._limits.max_object_bytes)

    @cached_property
    def accept_drop(self) -> AcceptDrop:
        from custody.application.ingestion.accept_drop import AcceptDrop

        ports = self._ports
        jobs = ports.jobs("parse", "publish", "erase")
        return AcceptDrop(
            ledger=ports.ledger,
            objects=ports.objects,
            index=ports.index,
            jobs=jobs,
            clock=ports.clock,
            rejecting=self._rejecting,
            tombstone=self._tombstone(jobs),
            bucket=self._limits.bucket,
            max_object_bytes=self._limits.max_object_bytes,
        )

    @cached_property
    def parse(self) -> Parse:
        from custody.application.ingestion.parse import Parse
        from custody.application.ingestion.rejecting import RejectingVersion

        ports = self._ports
        return Parse(
            ledger=ports.work,
            objects=ports.objects,
            parser=ports.parser,
            chunker=ports.chunker,
            jobs=ports.jobs("embed", "publish"),
            rejecting=RejectingVersion(ports.work, self._rejecting),
            max_object_bytes=self._limits.max_object_bytes,
        )

    @cached_property
    def embed(self) -> Embed:
        from custody.application.ingestion.embed import Embed

        ports = self._ports
        return Embed(ports.work, ports.objects, ports.embedder, ports.jobs("publish"))

    @cached_property
    def publish(self) -> Publish:
        from custody.application.ingestion.publish import Publish

        ports = self._ports
        return Publish(
            ports.ledger,
            ports.objects,
            ports.index,
            ports.signer("ingestion"),
            ports.jobs("publish", "rebuild"),
            ports.clock,
        )

    @cached_property
    def close_rejected(self) -> CloseRejected:
        from custody.application.ingestion.close_rejected import CloseRejected

        return CloseRejected(self._ports.ledger, self._ports.clock)

    @cached_property
    def clean_up_superseded(self) -> CleanUpSuperseded:
        from custody.application.ingestion.clean_up import CleanUpSuperseded

        ports = self._ports
        jobs = ports.jobs("rebuild")
        return CleanUpSuperseded(ports.ledger, ports.objects, ports.index, jobs)

    # --- reading ----------------------------------------------------------------------------------

    @cached_property
    def search(self) -> Search:
        from custody.application.reading.search import Search

        ports = self._ports
        return Search(
            retriever=self.retriever,
            embedder=ports.embedder,
            traces=ports.traces,
            clock=ports.clock,
            ids=ports.identifiers,
            trace_ttl=self._limits.trace_ttl,
        )

    @cached_property
    def answers(self) -> Answers:
        from custody.application.reading.answer import Answers

        ports = self._ports
        return Answers(
            search=self.search,
            retriever=self.retriever,
            policies=self.active_policies,
            traces=ports.traces,
            clock=ports.clock,
            ids=ports.identifiers,
            judge=ports.judge,
            rewriter=ports.rewriter,
            max_rewrites=self._limits.max_rewrites,
            trace_ttl=self._limits.trace_ttl,
        )

    @cached_property
    def stored_answers(self) -> ReadTrace:
        from custody.application.reading.read_trace import ReadTrace

        ports = self._ports
        return ReadTrace(
            traces=ports.traces,
            ledger=ports.ledger,
            objects=ports.objects,
            check=self.check,
            clock=ports.clock,
        )

    @cached_property
    def documents(self) -> Documents:
        from custody.application.reading.documents import Documents

        return Documents(self._ports.ledger, self._cursors, self.sight)

    @cached_property
    def access_history(self) -> AccessHistory:
        from custody.application.reading.access_history import AccessHistory

        return AccessHistory(self._ports.ledger, self._ports.clock)

    # --- erasure ----------------------------------------------------------------------------------

    @cached_property
    def erasures(self) -> Erasures:
        from custody.application.erasure.request import Erasures

        return Erasures(self._tombstone(self._ports.jobs("erase")), self.sight)

    @cached_property
    def propagate_erasure(self) -> PropagateErasure:
        from custody.application.erasure.places import every_place
        from custody.application.erasure.propagate import PropagateErasure

        ports = self._ports
        places = every_place(
            ledger=ports.erasures, objects=ports.objects, index=ports.index, clock=ports.clock
        )
        return PropagateErasure(places, ports.erasures, ports.builds, ports.clock)

    # --- indices ----------------------------------------------------------------------------------

    @cached_property
    def index_elsewhere(self) -> IndexElsewhere:
        from custody.application.indexing.elsewhere import IndexElsewhere

        return IndexElsewhere(self._ports.rebuildable, self.rebuild.copying())

    @cached_property
    def rebuild(self) -> Rebuild:
        from custody.application.indexing.rebuild import Models, Rebuild

        ports = self._ports
        return Rebuild(
            ledger=ports.index_work,
            records=ports.builds,
            objects=ports.objects,
            index=ports.rebuildable,
            signer=ports.signer("index"),
            models=Models(ports.embedder, ports.other_embedder),
            jobs=ports.jobs("rebuild"),
            clock=ports.clock,
            identifiers=ports.identifiers,
            pace=self._limits.build_pace,
        )

    @cached_property
    def indices(self) -> Indices:
        from custody.application.indexing.indices import Indices

        ports = self._ports
        return Indices(
            ports.trust, ports.builds, ports.jobs("rebuild"), ports.clock, self._limits.build_pace
        )

    @cached_property
    def expire_superseded(self) -> ExpireSuperseded:
        from custody.application.erasure.expire_superseded import ExpireSuperseded

        ports = self._ports
        return ExpireSuperseded(
            ports.work, ports.objects, ports.index, ports.clock, self._limits.superseded_retention
        )

    # --- governance -------------------------------------------------------------------------------

    @cached_property
    def sources(self) -> SourceRegistry:
        from custody.application.governance.source_registry import SourceRegistry

        return SourceRegistry(self._ports.trust, self._ports.clock, self._cursors)

    @cached_property
    def deploy_policies(self) -> DeployPolicies:
        from custody.application.governance.deploy_policies import DeployPolicies

        ports = self._ports
        return DeployPolicies(
            ledger=ports.ledger,
            policies=ports.policies,
            ingestion=ports.signer("ingestion"),
            policy=ports.signer("policy"),
            index=ports.signer("index"),
            verifier=ports.verifier,
            packaged=ports.packaged_policies,
            clock=ports.clock,
        )

    @cached_property
    def keys(self) -> KeyRegistry:
        from custody.application.governance.key_registry import KeyRegistry

        return KeyRegistry(self._ports.trust, self._ports.clock)

    @cached_property
    def cut_access(self) -> CutAccess:
        from custody.application.governance.access_cut import CutAccess

        return CutAccess(self._ports.trust, self._ports.clock)

    @cached_property
    def policies(self) -> PolicyRegistry:
        from custody.application.governance.policy_registry import PolicyRegistry

        ports = self._ports
        return PolicyRegistry(
            ledger=ports.trust,
            policies=ports.policies,
            signer=ports.signer("policy"),
            verifier=ports.verifier,
            clock=ports.clock,
        )

    @cached_property
    def health(self) -> Health:
        from custody.application.health import Health, Pinged

        ports = self._ports
        dependencies: dict[str, Pinged] = {
            "trust": ports.trust,
            "ledger": ports.heads,
            "work": ports.work,
            "index": ports.index,
        }
        return Health(dependencies, ports.clock)
