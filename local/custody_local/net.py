"""Ports of this machine and small HTTP questions to local servers."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from typing import Any

from custody_local.errors import PortTaken

HOST = "127.0.0.1"


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if probe.connect_ex((HOST, port)) == 0:
            return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
    return True


def choose(port: int, *, what: str, option: str) -> int:
    """``port`` itself, or a free one for 0. Raises PortTaken."""
    if port == 0:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
            listener.bind((HOST, 0))
            chosen: int = listener.getsockname()[1]
            return chosen
    if not is_free(port):
        raise PortTaken(port, what, option)
    return port


def get_json(url: str, *, seconds: float = 2.0) -> Any | None:
    """The JSON that a GET answers with; None when nothing (good) answers."""
    try:
        with urllib.request.urlopen(url, timeout=seconds) as reply:  # noqa: S310 - local servers
            return json.load(reply)
    except (OSError, ValueError, urllib.error.URLError):
        return None
