"""The operations of the calls interface: the history of calls, and their transcriptions.

Calls are those that call messages tell of, and those that a test has added to the store; the newest comes
first. With an acting user: the calls that this user takes part in.
"""

from typing import Any, Final

from .arguments import Arguments
from .context import Call, Context, Handler
from .envelopes import one_reply
from .pages import numbered_reply, page_number
from .refusals import refused

_STATES: Final = ("initiated", "ongoing", "ended", "unanswered", "rejected", "canceled")
_CHOICES: Final = {
    "type": ("type", ("audio", "video")),
    "mode": ("mode", ("call", "meet", "presenter")),
    "status": ("status", _STATES),
    "receiverType": ("receiver_type", ("user", "group")),
}
_NUMBERS: Final = {"participantsCount": "participants", "startedAt": "started_at", "endedAt": "ended_at"}
_FLAGS: Final = {"hasRecording": "recorded", "hasTranscription": "transcribed"}
_TAKES_PART: Final = "EXISTS (SELECT 1 FROM json_each(uids) WHERE value = ?)"


def list_calls(context: Context, call: Call) -> bytes:
    number = page_number(call.query)
    condition, values = _condition(call.query, call.acting_user)
    call.query.check()
    page = context.store.calls.page(condition, values, *number)
    return numbered_reply(page.records, page.total, number)


def _condition(query: Arguments, acting_user: str | None) -> tuple[str, tuple[Any, ...]]:
    """The SQL condition of the list, and its values; a flag that is false matches calls without."""
    terms: list[tuple[str, Any]] = []
    for name, (column, allowed) in _CHOICES.items():
        if (choice := query.choice(name, allowed)) is not None:
            terms.append((f"{column} = ?", choice))
    for name, column in _NUMBERS.items():
        if (value := query.number(name)) is not None:
            terms.append((f"{column} = ?", value))
    for name, column in _FLAGS.items():
        if query.text(name) is not None:
            terms.append((f"{column} = ?", int(query.flag(name))))
    terms += [(_TAKES_PART, uid) for uid in (query.text("uid"), acting_user) if uid]
    return " AND ".join(["1", *(sql for sql, _ in terms)]), tuple(value for _, value in terms)


def get_call(context: Context, call: Call) -> bytes:
    session = call.path["sessionId"]
    record = context.store.calls.get(session)
    if record is None:
        raise refused("ERR_CALL_SESSION_NOT_FOUND", session)
    return one_reply(record)


def list_transcriptions(context: Context, call: Call) -> bytes:
    get_call(context, call)
    number = page_number(call.query)
    call.query.check()
    page = context.store.calls.transcriptions(call.path["sessionId"], *number)
    return numbered_reply(page.records, page.total, number)


HANDLERS: Final[dict[str, Handler]] = {
    "calls.list": list_calls,
    "calls.get": get_call,
    "calls.list_transcriptions": list_transcriptions,
}
