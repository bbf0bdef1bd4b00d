"""The history of calls: those that messages tell of, and those that a test has added.

The messages are searched when the history is read, so a message that is stored costs nothing for it. The
newest message of a call says how the call is: a later one changes its record.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any, Final, final

from msgspec.json import decode, encode

from .directory import RecordPage
from .documents import Tables
from .message_index import parse_record

_INSERT: Final = "INSERT OR REPLACE INTO calls(session, uids, record) VALUES(?,?,?)"
_MESSAGES: Final = """
SELECT m.id, r.record FROM messages m JOIN records r ON r.id = m.id WHERE m.category = 'call' AND m.id > ?
ORDER BY m.id
"""
_TRANSCRIPTIONS: Final = "FROM transcriptions WHERE session = ? ORDER BY start_time DESC, tid"
_SHOWN: Final = 5
"""Transcriptions that a call's record shows."""


@final
class CallHistory(Tables):
    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__(db)
        self._synced_id = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Store a call by its `sessionId`; what is there under it is replaced. Wire names."""
        self._change(_INSERT, *_row(record))

    def add_transcription(self, session: str, record: Mapping[str, Any]) -> None:
        """Store a transcription of a call by its `tid`, with wire names; the call shows the newest five."""
        row = (record["tid"], session, record.get("startTime", 0), encode(record))
        self._change("INSERT OR REPLACE INTO transcriptions VALUES(?,?,?,?)", *row)
        call = self.get(session)
        if call is not None:
            newest = self.transcriptions(session, 1, _SHOWN).records
            shown = {"hasTranscription": True, "transcriptions": [decode(each) for each in newest]}
            self.add(decode(call, type=dict[str, Any]) | shown)

    def get(self, session: str) -> bytes | None:
        self._find_new()
        record: bytes | None = self._value("SELECT record FROM calls WHERE session = ?", session)
        return record

    def page(self, condition: str, values: tuple[Any, ...], page: int, size: int) -> RecordPage:
        """Return page `page` (from 1) of the calls that match an SQL condition, the newest first."""
        self._find_new()
        source = f"FROM calls WHERE {condition} ORDER BY initiated_at DESC, session"
        return self._records(source, values, page, size)

    def transcriptions(self, session: str, page: int, size: int) -> RecordPage:
        """Return page `page` (from 1) of a call's transcriptions, the newest first."""
        return self._records(_TRANSCRIPTIONS, (session,), page, size)

    def _records(self, source: str, values: tuple[Any, ...], page: int, size: int) -> RecordPage:
        rows, total = self._page("record", source, values, page, size)
        return RecordPage([record for (record,) in rows], total)

    def forget(self) -> None:
        """Look for all calls again, as all messages are gone."""
        self._synced_id = 0

    def _find_new(self) -> None:
        rows = self._db.execute(_MESSAGES, (self._synced_id,)).fetchall()
        if not rows:
            return
        records = {
            record["sessionId"]: record for _, raw in rows if (record := _call_record(parse_record(raw)))
        }
        with self._db:
            self._db.executemany(_INSERT, map(_row, records.values()))
        self._synced_id = rows[-1][0]


def _row(record: Mapping[str, Any]) -> tuple[Any, ...]:
    participants = record.get("participants") or ()
    uids = [record.get("initiator"), record.get("receiver"), *(each.get("uid") for each in participants)]
    known = [uid for uid in dict.fromkeys(uids) if uid is not None]
    return record["sessionId"], encode(known).decode(), encode(record)


def _call_record(message: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        call = message["data"]["entities"]["on"]["entity"]
        session, sender, receiver = call["sessionid"], call["sender"], call["receiver"]
    except (KeyError, TypeError):
        return None
    if not all(isinstance(value, str) for value in (session, sender, receiver)):
        return None
    is_ongoing = call.get("status") == "ongoing"
    times = {name: call[name] for name in ("initiatedAt", "startedAt") if isinstance(call.get(name), int)}
    uids = (sender,) if call.get("receiverType") == "group" else (sender, receiver)
    participants = [_participant(uid, call, is_joined=is_ongoing or uid == sender) for uid in uids]
    return {
        "sessionId": session,
        "type": call.get("type"),
        "mode": "call",
        "status": call.get("status"),
        "initiator": sender,
        "receiver": receiver,
        "receiverType": call.get("receiverType", "user"),
        **times,
        "totalParticipants": sum(each["isJoined"] for each in participants),
        "totalAudioMinutes": 0,
        "totalVideoMinutes": 0,
        "totalDuration": "00:00:00",
        "totalDurationInMinutes": 0,
        "hasRecording": False,
        "hasTranscription": False,
        "participants": participants,
        "metaData": [],
    }


def _participant(uid: str, call: Mapping[str, Any], *, is_joined: bool) -> dict[str, Any]:
    state = "ongoing" if is_joined else "unanswered"
    zeros = {"totalAudioMinutes": 0, "totalVideoMinutes": 0, "totalDuration": 0}
    joined = {"joinedAt": call["joinedAt"]} if is_joined and isinstance(call.get("joinedAt"), int) else {}
    return {"uid": uid, "isJoined": is_joined, "state": state, **zeros, **joined}
