"""POST /answers and GET /answers/{id}."""

from __future__ import annotations

from custody import bootstrap
from custody.bootstrap import Service
from custody.domain.model import Scope
from custody.http import Api, Reply, Request
from custody.http.schemas.answers import AnswerBody, AnswerReply, answer_reply, answer_request
from custody.http.schemas.stored_answers import StoredAnswerReply, stored_answer_reply

api = Api[Service]("gate")


@api.endpoint(
    "POST",
    "/answers",
    scopes=(Scope.READ,),
    summary="Find evidence, judge whether it suffices, and abstain where it does not.",
    request=AnswerBody,
    replies={200: AnswerReply},
)
def answer(service: Service, request: Request[AnswerBody, None]) -> Reply:
    result = service.answers(request.principal, answer_request(request.body))
    return Reply(
        answer_reply(result, audit=request.principal.may(Scope.AUDIT)),
        counts={
            **{outcome.value: count for outcome, count in result.outcomes.items()},
            f"Verdict_{result.verdict.value}": 1,
            "Answer_ms": result.timings_ms["total"],
        },
    )


@api.endpoint(
    "GET",
    "/answers/{id}",
    scopes=(Scope.READ,),
    summary="One's own stored answer, or any of the tenant's for an auditor.",
    replies={200: StoredAnswerReply},
)
def stored_answer(service: Service, request: Request[None, None]) -> Reply:
    found = service.stored_answers(request.principal, request.parameters["id"])
    return Reply(stored_answer_reply(found, audit=request.principal.may(Scope.AUDIT)))


handler = api.handler(bootstrap.service)
