"""The replies of `call`: sent with the session or the management account, and written as JSON."""

from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from ..core.decode import Ack, Outcomes, read_json
from ..core.endpoint import Call, Endpoint
from ..core.outcomes import outcomes_of
from ..errors import ChatRestError, ReplyUnreadableError
from ..models.raw_json import write_value
from ..models.role import PermissionOutcomes
from .environment import management, session

if TYPE_CHECKING:
    from ..management import AsyncManagement
    from ..session import AsyncSession

_LINE_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")


def client_of(endpoint: Endpoint[Any]) -> "AsyncSession | AsyncManagement":
    """Return the client for an operation's interface, from the environment."""
    return management() if endpoint.interface == "management" else session()


async def send(client: "AsyncSession | AsyncManagement", endpoint: Endpoint[Any], call: Call[Any]) -> Any:
    """Return the reply; a record as its bytes, because a struct would leave out unknown members."""
    if (reader := getattr(endpoint.reply, "record_bytes", None)) is not None:
        call = structs.replace(call, endpoint=structs.replace(endpoint, reply=reader))
    return await client.sender(call)


def check_success(endpoint: Endpoint[Any], reply: Any) -> None:
    """Raise `ChatRestError` for a reply that reports a failure, its own or that of an item."""
    if isinstance(reply, Outcomes):
        reply.check()
    if isinstance(reply, Ack) and not reply.success:
        raise ChatRestError(f"{endpoint.name}: the service says that it did not succeed")


def line_of(reply: Any) -> bytes:
    """Return a reply as JSON without line breaks."""
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
