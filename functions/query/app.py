"""POST /search."""

from __future__ import annotations

from custody import bootstrap
from custody.bootstrap import Service
from custody.domain.model import Scope
from custody.http import Api, Reply, Request
from custody.http.evidence import SearchFields, SearchReply, search_json, search_request

api = Api[Service]("query")


@api.route(
    "POST",
    "/search",
    scope=Scope.READ,
    summary="Find verified evidence for a question.",
    request=SearchFields,
    replies={200: SearchReply},
)
def search(service: Service, request: Request[SearchFields, None]) -> Reply:
    result = service.search(request.principal, search_request(request.body))
    return Reply(
        search_json(result, audit=request.principal.may(Scope.AUDIT)),
        counts={
            **{outcome.value: count for outcome, count in result.outcomes.items()},
            "Search_ms": result.timings_ms["total"],
        },
    )


handler = api.handler(bootstrap.service)
