"""A principal whose access is cut."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from custody.application.governance.access_cut import MAX_SUBJECT_CHARACTERS, Cut, CutRequest
from custody.application.governance.key_registry import MAX_REASON_CHARACTERS
from custody.http.schemas.common import Schema, Timestamp


class CutBody(Schema):
    """``not_before``: tokens issued earlier are void; now, where it is left out."""

    subject: Annotated[str, StringConstraints(min_length=1, max_length=MAX_SUBJECT_CHARACTERS)]
    reason: Annotated[str, StringConstraints(min_length=1, max_length=MAX_REASON_CHARACTERS)]
    not_before: Timestamp | None = None


class CutReply(Schema):
    """``not_before``: what holds; a later cut than the one that was asked for stays."""

    subject: str
    not_before: Timestamp


def cut_request(body: CutBody) -> CutRequest:
    return CutRequest(body.subject, body.reason, body.not_before)


def cut_reply(cut: Cut) -> CutReply:
    return CutReply(subject=cut.subject, not_before=cut.not_before)
