"""`session.metrics`, through a double of the session."""

from datetime import date

import pytest

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
