"""What went wrong with the local stack, in one sentence that says what to do."""

from __future__ import annotations


class LocalStackError(Exception):
    """The text is for a person: what is wrong and how to go on. ``code`` is for scripts and stays
    as it is."""

    code = "local-stack"


class PortTaken(LocalStackError):
    def __init__(self, port: int, what: str, option: str) -> None:
        super().__init__(
            f"Port {port}, wanted for {what}, is taken by another program: "
            f"stop that program, or choose a free port with {option} 0."
        )
        self.port = port


class MissingTool(LocalStackError):
    """A program that the request needs is not on this machine."""


class BadEndpoint(LocalStackError):
    """The AWS endpoint that was named can't be used. ``code``: endpoint-invalid,
    endpoint-is-aws, endpoint-unreachable, endpoint-not-aws or endpoint-occupied."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class NotServing(LocalStackError):
    """The stack was deployed, and a function of it can't do its work."""

    code = "not-serving"
