"""`session.notifications`, through a double of the session: what operations give, and what they refuse."""

from typing import Any

import pytest

from chatrest._parameters.notifications import NotificationLogQuery
from chatrest._resources.notifications import Notifications
from chatrest.errors import RequestInvalidError
from tests.support.session_double import Sender


async def test_the_log_is_paged_by_log_ids_without_a_size() -> None:
    first = (
        b'{"data":[{"_id":"a","channel":"push","messageId":7,"messageSentAtMS":5,"notificationTriggered":false,'
        b'"processingStartedAtMS":6,"processingEndedAtMS":8,"totalProcessingTimeInMS":2,"pushToken":"t",'
        b'"payload":{"x":null}},{"_id":"b","messageId":7}],'
        b'"meta":{"current":{"limit":20,"count":2},"next":{"affix":"append","messageId":7}}}'
    )
    sender = Sender(first, b'{"data":[],"meta":{"next":{"affix":"append","messageId":7}}}')
    query = NotificationLogQuery(channel="push", from_=5)
    log, other = await Notifications(sender).list_logs(query).collect()
    assert (log._id, log.channel, log.message_id, log.notification_triggered) == ("a", "push", 7, False)
    assert (log.message_sent_at_ms, log.processing_started_at_ms, log.processing_ended_at_ms) == (5, 6, 8)
    assert (log.total_processing_time_in_ms, log.payload, other._id) == (2, {"x": None}, "b")
    assert "push_token=[hidden]" in repr(log)
    assert [call.position for call in sender.calls] == [(), (("affix", "append"), ("logId", "7"))]
    assert sender.asked() == {"channel": "push", "from": "5", "affix": "append", "logId": "7"}


@pytest.mark.parametrize(
    "ask",
    [
        lambda each: each.list_push_tokens("tok\ud800en"),
        lambda each: each.unregister_push_tokens(["tok\ud800en"]),
        lambda each: each.delete_push_token("p", "tok\ud800en"),
    ],
)
def test_a_wrong_token_is_refused_and_not_shown(ask: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^auth_token = \[hidden\]: expected a .*text"):
        ask(Notifications(Sender()))
