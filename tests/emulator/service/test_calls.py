"""The history of calls, of which messages tell and which were added; and usage figures."""

from typing import Any

import pytest

from tests.cases import loop_over
from tests.emulator.conftest import NOW, Answer, Asker

LIST = "/v3/calls"


@pytest.fixture
def history(ask: Asker) -> Asker:
    for number, (kind, status) in enumerate(
        (("audio", "ended"), ("video", "ongoing"), ("audio", "rejected"))
    ):
        ask.store.calls.add(
            {
                "sessionId": f"s{number}",
                "type": kind,
                "mode": "meet" if number == 1 else "call",
                "status": status,
                "initiator": "ann",
                "receiver": "den" if number == 1 else "bob",
                "receiverType": "group" if number == 1 else "user",
                "initiatedAt": 10 * number,
                "startedAt": 10 * number + 1,
                "endedAt": 10 * number + 5,
                "totalParticipants": number + 1,
                "hasRecording": number == 0,
                "participants": [{"uid": "ann"}, {"uid": "cat"}] if number == 1 else [{"uid": "ann"}],
            }
        )
    return ask


def sessions(answer: Answer) -> list[str]:
    return [record["sessionId"] for record in answer.json["data"]]


@loop_over(
    ("query", "expected"),
    [
        ("", "s2 s1 s0"), ("type=audio", "s2 s0"), ("mode=meet", "s1"), ("status=ended", "s0"),
        ("participantsCount=2", "s1"), ("startedAt=21", "s2"), ("endedAt=5", "s0"),
        ("receiverType=group", "s1"), ("hasRecording=true", "s0"), ("hasRecording=false", "s2 s1"),
        ("hasTranscription=1", ""), ("uid=cat", "s1"), ("uid=bob", "s2 s0"), ("perPage=1&page=2", "s1"),
    ],
)  # fmt: skip
def test_filters(history: Asker, query: str, expected: str) -> None:
    assert sessions(history(LIST, query)) == expected.split()


def test_transcriptions_come_newest_first_and_the_call_shows_five(history: Asker) -> None:
    for number in range(7):
        history.store.calls.add_transcription("s0", {"tid": f"t{number}", "startTime": number})
    page = history(f"{LIST}/s0/transcriptions", "perPage=3&page=2").json
    assert [record["tid"] for record in page["data"]] == ["t3", "t2", "t1"]
    assert page["meta"]["pagination"]["total"] == 7
    call = history(f"{LIST}/s0").json["data"]
    assert [record["tid"] for record in call["transcriptions"]] == ["t6", "t5", "t4", "t3", "t2"]
    assert sessions(history(LIST, "hasTranscription=true")) == ["s0"]
    assert history(f"{LIST}/s1/transcriptions").json["data"] == []
    assert history(f"{LIST}/none/transcriptions").status == 404


def call_message(status: str, **more: Any) -> dict[str, Any]:
    call = {
        "sessionid": "v1", "type": "video", "status": status, "sender": "ann", "receiver": "bob",
        "receiverType": "user", "initiatedAt": 5, "joinedAt": 6, **more,
    }  # fmt: skip
    return {"action": status, "entities": {"on": {"entity": call, "entityType": "call"}}}


def test_the_messages_of_a_call_make_its_record(ask: Asker) -> None:
    def add(**data: Any) -> None:
        record = ask.store.add_message("ann", "bob", category="call", type="video", data={})
        ask.store.rewrite({int(record["id"]): record | {"data": data}})

    add(**call_message("initiated"))
    [call] = ask(LIST, acting_user="bob").json["data"]
    assert (call["sessionId"], call["status"], call["initiator"], call["receiver"]) == (
        "v1", "initiated", "ann", "bob"
    )  # fmt: skip
    assert [(each["uid"], each["isJoined"]) for each in call["participants"]] == [
        ("ann", True),
        ("bob", False),
    ]
    assert (call["totalParticipants"], "startedAt" in call) == (1, False)
    add(**call_message("ongoing", startedAt=7))
    [call] = ask(LIST, acting_user="bob").json["data"]
    assert (call["status"], call["startedAt"], call["totalParticipants"]) == ("ongoing", 7, 2)
    add(action="odd")
    assert len(ask(LIST).json["data"]) == 1


def test_generated_calls_have_records(generated: Asker) -> None:
    listed = generated(LIST, "perPage=1000").json["data"]
    messages = generated("/v3/messages", "category=call&limit=1000").json["data"]
    served = {record["data"]["entities"]["on"]["entity"]["sessionid"] for record in messages}
    assert {record["sessionId"] for record in listed} == served
    assert len(listed) == len(served) > 10


# ── usage figures ──


def test_the_app_is_no_active_user(ask: Asker) -> None:
    ask.store.add_message("app_system", "ann", "hello", sent_at=NOW)
    ask.store.add_message("bob", "ann", "hello", sent_at=NOW)
    answer = ask("/v3/stats", f"fromDate=0&toDate={NOW * 1000}")
    assert answer.json["data"]["metrics"]["active_users"] == 1


def test_odd_messages_do_not_spoil_the_figures(ask: Asker) -> None:
    ask.store.add_records([b'{"id":"5","sentAt":"soon"}', b"[1,2]"])
    assert sum(point["messagesSent"] for point in ask("/v3/stats/messages").json["data"]["dataPoints"]) == 0
    assert ask("/v3/stats", "fromDate=0&toDate=5").json["data"]["metrics"]["active_users"] == 0
