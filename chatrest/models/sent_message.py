"""The outcome of a message for one of several receivers."""

from typing import Any, final

from msgspec import UNSET

from .record import Json, Maybe, Record


@final
class SentMessage(Record, frozen=True, gc=False, rename="camel"):
    """The outcome for one receiver. `data` is the message as the service stored it, as JSON.

    An outcome without `success` is a failure.
    """

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[Json] = UNSET
    error: Maybe[Any] = UNSET
