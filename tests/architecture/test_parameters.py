"""What a search takes is told wherever a search is told of, and the client knows every reply."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, is_typeddict

import pytest

from custody.application.reading.answer import AnswerRequest
from custody.application.reading.search import SearchRequest
from custody.application.reading.trace import BarRequest, FilterTrace, RequestTrace
from custody.http.schemas.search import SearchBody
from custody.http.schemas.stored_answers import StoredRequestReply
from custody_client import types
from custody_local.paths import ROOT

DOCUMENT: dict[str, Any] = json.loads((ROOT / "docs/openapi.json").read_text("utf-8"))
LATER = {"as_of", "max_steps"}  # refused as not available
OF_ANSWERS = {"generate"}  # refused where it is true
SCHEMA_OF = {
    "AllowDict": "AclBody",
    "Source": "SourceReply",
    "SourcePage": "SourcesReply",
    "Key": "KeyReply",
    "KeyList": "KeysReply",
    "Cut": "CutReply",
    "SignedPolicy": "PolicyReply",
    "PolicyChange": "PolicyChangeReply",
    "PolicyHistory": "PolicyHistoryReply",
    "Inspection": "InspectionReply",
    "PutDocumentResult": "PublishedDocumentReply",
    "Version": "DocumentVersionReply",
    "Document": "DocumentWithVersionsReply",
    "DocumentPage": "DocumentsReply",
    "Provenance": "DocumentProvenanceReply",
    "AclResult": "DocumentAclReply",
    "ErasureAccepted": "ErasureAcceptedReply",
    "Artifact": "ErasedArtifactReply",
    "Erasure": "ErasureReply",
    "UploadTicket": "UploadReply",
    "Drop": "DropReply",
    "DropList": "DropsReply",
    "LegScore": "EvidenceLegReply",
    "Scores": "EvidenceScoresReply",
    "EvidenceProvenance": "EvidenceProvenanceReply",
    "Cluster": "EvidenceClusterReply",
    "Evidence": "EvidenceReply",
    "SearchResult": "SearchReply",
    "GateReport": "GateReply",
    "AnswerAttempt": "AnswerAttemptReply",
    "Answer": "AnswerReply",
    "StoredEvidence": "StoredItemReply",
    "StoredRequest": "StoredRequestReply",
    "Policy": "PolicyUseReply",
    "ReputationPolicy": "SearchPolicyReply",
    "StoredRetrieval": "StoredRetrievalReply",
    "StoredGate": "StoredGateReply",
    "StoredAttempt": "StoredAttemptReply",
    "StoredAnswer": "StoredAnswerReply",
    "IndexBuild": "IndexReply",
    "IndexBuilds": "IndicesReply",
    "PastSource": "PastSourceReply",
    "PastAccess": "PastAccessReply",
    "Health": "HealthReply",
    "SearchFields": "SearchBody",
    "AnswerFields": "AnswerBody",
}


def names(kind: Any) -> set[str]:
    return {field.name for field in fields(kind)}


def test_a_search_takes_each_parameter_of_its_body() -> None:
    assert set(SearchBody.model_fields) - LATER == names(SearchRequest)


def test_a_trace_holds_each_parameter() -> None:
    kept = names(RequestTrace) | names(FilterTrace) | names(BarRequest)
    assert names(SearchRequest) <= kept
    assert names(AnswerRequest) - {"search"} - OF_ANSWERS <= kept


def test_a_stored_answer_tells_each_parameter() -> None:
    told = set(StoredRequestReply.model_fields)
    assert names(SearchRequest) <= told
    assert names(AnswerRequest) - {"search"} - OF_ANSWERS <= told


def test_each_type_of_the_client_is_held_to_a_schema() -> None:
    assert {name for name, kind in vars(types).items() if is_typeddict(kind)} == set(SCHEMA_OF)


@pytest.mark.parametrize("name", SCHEMA_OF)
def test_a_type_of_the_client_has_the_fields_of_its_schema(name: str) -> None:
    kind = getattr(types, name)
    known = kind.__required_keys__ | kind.__optional_keys__
    told = set(DOCUMENT["components"]["schemas"][SCHEMA_OF[name]]["properties"])
    assert known == told - ({"query"} if name.endswith("Fields") else set())
