"""POST /search."""

from __future__ import annotations

from custody import bootstrap
from custody.bootstrap import Service
from custody.domain.model import Scope
from custody.http import Api, Reply, Request
from custody.http.schemas.search import SearchBody, SearchReply, search_reply, search_request

api = Api[Service]("query")


@api.endpoint(
    "POST",
    "/search",
    scopes=(Scope.READ,),
    summary="Find verified evidence for a question.",
    request=SearchBody,
    replies={200: SearchReply},
)
def search(service: Service, request: Request[SearchBody, None]) -> Reply:
    result = service.search(request.principal, search_request(request.body))
    return Reply(
        search_reply(result, audit=request.principal.may(Scope.AUDIT)),
        counts={
            **{outcome.value: count for outcome, count in result.outcomes.items()},
            "Search_ms": result.timings_ms["total"],
        },
    )


handler = api.handler(bootstrap.service)
