"""The operations of the calls interface: the history of calls, and their transcriptions.

Calls are those that call messages tell of, and those that a test has added to the store; the newest comes
first. With an acting user: the calls that this user takes part in.
"""

from typing import Final

from ..store.message_lists import Condition
from .arguments import Filter, conditions, equals, joined
from .context import Call, Context, Handler
from .envelopes import one_reply
from .pages import numbered_reply, page_number
from .refusals import refused

_STATES: Final = ("initiated", "ongoing", "ended", "unanswered", "rejected", "canceled")
_FILTERS: Final = {
    "type": equals("type", ("audio", "video")),
    "mode": equals("mode", ("call", "meet", "presenter")),
    "status": equals("status", _STATES),
    "receiverType": equals("receiver_type", ("user", "group")),
    "participantsCount": Filter("participants = ?", "number"),
    "startedAt": Filter("started_at = ?", "number"),
    "endedAt": Filter("ended_at = ?", "number"),
    "hasRecording": Filter("recorded = ?", "state"),
    "hasTranscription": Filter("transcribed = ?", "state"),
}
"""A flag that is false matches calls without."""
_TAKES_PART: Final = "EXISTS (SELECT 1 FROM json_each(uids) WHERE value = ?)"


def list_calls(context: Context, call: Call) -> bytes:
    number = page_number(call.query)
    parties = [uid for uid in (call.query.text("uid"), call.acting_user) if uid]
    terms = [Condition("1"), *conditions(call.query, _FILTERS)]
    condition = joined([*terms, *(Condition(_TAKES_PART, (uid,)) for uid in parties)])
    call.query.check()
    page = context.store.calls.page(*condition, *number)
    return numbered_reply(page.records, page.total, number)


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
