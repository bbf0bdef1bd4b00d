"""`session.calls`: the history of calls, on its own interface."""

from typing import Any

import pytest

from chatrest.errors import RequestInvalidError
from chatrest.parameters.calls import CallQuery, TranscriptionQuery
from chatrest.resources.calls import Calls
from tests.resources.operation_calls import Sent, answering, sent
from tests.sending import Sender

CALL: dict[str, Any] = {
    "sessionId": "v1", "type": "video", "mode": "meet", "status": "ended", "initiator": "ann",
    "receiver": "g", "receiverType": "group", "initiatedAt": 1, "startedAt": 2, "endedAt": 3,
    "totalParticipants": 2, "totalAudioMinutes": 0.5, "totalVideoMinutes": 1.5, "totalDuration": "00:02:00",
    "totalDurationInMinutes": 2.0, "hasRecording": True, "hasTranscription": True, "mid": "m",
    "participants": [{
        "uid": "ann", "isJoined": True, "state": "ended", "totalAudioMinutes": 0.5, "totalVideoMinutes": 1.5,
        "totalDuration": 2.0, "totalDurationInMinutes": 2.0, "deviceId": "d", "joinedAt": 2, "leftAt": 3,
        "mid": "m",
    }],
    "recordings": [
        {"rid": "r", "duration": 1.5, "startTime": 2, "endTime": 3, "recording_url": "https://a.example/r"}
    ],
    "transcriptions": [{
        "tid": "t", "roomName": "v1", "startTime": 2, "endTime": 3, "mid": "m",
        "transcriptDate": "2026-01-01T00:00:00.000Z", "transcriptUrl": "https://a.example/t",
    }],
    "metaData": {"a": 1}, "tags": ["x"],
}  # fmt: skip


async def test_a_call_has_every_field_of_its_record() -> None:
    sender = answering({"data": CALL})
    call = await Calls(sender).get("a/b", on_behalf_of="ann")
    assert call.to_dict() == CALL
    assert (call.session_id, call.total_video_minutes, call.meta_data) == ("v1", 1.5, {"a": 1})
    assert call.recordings[0].recording_url == "https://a.example/r"  # type: ignore[index, union-attr]
    assert call.participants[0].device_id == "d"  # type: ignore[index, union-attr]
    assert sent(sender) == Sent("GET", "/calls/a%2Fb", "safe")
    assert (sender.call.endpoint.interface, sender.call.acting_user) == ("calls", "ann")


async def test_numbers_may_be_whole_and_empty_metadata_an_array() -> None:
    odd = CALL | {"totalAudioMinutes": 0, "metaData": [], "participants": [{"uid": "a", "totalDuration": 2}]}
    call = await Calls(answering({"data": odd})).get("v1")
    assert (call.total_audio_minutes, call.meta_data) == (0.0, {})
    assert call.participants[0].total_duration == 2.0  # type: ignore[index, union-attr]


async def test_the_list_goes_by_page_numbers() -> None:
    pagination = {"total": 2, "count": 1, "current_page": 1, "total_pages": 2}
    first = {"data": [CALL], "meta": {"pagination": pagination}}
    second = {"data": [CALL | {"sessionId": "v2"}], "meta": {"pagination": pagination | {"current_page": 2}}}
    sender = Sender(*(answering(reply).answers[0] for reply in (first, second, {"data": []})))
    query = CallQuery(status="ended", has_recording=False, participants_count=2, started_at=5)
    assert [call.session_id async for call in Calls(sender).list(query, on_behalf_of="ann")] == ["v1", "v2"]
    asked = {"status": "ended", "hasRecording": "false", "participantsCount": "2", "startedAt": "5"}
    assert asked.items() <= sender.asked().items()
    assert dict(sender.calls[1].position)["page"] == "2"
    assert {call.path for call in sender.calls} == {"/calls"}


async def test_transcriptions_of_a_call() -> None:
    transcription = CALL["transcriptions"][0]
    sender = Sender(answering({"data": [transcription]}).answers[0], b'{"data":[]}')
    walk = Calls(sender).list_transcriptions("v1", TranscriptionQuery(per_page=5), on_behalf_of="ann")
    assert [each.to_dict() async for each in walk] == [transcription]
    assert sender.asked() == {"perPage": "5", "page": "2"}
    assert {call.path for call in sender.calls} == {"/calls/v1/transcriptions"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("type", "fax"), ("mode", ""), ("status", "lost"), ("participants_count", -1), ("has_recording", 1),
     ("receiver_type", "team"), ("uid", ""), ("started_at", -1), ("page", 0)],
)  # fmt: skip
def test_a_wrong_filter_is_refused_by_its_field(name: str, value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=rf"^{name} = .*: allowed is "):
        CallQuery(**{name: value})


async def test_a_session_that_is_no_path_segment_is_refused() -> None:
    sender = answering({"data": CALL})
    for ask in (lambda c: c.get(".."), lambda c: c.list_transcriptions("").collect()):
        with pytest.raises(RequestInvalidError):
            await ask(Calls(sender))  # type: ignore[no-untyped-call]
    assert sender.calls == []
