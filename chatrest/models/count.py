"""Counts of messages, as the message lists give them in place of messages where `count` is asked for."""

from typing import ClassVar, final

from .record import Record


@final
class MessageCount(Record, frozen=True, gc=False, rename="camel"):
    """The unread or undelivered messages of one conversation.

    `entity_id` is the other user's uid or the group's guid, as `entity_type` (`user`, `group`) says.
    """

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "key"

    entity_type: str
    entity_id: str
    count: int

    @property
    def key(self) -> str:
        """The conversation's other side: a user and a group may have one id."""
        return f"{self.entity_type}/{self.entity_id}"
