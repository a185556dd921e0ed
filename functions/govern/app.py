"""Sources, keys, policies, access and indices: what governs, changed at the next read."""

from __future__ import annotations

from custody import bootstrap
from custody.application.governance.source_registry import SourceStateRequest
from custody.bootstrap import Service
from custody.domain.model import Scope, Source
from custody.http import Api, Reply, Request
from custody.http.idempotent import GUARDED_HEADERS, WRITE_HEADERS, etag, if_match, once
from custody.http.schemas.indices import (
    IndexReply,
    IndicesReply,
    RebuildBody,
    index_reply,
    indices_reply,
)
from custody.http.schemas.keys import (
    KeyReply,
    KeysReply,
    KeyStateBody,
    key_reply,
    key_request,
    keys_reply,
)
from custody.http.schemas.policies import (
    ActivationBody,
    PolicyBody,
    PolicyHistoryReply,
    PolicyReply,
    policy_history_reply,
    policy_reply,
)
from custody.http.schemas.principals import CutBody, CutReply, cut_reply, cut_request
from custody.http.schemas.sources import (
    QuarantineBody,
    SourceBody,
    SourceReply,
    SourcesQuery,
    SourcesReply,
    source_reply,
    source_request,
    sources_reply,
)

_PAGE = 50

api = Api[Service]("govern")


@api.endpoint(
    "PUT",
    "/sources/{id}",
    scopes=(Scope.GOVERN,),
    summary="Register a source or change it.",
    request=SourceBody,
    headers=GUARDED_HEADERS,
    replies={200: SourceReply, 201: SourceReply},
)
def put_source(service: Service, request: Request[SourceBody, None]) -> Reply:
    wanted = source_request(request.parameters["id"], request.body, if_match(request))

    def run() -> Reply:
        put = service.sources.put(request.principal, wanted)
        return Reply(
            source_reply(put.source),
            201 if put.created else 200,
            headers=etag(put.source.revision),
        )

    return once(service, request, run)


@api.endpoint(
    "GET",
    "/sources",
    scopes=(Scope.GOVERN, Scope.AUDIT),
    summary="The tenant's sources, for governors and auditors.",
    query=SourcesQuery,
    replies={200: SourcesReply},
)
def list_sources(service: Service, request: Request[None, SourcesQuery]) -> Reply:
    page = service.sources.list_sources(request.principal, limit=_PAGE, cursor=request.query.next)
    return Reply(sources_reply(page))


@api.endpoint(
    "POST",
    "/sources/{id}/quarantine",
    scopes=(Scope.GOVERN,),
    summary="Serve nothing of a source until it is released.",
    request=QuarantineBody,
    headers=GUARDED_HEADERS,
    replies={200: SourceReply},
)
def quarantine_source(service: Service, request: Request[QuarantineBody, None]) -> Reply:
    wanted = SourceStateRequest(request.parameters["id"], request.body.reason, if_match(request))
    return once(
        service,
        request,
        lambda: _source_reply(service.sources.quarantine(request.principal, wanted)),
    )


@api.endpoint(
    "DELETE",
    "/sources/{id}/quarantine",
    scopes=(Scope.GOVERN,),
    summary="Release a source from quarantine.",
    headers=GUARDED_HEADERS,
    replies={200: SourceReply},
)
def release_source(service: Service, request: Request[None, None]) -> Reply:
    wanted = SourceStateRequest(request.parameters["id"], if_match=if_match(request))
    return once(
        service,
        request,
        lambda: _source_reply(service.sources.release(request.principal, wanted)),
    )


def _source_reply(source: Source) -> Reply:
    return Reply(source_reply(source), headers=etag(source.revision))


@api.endpoint(
    "GET",
    "/keys",
    scopes=(Scope.GOVERN, Scope.AUDIT),
    summary="The keys that evidence, policies and index builds are verified with.",
    replies={200: KeysReply},
)
def list_keys(service: Service, request: Request[None, None]) -> Reply:
    return Reply(keys_reply(service.keys.list_keys(request.principal)))


@api.endpoint(
    "POST",
    "/keys/{id}/retire",
    scopes=(Scope.GOVERN,),
    summary="Take a key out of use; for the operators.",
    request=KeyStateBody,
    headers=WRITE_HEADERS,
    replies={200: KeyReply},
)
def retire_key(service: Service, request: Request[KeyStateBody, None]) -> Reply:
    wanted = key_request(request.parameters["id"], request.body)
    return once(
        service,
        request,
        lambda: Reply(key_reply(service.keys.retire(request.principal, wanted))),
    )


@api.endpoint(
    "POST",
    "/keys/{id}/revoke",
    scopes=(Scope.GOVERN,),
    summary="Revoke a key for good; for the operators.",
    request=KeyStateBody,
    headers=WRITE_HEADERS,
    replies={200: KeyReply},
)
def revoke_key(service: Service, request: Request[KeyStateBody, None]) -> Reply:
    wanted = key_request(request.parameters["id"], request.body)
    return once(
        service,
        request,
        lambda: Reply(key_reply(service.keys.revoke(request.principal, wanted))),
    )


@api.endpoint(
    "POST",
    "/principals/cut",
    scopes=(Scope.GOVERN,),
    summary="Void a principal's tokens that were issued before.",
    request=CutBody,
    headers=WRITE_HEADERS,
    replies={200: CutReply},
)
def cut_principal(service: Service, request: Request[CutBody, None]) -> Reply:
    wanted = cut_request(request.body)
    return once(
        service,
        request,
        lambda: Reply(cut_reply(service.cut_access(request.principal, wanted))),
    )


@api.endpoint(
    "GET",
    "/policies/{name}",
    scopes=(Scope.GOVERN, Scope.AUDIT),
    summary="The policy in force for the caller's tenant.",
    replies={200: PolicyReply},
)
def show_policy(service: Service, request: Request[None, None]) -> Reply:
    return Reply(policy_reply(service.policies.show(request.principal, request.parameters["name"])))


@api.endpoint(
    "GET",
    "/policies/{name}/history",
    scopes=(Scope.GOVERN, Scope.AUDIT),
    summary="Which policies were in force, since when, by whom.",
    replies={200: PolicyHistoryReply},
)
def show_policy_history(service: Service, request: Request[None, None]) -> Reply:
    name = request.parameters["name"]
    return Reply(policy_history_reply(name, service.policies.history(request.principal, name)))


@api.endpoint(
    "POST",
    "/policies/{name}/versions",
    scopes=(Scope.GOVERN,),
    summary="Sign a policy and keep it; it is not in force by that.",
    request=PolicyBody,
    headers=WRITE_HEADERS,
    replies={201: PolicyReply},
)
def sign_policy(service: Service, request: Request[PolicyBody, None]) -> Reply:
    name = request.parameters["name"]

    def run() -> Reply:
        signed = service.policies.sign(request.principal, name, request.body.document)
        return Reply(policy_reply(signed), 201)

    return once(service, request, run)


@api.endpoint(
    "POST",
    "/policies/{name}/activate",
    scopes=(Scope.GOVERN,),
    summary="Put a signed policy in force.",
    request=ActivationBody,
    headers=WRITE_HEADERS,
    replies={200: PolicyReply},
)
def activate_policy(service: Service, request: Request[ActivationBody, None]) -> Reply:
    name = request.parameters["name"]

    def run() -> Reply:
        active = service.policies.activate(request.principal, name, request.body.digest)
        return Reply(policy_reply(active))

    return once(service, request, run)


@api.endpoint(
    "POST",
    "/policies/{name}/rollback",
    scopes=(Scope.GOVERN,),
    summary="Put the policy in force that was before.",
    headers=WRITE_HEADERS,
    replies={200: PolicyReply},
)
def roll_back_policy(service: Service, request: Request[None, None]) -> Reply:
    name = request.parameters["name"]
    return once(
        service,
        request,
        lambda: Reply(policy_reply(service.policies.roll_back(request.principal, name))),
    )


@api.endpoint(
    "GET",
    "/indexes",
    scopes=(Scope.GOVERN, Scope.AUDIT),
    summary="The tenant's indices: built, served, retiring, with their signed statements.",
    replies={200: IndicesReply},
)
def list_indices(service: Service, request: Request[None, None]) -> Reply:
    return Reply(indices_reply(service.indices.show(request.principal)))


@api.endpoint(
    "POST",
    "/indexes/rebuild",
    scopes=(Scope.GOVERN,),
    summary="Build the tenant's indices anew, beside those that are served.",
    request=RebuildBody,
    headers=WRITE_HEADERS,
    replies={202: IndicesReply},
)
def rebuild_indices(service: Service, request: Request[RebuildBody, None]) -> Reply:
    def run() -> Reply:
        begun = service.indices.rebuild(request.principal, model=request.body.model)
        return Reply(indices_reply(begun), 202)

    return once(service, request, run)


@api.endpoint(
    "DELETE",
    "/indexes/{id}",
    scopes=(Scope.GOVERN,),
    summary="Give up an index that is being built, or retire one of a former model.",
    headers=WRITE_HEADERS,
    replies={202: IndexReply},
)
def drop_index(service: Service, request: Request[None, None]) -> Reply:
    def run() -> Reply:
        return Reply(
            index_reply(service.indices.drop(request.principal, request.parameters["id"])), 202
        )

    return once(service, request, run)


handler = api.handler(bootstrap.service)
