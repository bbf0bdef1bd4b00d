"""`session.metrics` against the emulator, which counts the messages of its store."""

from chatrest import AsyncSession
from chatrest.emulator import Emulator

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
