"""The reactions of single users to a message."""

from typing import final

from msgspec import UNSET

from .entity import Entity
from .record import Maybe, Record


@final
class Reaction(Record, frozen=True, gc=False, rename="camel"):
    """One user's reaction to a message: `reaction` is the emoji, `reacted_by` the user at that time.

    `reacted_at` is in the service's unit (epoch seconds on services of this kind). The number of users for
    each emoji is in the message, in `data.reactions`.
    """

    id: str
    message_id: str
    reaction: str
    uid: str
    reacted_at: int
    reacted_by: Maybe[Entity] = UNSET
    reacted_by_me: Maybe[bool] = UNSET
