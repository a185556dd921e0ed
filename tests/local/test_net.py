from __future__ import annotations

import socket

import pytest

from custody_local import net
from custody_local.errors import PortTaken


def test_a_taken_port_is_named_with_the_way_out() -> None:
    with socket.socket() as listener:
        listener.bind((net.HOST, 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"Port {port}, wanted for the index.*--index-port 0"):
            net.choose(port, what="the index", option="--index-port")


def test_zero_chooses_a_free_port() -> None:
    assert net.is_free(net.choose(0, what="the index", option=""))


def test_silence_is_no_answer() -> None:
    port = net.choose(0, what="nothing", option="")
    assert net.get_json(f"http://{net.HOST}:{port}/health") is None
