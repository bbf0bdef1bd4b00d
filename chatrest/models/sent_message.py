"""The outcome of a message for one of several receivers."""

from typing import Any, final

from msgspec import UNSET

from .decoding import nested_message
from .message import NestedMessage
from .record import Maybe, Record
from .views import views


@final
@views(nested_message, "data")
class SentMessage(Record, frozen=True, gc=False, rename="camel"):
    """The outcome for one receiver. `data` is the message as the service stored it.

    An outcome without `success` is a failure.
    """

    success: bool = False
    message: Maybe[str] = UNSET
    data: Maybe[NestedMessage] = UNSET
    error: Maybe[Any] = UNSET
