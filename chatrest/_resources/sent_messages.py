"""Sent messages: the reply to a message with several receivers, and the search for a message by its `muid`.

The documents show one message as the reply. Services of this kind may also answer with an outcome for each
receiver, or with an array of messages. Each form is read as the outcomes that it shows.
"""

from typing import Any, Final

from msgspec import Struct, structs

from .._core.replies.decode import Outcomes, each
from .._core.replies.outcomes import outcomes_of
from .._core.replies.record_checks import APP_UIDS
from .._core.replies.scanner import read_json
from .._models.messages import ActionMessage, CallMessage, Message, SentMessage, UnknownMessage
from .._parameters.messages import MessageBody, MultipleReceivers, NewThreadMessage
from .._secrets import repr_of
from .._walk.walk import Walk
from ..errors import ReplyUnreadableError, RequestInvalidError
from ..times import MILLISECONDS_FROM

MAX_SEARCHED: Final = 1000
"""Messages that a search reads."""
_SHORT_WINDOW: Final = 300
"""Seconds: if the newest messages are all of so short a time, an older message may be the one."""
_SHOWN: Final = 5
_UNMENTIONED: Final = "the reply does not mention this receiver"


class SentMessages(Struct, frozen=True):
    """The reader of a reply to several receivers, in any form; `ReplyUnreadableError` for another one."""

    operation: str

    @property
    def record(self) -> type[SentMessage]:
        return SentMessage

    def __call__(self, body: bytes, /) -> Outcomes[SentMessage]:
        records = _messages(read_json(body))
        if not records:
            return each(SentMessage).of_operation(self.operation)(body)
        by_receiver = {str(record["receiver"]): SentMessage(success=True, data=record) for record in records}
        return Outcomes(by_receiver, body, self.operation)


def first_record(reply: Any) -> dict[str, Any] | None:
    """Return the first message of a reply to several receivers, for a call that reads one message.

    None if the reply holds none. Raises `ReplyUnreadableError`, with the failures, if one of them failed.
    """
    if records := _messages(reply):
        first: dict[str, Any] = records[0]
        return first
    try:
        outcomes = outcomes_of(reply)
    except ReplyUnreadableError:
        return None
    if failed := [key for key, outcome in outcomes.items() if not outcome["success"]]:
        names = ", ".join(failed[:_SHOWN])
        raise ReplyUnreadableError(f"{len(failed)} of {len(outcomes)} receivers failed: {names}")
    return next((each["data"] for each in outcomes.values() if isinstance(each.get("data"), dict)), None)


def _messages(reply: Any) -> list[Any]:
    """Return the messages of a reply that is a message or an array of messages, else an empty list."""
    data = reply.get("data", reply) if isinstance(reply, dict) else reply
    records = data if isinstance(data, list) else [data]
    is_message = [
        isinstance(each, dict) and isinstance(each.get("receiver"), str) and "id" in each for each in records
    ]
    return records if all(is_message) else []


def with_failures(
    outcomes: Outcomes[SentMessage], message: MessageBody, operation: str
) -> Outcomes[SentMessage]:
    """Return the outcomes with a failure for every receiver that the reply does not mention."""
    multiple = message.multiple_receivers
    receivers = [message.receiver] if isinstance(message.receiver, str) else []
    if isinstance(multiple, MultipleReceivers):
        receivers += [*(multiple.uids or ()), *(multiple.guids or ())]
    by_receiver = dict.fromkeys(receivers, SentMessage(message=_UNMENTIONED)) | dict(outcomes)
    return Outcomes(by_receiver, outcomes.raw, operation, outcomes.repairs)


def with_receiver(reply: NewThreadMessage, parent: Message, acting_user: str | None) -> NewThreadMessage:
    """Return a reply with the thread's receiver; `RequestInvalidError` if its message shows none."""
    is_own = parent.sender == acting_user or parent.receiver_type == "group"
    receiver = parent.receiver if is_own else parent.sender
    if not receiver or parent.receiver_type not in ("user", "group"):
        raise RequestInvalidError(
            f"receiver is not given, and message {parent.id} has none: expected a uid or guid"
        )
    return structs.replace(reply, receiver=receiver, receiver_type=parent.receiver_type)


def first_message(outcomes: Outcomes[SentMessage]) -> Message:
    """Return the first message; `ApiError` if one failed, `ReplyUnreadableError` if there is none."""
    for outcome in outcomes.check().values():
        if outcome.data:
            return outcome.data
    raise ReplyUnreadableError("data: expected a message, got outcomes without one")


async def find_by_muid(walk: Walk[Message], muid: str, receiver: str, sender: str | None) -> Message | str:
    """Return the message with this `muid` in a list that begins with the newest; `sender` None is the app.

    If the list does not show it: the reason why it may have arrived nevertheless, or "" if there is no doubt.
    """
    times: list[int] = []
    without_muid, has_muids, doubt = 0, False, ""
    async for message in walk.limit(MAX_SEARCHED).thorough():
        times.append(message.sent_at)
        is_of_sender = _is_of(message, receiver, sender)
        if message.muid == muid:
            if is_of_sender or (message.sender in APP_UIDS and _is_same(message.receiver, receiver)):
                return message
            doubt = f"a message of {repr_of(message.sender)} to {repr_of(message.receiver)} has the same"
        elif isinstance(message, UnknownMessage) and not (message.sender and message.receiver):
            doubt = f"a message of the list cannot be read: {message.reason}"
        elif message.muid:
            has_muids = True
        elif is_of_sender and not isinstance(message, ActionMessage | CallMessage):
            without_muid += 1
    if not doubt and without_muid and not has_muids:
        return (
            f"{len(times)} messages were read and none has a muid, {without_muid} of this sender: "
            "the service may not return it in lists"
        )
    if not doubt and len(times) == MAX_SEARCHED:
        times.sort()
        unit = 1000 if times[-1] >= MILLISECONDS_FROM else 1
        # A tenth of them may be imported, with new ids and old times.
        if times[-1] - times[MAX_SEARCHED // 10] < _SHORT_WINDOW * unit:
            minutes = _SHORT_WINDOW // 60
            return f"the newest {MAX_SEARCHED} messages, which were read, are all of {minutes} minutes"
    return doubt


def _is_of(message: Message, receiver: str, sender: str | None) -> bool:
    """Return True for a message of the sender, None for the app, to the receiver."""
    is_of_party = _is_same(message.sender, receiver if sender is None else sender)
    return _is_same(message.receiver, receiver) and is_of_party is (sender is not None)


def _is_same(uid: str, other: str) -> bool:
    """Return True for the same uid: services may store them in lower case."""
    return uid.casefold() == other.casefold()
