"""The HTTP edge: strict bodies in, problem+json out, one table for handlers and OpenAPI."""

from custody.http.api import Api, Edge, Endpoint, Handler, Request
from custody.http.reply import Reply

__all__ = ["Api", "Edge", "Endpoint", "Handler", "Reply", "Request"]
