"""The content of a lease's object, and the rule by which a lease ends. Pure.

A lease is a number of seconds after the object's last write, both by the store's own clock, so that the
clocks of the writers' machines do not matter.
"""

from datetime import datetime
from typing import Final, final

import msgspec
from msgspec import Struct

LONGEST: Final = 3600.0
"""Seconds of the longest lease; a damaged record counts as one of this length."""
_GRANULARITY: Final = 1.0
"""Seconds: stores give the time of a write in whole seconds."""


@final
class LeaseRecord(Struct, frozen=True):
    """The writer that holds a lease."""

    owner: str
    """A random id."""
    generation: int
    """Increases with each writer."""
    renewal: int
    """Increases with each renewal, so that the e-tag differs."""
    seconds: float
    released: bool = False

    @property
    def is_valid(self) -> bool:
        """True if the record's numbers can be those of a lease."""
        return 0 < self.seconds <= LONGEST and self.generation >= 1

    def encoded(self) -> bytes:
        """Return the object's content."""
        return msgspec.json.encode(self)


DAMAGED: Final = LeaseRecord(owner="", generation=1, renewal=0, seconds=LONGEST)


def decode_lease(data: bytes) -> LeaseRecord:
    """Return the record in an object's content; `DAMAGED` if it has none."""
    try:
        record = msgspec.json.decode(data, type=LeaseRecord)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return DAMAGED
    return record if record.is_valid else DAMAGED


def seconds_left(record: LeaseRecord, modified: datetime, now: datetime) -> float:
    """Return the seconds until a lease may be taken over, 0 if it may be now.

    `modified` is the time of its last write and `now` the present, both by the store's clock.
    """
    if record.released:
        return 0.0
    return max(0.0, record.seconds + _GRANULARITY - (now - modified).total_seconds())
