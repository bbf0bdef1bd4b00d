"""Counts of messages, which message lists return instead of messages for `count=True`."""

from typing import ClassVar, final

from .record import Record


@final
class MessageCount(Record, frozen=True, gc=False, rename="camel"):
    """The unread or undelivered messages of one conversation.

    `entity_id` is the other user's uid for `entity_type` `user`, the group's guid for `group`.
    """

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "key"

    entity_type: str
    entity_id: str
    count: int

    @property
    def key(self) -> str:
        """The identifier of the count: type and id, as a user and a group may have the same id."""
        return f"{self.entity_type}/{self.entity_id}"
