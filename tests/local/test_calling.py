from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest

from custody_local import calling
from custody_local.errors import LocalStackError
from custody_local.progress import Progress
from custody_local.stack import Stack


class OneFunction:
    def __init__(self, reply: bytes, **more: str) -> None:
        self.reply, self.more = reply, more
        self.called: tuple[str, Any] | None = None

    def invoke(self, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        self.called = FunctionName, json.loads(Payload)
        return {"Payload": BytesIO(self.reply), **self.more}


def test_the_reply_is_what_the_function_said() -> None:
    function = OneFunction(b'{"expired": 2}')
    assert calling.call(cast("Any", function), "custody-expire", {}) == {"expired": 2}
    assert function.called == ("custody-expire", {})


def test_a_function_that_fails_is_told_in_its_own_words() -> None:
    function = OneFunction(b'{"errorMessage": "2 versions are left."}', FunctionError="Unhandled")
    with pytest.raises(LocalStackError, match=r"custody-expire fails.*2 versions are left"):
        calling.call(cast("Any", function), "custody-expire", {})


def test_without_a_stack_nothing_is_called(tmp_path: Path) -> None:
    with pytest.raises(LocalStackError, match="custody up"):
        Stack(tmp_path, progress=Progress(quiet=True)).call("expire", {})
