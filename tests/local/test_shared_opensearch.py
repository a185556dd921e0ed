from __future__ import annotations

import pytest

from custody_local import net


@pytest.mark.opensearch
def test_node_has_the_plugins_that_the_index_needs(opensearch_url: str) -> None:
    shown = net.get_json(f"{opensearch_url}/_cat/plugins?format=json")
    assert shown is not None
    names = {row["component"].rpartition(".")[2] for row in shown}
    assert {"KNNPlugin", "ReindexPlugin", "PainlessPlugin", "CommonAnalysisPlugin"} <= names
