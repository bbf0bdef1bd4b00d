"""Webhooks to make."""

from typing import Any

import pytest
from msgspec import UNSET

from chatrest._core.requests.encode import filter_values
from chatrest._parameters.apps import NewWebhook, WebhookVersion
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over

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
