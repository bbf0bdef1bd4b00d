"""The call inside a call message."""

from typing import final

from msgspec import UNSET, field

from .entity import Entity, EntityWrapper, Parties
from .record import Json, Maybe, Record


@final
class WsChannel(Record, frozen=True, gc=False, rename="camel"):
    """The call's socket channel. `secret` is a credential: the attribute shows it, the repr does not."""

    identity: Maybe[str] = UNSET
    service: Maybe[str] = UNSET
    secret: Maybe[str] = UNSET


@final
class CallData(Record, frozen=True, gc=False, rename="camel"):
    """`data` of a call: its two parties, and `metadata` as written by the app's clients."""

    entities: Maybe[Parties] = UNSET
    metadata: Maybe[Json] = UNSET


@final
class CallEntity(Record, frozen=True, gc=False, rename="camel"):
    """A call. `status` is any text: `initiated` and `ongoing` are known, others may come.

    `started_at` is set once the call is ongoing. `session_id` is `sessionid` in JSON.
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

    @property
    def sessionid(self) -> str:
        """`session_id` under its name in JSON."""
        return self.session_id


@final
class CallEntities(Record, frozen=True, gc=False, rename="camel"):
    """The entities of a call message: `by` acted, `on` is the call, `for_` is the other party."""

    by: EntityWrapper[Entity]
    on: EntityWrapper[CallEntity]
    for_: EntityWrapper[Entity] = field(name="for")


@final
class CallContent(Record, frozen=True, gc=False, rename="camel"):
    """`data` of a call message. `action` is any text: `initiated` and `ongoing` are known."""

    action: str
    entities: CallEntities
    metadata: Maybe[Json] = UNSET
    resource: Maybe[str] = UNSET
