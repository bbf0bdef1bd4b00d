"""The usage figures over the service: what it refuses, and what does not count."""

import pytest

from tests.emulator.conftest import NOW, Asker


@pytest.mark.parametrize(
    ("query", "field"), [("", "fromDate"), ("fromDate=5", "toDate"), ("fromDate=a&toDate=5", "fromDate")]
)
def test_a_window_without_its_ends_is_refused(ask: Asker, query: str, field: str) -> None:
    answer = ask("/v3/stats", query)
    assert (answer.status, answer.code) == (400, "ERR_BAD_REQUEST")
    assert field in answer.json["error"]["details"]


def test_the_app_is_no_active_user(ask: Asker) -> None:
    ask.store.add_message("app_system", "ann", "hello", sent_at=NOW)
    ask.store.add_message("bob", "ann", "hello", sent_at=NOW)
    answer = ask("/v3/stats", f"fromDate=0&toDate={NOW * 1000}")
    assert answer.json["data"]["metrics"]["active_users"] == 1


def test_odd_messages_do_not_spoil_the_figures(ask: Asker) -> None:
    ask.store.add_records([b'{"id":"5","sentAt":"soon"}', b"[1,2]"])
    assert sum(point["messagesSent"] for point in ask("/v3/stats/messages").json["data"]["dataPoints"]) == 0
    assert ask("/v3/stats", "fromDate=0&toDate=5").json["data"]["metrics"]["active_users"] == 0
