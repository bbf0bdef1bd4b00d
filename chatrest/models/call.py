"""The call inside a call message (specification, Resources: `data` of a message with category call)."""

from typing import final

from msgspec import UNSET, field

from .entity import Entity, Parties, Wrapped
from .record import Json, Maybe, Record


@final
class WsChannel(Record, frozen=True, gc=False, rename="camel"):
    """The call's socket channel. `secret` is a credential: readable, and never in a repr."""

    identity: Maybe[str] = UNSET
    service: Maybe[str] = UNSET
    secret: Maybe[str] = UNSET


@final
class CallData(Record, frozen=True, gc=False, rename="camel"):
    """A call's own data: the two parties, and `metadata` as the app's clients wrote it."""

    entities: Maybe[Parties] = UNSET
    metadata: Maybe[Json] = UNSET


@final
class CallEntity(Record, frozen=True, gc=False, rename="camel"):
    """The call itself. `status` is open: `initiated` and `ongoing` occur, and more may come.

    `started_at` is there once the call is ongoing. The wire's `sessionid` is `session_id` here.
    """

    session_id: str = field(name="sessionid")
    type: str
    status: str
    sender: str
    receiver: str
    receiver_type: str
    conversation_id: Maybe[str] = UNSET
    initiated_at: Maybe[int] = UNSET
    joined_at: Maybe[int] = UNSET
    started_at: Maybe[int] = UNSET
    ws_channel: Maybe[WsChannel] = UNSET
    data: Maybe[CallData] = UNSET


@final
class CallEntities(Record, frozen=True, gc=False, rename="camel"):
    """`by` performed the action, `on` is the call, `for_` is whom the action was directed at."""

    by: Wrapped[Entity]
    on: Wrapped[CallEntity]
    for_: Wrapped[Entity] = field(name="for")


@final
class CallContent(Record, frozen=True, gc=False, rename="camel"):
    """`data` of a call message. `action` is open: `initiated` and `ongoing` occur."""

    action: str
    entities: CallEntities
    metadata: Maybe[Json] = UNSET
    resource: Maybe[str] = UNSET
