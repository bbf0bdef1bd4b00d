"""The replies to messages that were sent to several receivers.

The documents show one message for the reply. Services of this kind may also answer with an outcome
for each receiver, or with an array of messages: each form is read as the outcomes that it shows.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct, structs

from .._core.replies.decode import Outcomes, each, read_json
from .._core.replies.outcomes import outcomes_of
from .._models.messages import Message, SentMessage
from .._parameters.messages import MessageBody, MultipleReceivers, NewThreadMessage
from ..errors import ReplyUnreadableError, RequestInvalidError

_SHOWN: Final = 5
_UNMENTIONED: Final = "the reply does not mention this receiver"


class SentMessages(Struct, frozen=True):
    """Reads the reply to a message with several receivers as an outcome for each that it mentions."""

    operation: str

    @property
    def record(self) -> type[SentMessage]:
        """The type of an outcome."""
        return SentMessage

    def __call__(self, body: bytes, /) -> Outcomes[SentMessage]:
        """Return the outcomes by uid or guid; `ReplyUnreadableError` where the reply shows none."""
        records = _messages(read_json(body))
        if not records:
            return each(SentMessage).of_operation(self.operation)(body)
        by_receiver = {str(record["receiver"]): SentMessage(success=True, data=record) for record in records}
        return Outcomes(by_receiver, body, self.operation)


def first_record(reply: Any) -> dict[str, Any] | None:
    """Return the first message of a reply to several receivers, for a call that reads one message.

    None if the reply holds none; `ReplyUnreadableError` with the failures where one of them failed.
    """
    if records := _messages(reply):
        first: dict[str, Any] = records[0]
        return first
    outcomes = outcomes_of(reply)
    if failed := [key for key, outcome in outcomes.items() if not outcome["success"]]:
        names = ", ".join(failed[:_SHOWN])
        raise ReplyUnreadableError(f"{len(failed)} of {len(outcomes)} receivers failed: {names}")
    return next((each["data"] for each in outcomes.values() if isinstance(each.get("data"), dict)), None)


def _messages(reply: Any) -> list[Any]:
    """The messages of a reply that is one message, or an array of them; none where it is neither."""
    data = reply.get("data", reply) if isinstance(reply, dict) else reply
    records = data if isinstance(data, list) else [data]
    return records if all(map(_is_message, records)) else []


def _is_message(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("receiver"), str) and "id" in record


def complete(outcomes: Outcomes[SentMessage], message: MessageBody, operation: str) -> Outcomes[SentMessage]:
    """Return the outcomes with a failure for every receiver that the reply does not mention."""
    by_receiver = dict.fromkeys(receivers_of(message), SentMessage(message=_UNMENTIONED)) | dict(outcomes)
    return Outcomes(by_receiver, outcomes.raw, operation, outcomes.repairs)


def receivers_of(message: MessageBody) -> Iterable[str]:
    """Yield the uids and guids that a message is sent to."""
    if isinstance(message.receiver, str):
        yield message.receiver
    several = message.multiple_receivers
    if isinstance(several, MultipleReceivers):
        yield from several.uids or ()
        yield from several.guids or ()


def addressed(reply: NewThreadMessage, parent: Message, acting_user: str | None) -> NewThreadMessage:
    """Return a reply with the receiver of the thread's conversation, as the acting user sees it.

    Raises `RequestInvalidError` where the thread's message does not show it.
    """
    is_own = parent.sender == acting_user or parent.receiver_type == "group"
    receiver = parent.receiver if is_own else parent.sender
    if not receiver or parent.receiver_type not in ("user", "group"):
        raise RequestInvalidError(f"receiver = UNSET: message {parent.id} shows none; expected a uid or guid")
    return structs.replace(reply, receiver=receiver, receiver_type=parent.receiver_type)


def first_message(outcomes: Outcomes[SentMessage]) -> Message:
    """Return the first message of a reply in which none failed.

    Raises `ApiError` where one failed, with all failures in its `details`, and `ReplyUnreadableError` where
    the reply holds no message.
    """
    for outcome in outcomes.check().values():
        if outcome.data:
            return outcome.data
    raise ReplyUnreadableError("data: expected a message, got outcomes without one")
