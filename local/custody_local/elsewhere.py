"""A stack in an AWS that was not started with it: may it go there, is it there, out of it again."""

from __future__ import annotations

from custody_local import clients, endpoints, removal
from custody_local.errors import BadEndpoint
from custody_local.progress import Progress
from custody_local.state import State


def claim(endpoint: str, stack_name: str) -> None:
    """Raises BadEndpoint where nothing may be put."""
    endpoints.confirm(endpoint)
    if removal.present(clients.session(endpoint), stack_name):
        raise BadEndpoint(
            "endpoint-occupied",
            f"{endpoint} has a stack {stack_name} that was not put there from here, and a second "
            "one would take its tables: delete that stack first.",
        )


def missed(state: State) -> list[str]:
    """What should be there and is not, in words."""
    if not endpoints.answers(state.endpoint_url):
        return [f"the AWS at {state.endpoint_url} does not answer"]
    if not _is_there(state):
        return [f"the stack {state.stack_name} is no longer at {state.endpoint_url}"]
    return []


def remove(state: State, progress: Progress) -> bool:
    """True: the stack was there. Raises LocalStackError when it stays."""
    if not endpoints.answers(state.endpoint_url):
        progress.note(f"{state.endpoint_url} does not answer: nothing is removed there.")
        return False
    found = _is_there(state)
    if state.stack_id and not found:
        return False  # a stack of that name would be another's
    with progress.step(f"Removing {state.stack_name} from {state.endpoint_url}"):
        removal.remove(clients.session(state.endpoint_url), state.stack_name)
    return found


def _is_there(state: State) -> bool:
    aws = clients.session(state.endpoint_url)
    return removal.present(aws, state.stack_id or state.stack_name)
