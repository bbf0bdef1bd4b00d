"""`session.metrics`, through a double of the session."""

from datetime import date

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.errors import ReplyUnreadableError
from chatrest.resources.metrics import Metrics
from tests.sending import Sender

FIGURES = b'{"audio_minutes":1,"video_minutes":2,"recorded_minutes":3,"active_users":4,"concurrent_users":5}'
POINT = b'{"messagesSent":1,"readReceipts":2,"deliveryReceipts":3,"startTime":"60","endTime":"90"}'
RECEIPTS = b'{"appId":"app","startTime":"60","endTime":"120","dataPoints":[%b]}' % POINT


async def test_usage_is_asked_for_in_milliseconds() -> None:
    sender = Sender(b'{"data":{"metrics":%b,"time_range":{"fromDate":6,"toDate":7}}}' % FIGURES)
    usage = await Metrics(sender).get_usage(5, date(1970, 1, 2))
    assert (sender.call.endpoint.method, sender.call.path) == ("GET", "/stats")
    assert sender.asked() == {"fromDate": "5", "toDate": "86400000"}
    figures = usage.metrics
    assert figures
    assert (figures.audio_minutes, figures.video_minutes, figures.recorded_minutes) == (1, 2, 3)
    assert (figures.active_users, figures.concurrent_users) == (4, 5)
    assert usage.time_range
    assert (usage.time_range.from_date, usage.time_range.to_date) == (6, 7)


@pytest.mark.parametrize("body", [RECEIPTS, b'{"data":%b}' % RECEIPTS])
async def test_receipts_are_read_with_and_without_data_around_them(body: bytes) -> None:
    sender = Sender(body)
    receipts = await Metrics(sender).get_message_receipts()
    assert (sender.call.endpoint.method, sender.call.path) == ("GET", "/stats/messages")
    assert (receipts.app_id, receipts.start_time, receipts.end_time) == ("app", "60", "120")
    [point] = receipts.data_points or ()
    assert (point.messages_sent, point.read_receipts, point.delivery_receipts) == (1, 2, 3)
    assert (point.start_time, point.end_time) == ("60", "90")


async def test_a_reply_without_an_app_is_no_metrics() -> None:
    with pytest.raises(ReplyUnreadableError):
        await Metrics(Sender(b'{"startTime":"60"}')).get_message_receipts()


# ── on the emulator ──

NOW = 2_000_000_000


async def test_figures_count_the_messages_of_their_window() -> None:
    async with Emulator(users=5, messages=0, clock=lambda: NOW) as emulator:
        emulator.store.add_message("user-01", "user-02", "a", sent_at=NOW - 700, readAt=NOW - 10)
        emulator.store.add_message("user-02", "user-01", "b", sent_at=NOW - 20, deliveredAt=NOW - 15)
        emulator.store.add_message("user-02", "user-01", "c", sent_at=NOW - 10)
        for number, at in enumerate((NOW - 50, NOW - 5000)):
            times = {"initiatedAt": at, "totalAudioMinutes": 2.5, "totalVideoMinutes": 1}
            emulator.store.calls.add({"sessionId": str(number), "hasRecording": True, **times})
        async with AsyncSession(emulator.app) as session:
            usage = await session.metrics.get_usage((NOW - 100) * 1000, NOW * 1000)
            everything = await session.metrics.get_usage(0, NOW * 1000)
            receipts = await session.metrics.get_message_receipts()
    assert usage.metrics
    assert everything.metrics
    assert (usage.metrics.active_users, everything.metrics.active_users) == (1, 2)
    minutes = (usage.metrics.audio_minutes, usage.metrics.video_minutes, usage.metrics.recorded_minutes)
    assert (minutes, everything.metrics.audio_minutes) == ((2, 1, 3), 5)
    assert usage.time_range
    assert usage.time_range.from_date == (NOW - 100) * 1000
    points = receipts.data_points or ()
    assert len(points) == 12
    assert [point.messages_sent for point in points][-3:] == [1, 0, 2]
    assert (points[-1].read_receipts, points[-1].delivery_receipts) == (1, 1)
    assert receipts.end_time == points[-1].end_time == str(NOW * 1000)
