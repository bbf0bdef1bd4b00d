"""The acknowledgement of one item of a batch."""

from typing import Any, final

from msgspec import UNSET

from .record import Json, Maybe, Record


@final
class ItemAck(Record, frozen=True, gc=False, rename="camel"):
    """The outcome of one uid, feature or permission. One without `success` is a failure."""

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[Json] = UNSET
    error: Maybe[Any] = UNSET
