"""The evidence index on OpenSearch: HNSW vectors of Lucene and BM25, one index a space."""

from custody.adapters.opensearch_index.connection import connect
from custody.adapters.opensearch_index.index import OpenSearchIndex

__all__ = ["OpenSearchIndex", "connect"]
