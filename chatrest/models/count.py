"""Counts of messages, as the message lists give them in place of messages where `count` is asked for."""

from typing import ClassVar, final

from .record import Record


@final
class MessageCount(Record, frozen=True, gc=False, rename="camel"):
    """The unread or undelivered messages of one conversation.

    `entity_id` is the other user's uid or the group's guid, as `entity_type` (`user`, `group`) says.
    """

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "entity_id"

    entity_type: str
    entity_id: str
    count: int
