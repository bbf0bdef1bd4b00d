"""Calls of the commands, sent with the session or the management account, and their replies as JSON."""

from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from .._core.replies.decode import Ack, Outcomes, read_json
from .._core.replies.outcomes import outcomes_of
from .._core.requests.endpoint import Call, Endpoint
from .._models.raw_json import write_value
from .._models.roles import PermissionOutcomes
from .._parameters.messages import TrackedMessage
from .._resources.messages import with_muid
from .._telemetry import LOGGER
from ..errors import ChatRestError, OutcomeUnknownError, ReplyUnreadableError
from .environment import management, session

if TYPE_CHECKING:
    from ..management import AsyncManagement
    from ..session import AsyncSession

_LINE_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")


def client_of(endpoint: Endpoint[Any]) -> "AsyncSession | AsyncManagement":
    return management() if endpoint.interface == "management" else session()


async def send_alone(endpoint: Endpoint[Any], call: Call[Any]) -> Any:
    """Return the reply of a call with a client that is made for it; see `send`."""
    async with client_of(endpoint) as client:
        return await send(client, endpoint, call)


async def send(client: "AsyncSession | AsyncManagement", endpoint: Endpoint[Any], call: Call[Any]) -> Any:
    """Return the reply; a record as its bytes, because a struct would leave out unknown members.

    A message gets a `muid` if it may have one, and an unknown outcome a note that names it.
    """
    if isinstance(call.body, TrackedMessage):
        call = structs.replace(call, body=with_muid(call.body))
    reader = _RecordReader(endpoint) if hasattr(endpoint.reply, "record_bytes") else None
    if reader is not None:
        call = structs.replace(call, endpoint=structs.replace(endpoint, reply=reader))
    try:
        reply = await client.sender(call)
    except OutcomeUnknownError as error:
        if isinstance(call.body, TrackedMessage):
            error.muid = call.body.muid or None
            error.add_note(f"the message's muid is {error.muid}: look for it before you send it again")
        raise
    return reply if reader is None else reader.line


class _RecordReader:
    """Reads a record for the library's checks, and keeps its bytes as served.

    A call that is sent once was applied if its reply is JSON of any shape without an error: the reply is
    printed as it is then, with a warning.
    """

    def __init__(self, endpoint: Endpoint[Any]) -> None:
        self._endpoint = endpoint
        self._reply: Any = endpoint.reply
        self.line = b""

    def __call__(self, body: bytes, /) -> Any:
        try:
            self.line = self._reply.record_bytes(body)
        except ReplyUnreadableError:
            if self._endpoint.replay != "never":
                raise
            read_json(body)
            self.line = body.strip()
            LOGGER.warning(
                "%s: the reply is not the expected record; it is printed as it is", self._endpoint.name
            )
        try:
            return self._reply(body)
        except ReplyUnreadableError:  # a member is not of its type: the record is printed all the same
            return None


def check_success(endpoint: Endpoint[Any], reply: Any) -> None:
    """Raise `ChatRestError` for a reply that reports a failure, its own or that of an item."""
    if isinstance(reply, Outcomes):
        reply.check()
    if isinstance(reply, Ack) and not reply.success:
        raise ChatRestError(f"{endpoint.name}: the service says that it did not succeed")


def line_of(reply: Any) -> bytes:
    if isinstance(reply, bytes):
        return reply.translate(_LINE_BREAKS)
    return write_value(_outcomes(reply) if isinstance(reply, Outcomes) else reply)


def _outcomes(reply: Outcomes[Any]) -> dict[str, Any]:
    """Return the outcomes by key, each as served where the reply can be taken apart so."""
    try:
        served = outcomes_of(read_json(reply.raw))
    except ReplyUnreadableError:
        served = {}
    outcomes = {key: served.get(key, outcome) for key, outcome in reply.items()}
    return (
        outcomes | {"permissions": reply.permissions} if isinstance(reply, PermissionOutcomes) else outcomes
    )
