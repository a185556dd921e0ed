"""The HTTP edge: strict bodies in, problem+json out, one route table for handlers and OpenAPI."""

from custody.http.api import Api, Edge, Handler, Reply, Request, Route
from custody.http.body import MAX_BODY_BYTES, Body, Metadata, Timestamp, parse_body, read_json
from custody.http.principal import principal_from_event, require
from custody.http.problem import problem

__all__ = [
    "MAX_BODY_BYTES",
    "Api",
    "Body",
    "Edge",
    "Handler",
    "Metadata",
    "Reply",
    "Request",
    "Route",
    "Timestamp",
    "parse_body",
    "principal_from_event",
    "problem",
    "read_json",
    "require",
]
