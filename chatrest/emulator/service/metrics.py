"""The operations of usage figures, counted from the messages and calls of the store.

The emulator has chosen what the documents leave open: a user is active who sent a message in the window, both
ends included; all active users count as concurrent. Minutes are those of calls that were initiated in the
window; all minutes of a call with a recording count as recorded.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec.json import decode

from ..store.directory import SYSTEM
from ..store.message_index import parse_record
from .context import Call, Context, Handler
from .documents import in_milliseconds, serve
from .envelopes import data_reply
from .refusals import bad_request

_BUCKETS: Final = 12
_MOST_CALLS: Final = 10**9
_BUCKET_SECONDS: Final = 300


def get_usage(context: Context, call: Call) -> dict[str, Any]:
    """Return the figures of a window of epoch milliseconds; 400 where an end of it is missing."""
    start, end = (_milliseconds(call, name) for name in ("fromDate", "toDate"))
    call.query.check()
    senders = {
        str(message["sender"])
        for message in _messages(context)
        if start <= _milliseconds_of(message, "sentAt") <= end and message.get("sender") != SYSTEM["uid"]
    }
    counted = dict.fromkeys(("active_users", "concurrent_users"), len(senders))
    metrics = {**_minutes(context, start, end), **counted}
    return {"metrics": metrics, "time_range": {"fromDate": start, "toDate": end}}


def _minutes(context: Context, start: int, end: int) -> dict[str, int]:
    """Return the minutes of calls that were initiated in a window, as whole numbers."""
    page = context.store.calls.page("initiated_at * 1000 BETWEEN ? AND ?", (start, end), 1, _MOST_CALLS)
    calls = [decode(record, type=dict[str, Any]) for record in page.records]
    audio, video = (
        [call.get(name, 0) for call in calls] for name in ("totalAudioMinutes", "totalVideoMinutes")
    )
    recorded = sum(
        sum(minutes) for *minutes, call in zip(audio, video, calls, strict=True) if call.get("hasRecording")
    )
    names = ("audio_minutes", "video_minutes", "recorded_minutes")
    return dict(zip(names, map(int, (sum(audio), sum(video), recorded)), strict=True))


def get_message_receipts(context: Context, call: Call) -> dict[str, Any]:
    """Return the messages and receipts of the last hour, the oldest bucket first."""
    end = in_milliseconds(context)
    first = end - _BUCKETS * _BUCKET_SECONDS * 1000
    names = {"sentAt": "messagesSent", "readAt": "readReceipts", "deliveredAt": "deliveryReceipts"}
    points = [_data_point(first + number * _BUCKET_SECONDS * 1000, names) for number in range(_BUCKETS)]
    for message in _messages(context):
        for member, name in names.items():
            if first <= (at := _milliseconds_of(message, member)) < end:
                points[(at - first) // (_BUCKET_SECONDS * 1000)][name] += 1
    return {"appId": context.app["id"], "startTime": str(first), "endTime": str(end), "dataPoints": points}


def _data_point(start: int, names: dict[str, str]) -> dict[str, Any]:
    ends = {"startTime": str(start), "endTime": str(start + _BUCKET_SECONDS * 1000)}
    return {**dict.fromkeys(names.values(), 0), **ends}


def _milliseconds(call: Call, name: str) -> int:
    number = call.query.number(name)
    if call.query.text(name) is None:
        raise bad_request({name: [f"The {name} is required."]})
    return number or 0


def _milliseconds_of(message: dict[str, Any], member: str) -> int:
    """Return a message's time in milliseconds; -1 where it has none."""
    at = message.get(member)
    return at * 1000 if isinstance(at, int) else -1


def _messages(context: Context) -> Iterable[dict[str, Any]]:
    return map(parse_record, context.store.records(context.store.ids()))


HANDLERS: Final[dict[str, Handler]] = {
    "metrics.get_usage": serve(get_usage, data_reply),
    "metrics.get_message_receipts": serve(get_message_receipts, data_reply),
}
