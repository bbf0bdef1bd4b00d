"""The window of the usage figures, and webhooks to make."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from msgspec import UNSET

from chatrest._core.requests.encode import filter_values, query_pairs
from chatrest._parameters.apps import NewWebhook, UsageQuery, WebhookVersion
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over


@loop_over(
    ("given", "sent"),
    [
        (5, "5"),
        (datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC), "1500"),
        ("1600000000000", "1600000000000"),
    ],
)
def test_moments_are_sent_in_milliseconds(given: Any, sent: str) -> None:
    query = UsageQuery(from_date=given, to_date=given)
    assert dict(query_pairs(query)) == {"fromDate": sent, "toDate": sent}


def test_a_day_is_sent_from_its_first_to_its_last_millisecond() -> None:
    query = UsageQuery(from_date=date(1970, 1, 2), to_date="1970-01-02")
    assert dict(query_pairs(query)) == {"fromDate": "86400000", "toDate": "172799999"}


@loop_over("value", [None, -1, "5", datetime(2020, 1, 1)])
def test_a_wrong_moment_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^from_date = .*: expected "):
        UsageQuery(from_date=value, to_date=5)


HOOK = {"id": "w1", "name": "First", "webhook_url": "https://example.com/hook"}


@loop_over(
    "url",
    [
        "https://example.com", "https://example.com:8443/a/b?c=d#e", "http://127.0.0.1:9/hook",
        "http://localhost/hook", "http://[::1]:9", "https://exämple.com/ü",
    ],
)  # fmt: skip
def test_an_address_is_https_or_loopback(url: str) -> None:
    assert NewWebhook(**HOOK | {"webhook_url": url}).webhook_url == url


@loop_over(
    "url",
    [
        "", "example.com", "http://example.com", "ftp://example.com", "https://", "https://user:pass@example.com",
        "https://example.com/a b", "https://example.com/\n", "http://localhost.example.com", "http://127.0.0.1.com",
        f"https://example.com/{'a' * 240}", None, 5,
    ],
)  # fmt: skip
def test_another_address_is_refused(url: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^webhook_url = .*: expected an https URL of at most 255"):
        NewWebhook(**HOOK | {"webhook_url": url})


@pytest.mark.parametrize(("number", "expected"), [(2, {"X-Webhook-Version": 2}), (None, {})])
def test_the_version_is_a_header_or_none(number: Any, expected: dict[str, int]) -> None:
    assert filter_values(WebhookVersion(x_webhook_version=number)) == expected


def test_credentials_of_a_webhook_turn_basic_authentication_on() -> None:
    both = {"username": "u", "password": "hush"}
    assert NewWebhook(**HOOK, **both).use_basic_auth is True
    assert NewWebhook(**HOOK, **both, use_basic_auth=False).use_basic_auth is False
    assert NewWebhook(**HOOK).use_basic_auth is UNSET


@pytest.mark.parametrize("name", ["username", "password"])
def test_half_of_the_credentials_of_a_webhook_is_refused(name: str) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} alone: expected username and password") as caught:
        NewWebhook(**HOOK, **{name: "hush"})
    assert "hush" not in str(caught.value)
