"""Sent messages: the replies where there are several receivers, and the search for one by its `muid`.

The documents show one message for the reply. Services of this kind may also answer with an outcome
for each receiver, or with an array of messages: each form is read as the outcomes that it shows.

The search reads the newest messages of a conversation, and decides what a list proves. A list that returns
no `muid` at all proves nothing, nor does a list with a record that cannot be read: then the result is a
doubt, in words, and not the answer that nothing arrived.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import date, datetime
from typing import Any, Final, Self, TypeAlias

from msgspec import Struct, structs

from .._core.replies.decode import Outcomes, each, read_json
from .._core.replies.expectation import APP_UIDS
from .._core.replies.outcomes import outcomes_of
from .._models.messages import ActionMessage, CallMessage, Message, SentMessage, UnknownMessage
from .._parameters.messages import MessageBody, MultipleReceivers, NewThreadMessage
from .._secrets import shown
from .._walk.walk import Walk
from ..errors import OutcomeUnknownError, ReplyUnreadableError, RequestInvalidError
from ..times import to_datetime, to_seconds

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
    try:
        outcomes = outcomes_of(reply)
    except ReplyUnreadableError:
        return None
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


# ── the search for a sent message by its muid ──

Moment: TypeAlias = datetime | date | str | float
"""An aware datetime, a date, or a timestamp in seconds or milliseconds since 1970."""

NEWEST: Final = 500
"""Messages that are read by default."""
CLOCK_MARGIN: Final = 300.0
"""Seconds by which the clocks of the caller and the service may differ."""
OLDER_IN_A_ROW: Final = 100
"""Messages in a row that must be older than the send before the search ends: an imported message has a new
id and an old time."""


class SentMark(Struct, frozen=True, kw_only=True):
    """The known members of the message: it went to `receiver` with this `muid`.

    `sender` is None for a message of the app itself. `since` is the time of the send by the caller's clock in
    epoch seconds, or None. Uids are compared without regard to case: services may store them in lower case.
    """

    muid: str
    receiver: str
    sender: str | None
    since: float | None

    @classmethod
    def checked(cls, muid: object, receiver: str, sender: str | None, since: Moment | None) -> Self:
        """Return the members of a message; `RequestInvalidError` if `muid` or `since` is wrong."""
        if not (isinstance(muid, str) and muid):
            raise RequestInvalidError(f"muid = {shown(muid)}: expected a non-empty text")
        return cls(muid=muid, receiver=receiver, sender=sender, since=_epoch_seconds("since", since))

    def is_from_sender(self, message: Message) -> bool:
        """Return True for any message of the sender to the receiver."""
        if message.receiver.casefold() != self.receiver.casefold():
            return False
        if self.sender is None:
            return message.sender.casefold() != self.receiver.casefold()
        return message.sender.casefold() == self.sender.casefold()

    def is_found(self, message: Message) -> bool:
        """Return True for the message itself, also if the service stored it as sent by the app."""
        if message.muid != self.muid:
            return False
        is_of_app = message.receiver.casefold() == self.receiver.casefold() and message.sender in APP_UIDS
        return is_of_app or self.is_from_sender(message)

    def is_before(self, message: Message) -> bool:
        """Return True for a message that was certainly sent before this one."""
        if self.since is None:
            return False
        try:
            sent_at = to_datetime(message.sent_at)
        except RequestInvalidError:  # a time of no calendar shows nothing
            return False
        return sent_at is not None and sent_at.timestamp() < self.since - CLOCK_MARGIN


class SentSearch:
    """One reading of the newest messages, newest first."""

    __slots__ = ("_count", "_doubt", "_has_muids", "_mark", "_older", "_unmarked")

    def __init__(self, mark: SentMark) -> None:
        self._mark = mark
        self._count = self._older = self._unmarked = 0
        self._has_muids = False
        self._doubt = ""

    async def read(self, walk: Walk[Message], limit: int) -> Message | None:
        """Return the message, or None if it is certainly not there; `OutcomeUnknownError` in doubt."""
        async for message in walk.limit(limit).thorough():
            if self._mark.is_found(message):
                return message
            self.note(message)
            if self._older >= OLDER_IN_A_ROW:
                break
        if doubt := self.doubt(limit):
            raise unknown_outcome(self._mark, doubt)
        return None

    def note(self, message: Message) -> None:
        """Note what another message shows about the list."""
        self._count += 1
        self._has_muids = self._has_muids or bool(message.muid)
        if message.muid == self._mark.muid:
            self._doubt = f"a message of {shown(message.sender)} to {shown(message.receiver)} has the same"
        if self._mark.is_before(message):
            self._older += 1
            return
        self._older = 0
        if isinstance(message, UnknownMessage) and not (message.sender and message.receiver):
            self._doubt = f"a message of the list cannot be read: {message.reason}"
        elif not message.muid and not isinstance(message, ActionMessage | CallMessage):
            self._unmarked += self._mark.is_from_sender(message)

    def doubt(self, limit: int) -> str:
        """Return the reason why the message may have arrived although it was not read; "" for none."""
        if not self._doubt and self._unmarked and not self._has_muids:
            return (
                f"{self._count} messages were read and none has a muid, {self._unmarked} of this sender: "
                "the service may not return it in lists"
            )
        is_cut_off = self._count >= limit and self._older < OLDER_IN_A_ROW
        if not self._doubt and is_cut_off and self._mark.since is not None:
            return f"the {limit} newest messages do not reach back to the time of the send"
        return self._doubt


async def find_sent(
    mark: SentMark,
    newest: Callable[[], Walk[Message]],
    limit: int,
    pauses: Sequence[float],
    sleep: Callable[[float], Awaitable[None]],
) -> Message | None:
    """Search the list that `newest` gives, newest first, and again after each of `pauses`, in seconds.

    Returns the message, or None if the last reading did not have it. Raises `OutcomeUnknownError` if that
    reading was in doubt, and the errors of a list.
    """
    doubt: OutcomeUnknownError | None = None
    for pause in (None, *_checked_pauses(pauses)):
        if pause is not None:
            await sleep(pause)
        doubt = None
        try:
            if (message := await SentSearch(mark).read(newest(), limit)) is not None:
                return message
        except OutcomeUnknownError as error:
            doubt = error
    if doubt is not None:
        raise doubt
    return None


def unknown_outcome(mark: SentMark, reason: str) -> OutcomeUnknownError:
    """Return the error for a search that proves nothing."""
    error = OutcomeUnknownError(
        f"messages.find_sent: the outcome of muid {shown(mark.muid)} stays unknown: {reason}"
    )
    error.operation, error.muid = "messages.find_sent", mark.muid
    return error


def _epoch_seconds(name: str, moment: Moment | None) -> float | None:
    """Return a moment as epoch seconds; `RequestInvalidError` with the argument's `name` for others."""
    if isinstance(moment, date | str):
        return float(to_seconds(name, moment))
    try:
        stamp = to_datetime(moment)
    except RequestInvalidError:
        allowed = "an aware datetime, a date, or a timestamp"
        raise RequestInvalidError(f"{name} = {shown(moment)}: expected {allowed}") from None
    return None if stamp is None else stamp.timestamp()


def _checked_pauses(pauses: object) -> tuple[float, ...]:
    """Return seconds between readings as a tuple; `RequestInvalidError` if one is no number from 0."""
    values = tuple(pauses) if isinstance(pauses, Sequence) and not isinstance(pauses, str) else (None,)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise RequestInvalidError(f"pauses = {shown(pauses)}: expected seconds of 0 or more, in a list")
    return values
