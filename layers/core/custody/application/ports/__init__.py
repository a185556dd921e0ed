"""Ports: what the use cases need from the world. Adapters satisfy them structurally.

Every port raises ``custody.errors.Unavailable`` (with its own code) when its real thing can't be
reached, refuses or times out; none returns an empty answer instead. A use case names the narrowest
port that it needs, and joins two where it needs both.
"""

from custody.application.ports.builds import BuildReads, Builds
from custody.application.ports.clock import Clock, Identifiers
from custody.application.ports.documents import (
    AclHistory,
    AclPublication,
    Admissions,
    Flip,
    HeadListing,
    HeadReads,
    HeadScan,
    Narrowing,
    Publication,
    Rejections,
    Retention,
    VersionHistory,
    VersionReads,
    VersionSteps,
)
from custody.application.ports.drops import DropLedger, DropListing, DropReads
from custody.application.ports.erasures import ErasureLedger, ErasureReads, Tombstones
from custody.application.ports.index import (
    CandidateIndex,
    ChunkCounts,
    EvidenceIndex,
    RebuildableIndex,
    WritableIndex,
)
from custody.application.ports.jobs import Jobs
from custody.application.ports.judging import Judge, Rewriter
from custody.application.ports.ledger import (
    ErasureWork,
    Heads,
    IndexWork,
    Ledger,
    LedgerReads,
    Work,
)
from custody.application.ports.objects import (
    ObjectStore,
    ObjectVersion,
    StoredObject,
    Upload,
)
from custody.application.ports.pages import Cursors, Page, PageSecrets
from custody.application.ports.policies import PolicyStore
from custody.application.ports.signing import Signer, Verifier
from custody.application.ports.sources import SourceHistory, SourceLedger, SourceReads
from custody.application.ports.text import (
    Block,
    Chunker,
    Embedder,
    Matrix,
    ParsedDocument,
    Parser,
    Reranker,
)
from custody.application.ports.tokens import Authorizer
from custody.application.ports.traces import TraceStore
from custody.application.ports.trust import LayoutMarks, Trust, TrustLedger, TrustReads

__all__ = [
    "AclHistory",
    "AclPublication",
    "Admissions",
    "Authorizer",
    "Block",
    "BuildReads",
    "Builds",
    "CandidateIndex",
    "ChunkCounts",
    "Chunker",
    "Clock",
    "Cursors",
    "DropLedger",
    "DropListing",
    "DropReads",
    "Embedder",
    "ErasureLedger",
    "ErasureReads",
    "ErasureWork",
    "EvidenceIndex",
    "Flip",
    "HeadListing",
    "HeadReads",
    "HeadScan",
    "Heads",
    "Identifiers",
    "IndexWork",
    "Jobs",
    "Judge",
    "LayoutMarks",
    "Ledger",
    "LedgerReads",
    "Matrix",
    "Narrowing",
    "ObjectStore",
    "ObjectVersion",
    "Page",
    "PageSecrets",
    "ParsedDocument",
    "Parser",
    "PolicyStore",
    "Publication",
    "RebuildableIndex",
    "Rejections",
    "Reranker",
    "Retention",
    "Rewriter",
    "Signer",
    "SourceHistory",
    "SourceLedger",
    "SourceReads",
    "StoredObject",
    "Tombstones",
    "TraceStore",
    "Trust",
    "TrustLedger",
    "TrustReads",
    "Upload",
    "Verifier",
    "VersionHistory",
    "VersionReads",
    "VersionSteps",
    "Work",
    "WritableIndex",
]
