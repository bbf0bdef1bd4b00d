"""Flags that users put on messages."""

from typing import final

from msgspec import UNSET

from .record import Maybe, Record


@final
class Flag(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A user's flag on a message, with its reason. `flagged_at` is in epoch seconds."""

    uid: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    avatar: Maybe[str] = UNSET
    role: Maybe[str] = UNSET
    reason_id: Maybe[str] = UNSET
    reason_name: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    remark: Maybe[str] = UNSET
    flagged_at: Maybe[int] = UNSET
