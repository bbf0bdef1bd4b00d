"""The operations of the calls interface, and of usage figures.

Calls are those that call messages tell of, and those that a test has added to the store; the newest comes
first. With an acting user: the calls that this user takes part in.

What the documents leave open of usage figures: a user is active who sent a message in the window, both ends
included; all active users count as concurrent. Minutes are those of calls that were initiated in the window;
all minutes of a call with a recording count as recorded.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec.json import decode

from ..store.documents import Document
from ..store.message_index import parse_record
from ..store.message_lists import Condition
from .arguments import conditions, joined
from .context import Context, Handler, ServiceCall
from .groups import APP
from .refusals import refused
from .replies import numbered_reply, one, page_number

_FILTERS: Final = {
    "type": "type = ?",
    "mode": "mode = ?",
    "status": "status = ?",
    "receiverType": "receiver_type = ?",
    "participantsCount": "participants = ?",
    "startedAt": "started_at = ?",
    "endedAt": "ended_at = ?",
    "hasRecording": "recorded = ?",
    "hasTranscription": "transcribed = ?",
}
_TAKES_PART: Final = "EXISTS (SELECT 1 FROM json_each(uids) WHERE value = ?)"


def list_calls(call: ServiceCall) -> bytes:
    number = page_number(call.query)
    parties = [uid for uid in (call.query.get("uid"), call.acting_user) if uid]
    terms = [Condition("1"), *conditions(call.query, _FILTERS)]
    condition = joined([*terms, *(Condition(_TAKES_PART, (uid,)) for uid in parties)])
    page = call.store.calls.page(*condition, *number)
    return numbered_reply(page.records, page.total, number)


def get_call(call: ServiceCall) -> bytes:
    session = call.path["sessionId"]
    record = call.store.calls.get(session)
    if record is None:
        raise refused("ERR_CALL_SESSION_NOT_FOUND", session)
    return one(record)


def list_transcriptions(call: ServiceCall) -> bytes:
    get_call(call)
    number = page_number(call.query)
    page = call.store.calls.transcriptions(call.path["sessionId"], *number)
    return numbered_reply(page.records, page.total, number)


# ── usage figures ──


_BUCKETS: Final = 12
_BUCKET_MS: Final = 300_000
_MOST_CALLS: Final = 10**9
_COUNTED: Final = {"sentAt": "messagesSent", "readAt": "readReceipts", "deliveredAt": "deliveryReceipts"}


def get_usage(call: ServiceCall) -> Document:
    start, end = call.query["fromDate"], call.query["toDate"]
    senders = {
        message["sender"]
        for message in _messages(call)
        if start <= _milliseconds(message, "sentAt") <= end and message.get("sender") != APP
    }
    counted = dict.fromkeys(("active_users", "concurrent_users"), len(senders))
    metrics = {**_minutes(call, start, end), **counted}
    return {"metrics": metrics, "time_range": {"fromDate": start, "toDate": end}}


def _minutes(context: Context, start: int, end: int) -> dict[str, int]:
    page = context.store.calls.page("initiated_at * 1000 BETWEEN ? AND ?", (start, end), 1, _MOST_CALLS)
    audio = video = recorded = 0.0
    for call in (decode(record, type=Document) for record in page.records):
        minutes = call.get("totalAudioMinutes", 0), call.get("totalVideoMinutes", 0)
        audio, video = audio + minutes[0], video + minutes[1]
        recorded += sum(minutes) if call.get("hasRecording") else 0
    return {"audio_minutes": int(audio), "video_minutes": int(video), "recorded_minutes": int(recorded)}


def get_message_receipts(call: ServiceCall) -> Document:
    """Return the messages and receipts of the last hour, the oldest bucket first."""
    end = call.now_ms
    starts = range(end - _BUCKETS * _BUCKET_MS, end, _BUCKET_MS)
    points: list[dict[str, Any]] = [
        dict.fromkeys(_COUNTED.values(), 0) | {"startTime": str(at), "endTime": str(at + _BUCKET_MS)}
        for at in starts
    ]
    for message in _messages(call):
        for member, name in _COUNTED.items():
            if starts[0] <= (at := _milliseconds(message, member)) < end:
                points[(at - starts[0]) // _BUCKET_MS][name] += 1
    ends = {"startTime": str(starts[0]), "endTime": str(end)}
    return {"appId": call.app["id"], **ends, "dataPoints": points}


def _milliseconds(message: Document, member: str) -> int:
    at = message.get(member)
    return at * 1000 if isinstance(at, int) else -1


def _messages(context: Context) -> Iterable[Document]:
    return map(parse_record, context.store.records(context.store.ids()))


HANDLERS: Final[dict[str, Handler]] = {
    "calls.list": list_calls,
    "calls.get": get_call,
    "calls.list_transcriptions": list_transcriptions,
    "metrics.get_usage": get_usage,
    "metrics.get_message_receipts": get_message_receipts,
}
