"""Rules of bodies beyond the types of their fields."""

from typing import Any, Final

import pytest
from msgspec import UNSET, Struct

from chatrest._core.requests.encode import filter_values
from chatrest._core.requests.wire import json_body
from chatrest._parameters.agents import (
    AgentChanges,
    IntegrationMeta,
    NewAgent,
    NewApiTool,
    NewExternalAgent,
    NewExternalTool,
)
from chatrest._parameters.apps import NewWebhook, WebhookVersion
from chatrest._parameters.conversations import ConversationPin, ReceiptMark
from chatrest._parameters.moderation import NewKeywordList
from chatrest._parameters.users import NewMembers
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over

TOOL: Final[dict[str, Any]] = {
    "slug": "s", "name": "S", "description": "d", "endpoint": "https://h/{{path}}", "method": "GET"
}  # fmt: skip
EXTERNAL: Final[dict[str, Any]] = {"name": "n", "icon": "https://i", "integrate_with": "mastra"}
HOOK: Final = {"id": "w1", "name": "First", "webhook_url": "https://example.com/hook"}


@loop_over(
    ("make", "fault"),
    [
        (lambda: NewApiTool(**TOOL, enable_basic_auth=True), "enable_basic_auth"),
        (lambda: NewApiTool(**TOOL, parameters=[{"key": "k"}]), "parameters"),
        (
            lambda: NewExternalAgent(**EXTERNAL, integration_meta=IntegrationMeta()),
            "integration_meta: base_url = UNSET: expected",
        ),
        (
            lambda: NewExternalTool(name="t", display_name="T", execution_text="e"),
            "expected description and parameters",
        ),
        (
            lambda: NewKeywordList(category="word", search_terms=["x", "a,b"]),
            "search_terms = 'a,b': expected",
        ),
        (lambda: ConversationPin(), "expected a uid or a guid"),
        (lambda: NewMembers(), "expected at least one uid, in admins, moderators"),
        (lambda: NewMembers(admins=UNSET, users_to_ban=None), "expected at least one uid, in admins"),
        (lambda: NewWebhook(**HOOK, username="hush"), "username alone: expected username and password"),
        (lambda: NewWebhook(**HOOK, password="hush"), "password alone: expected username and password"),
    ],
)
def test_a_wrong_member_is_refused_by_name(make: Any, fault: str) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{fault}") as caught:
        make()
    assert "hush" not in str(caught.value)


@loop_over(
    ("body", "json"),
    [
        (AgentChanges(tools=[], api_tools=()), b'{"tools":[],"apiTools":[]}'),
        (NewAgent(name="n"), b'{"name":"n","isActive":true}'),
        (
            NewExternalTool(name="t", display_name="T", execution_text="e", do_not_execute=True),
            b'{"name":"t","displayName":"T","executionText":"e","doNotExecute":true}',
        ),
        (
            NewKeywordList(category="word", search_terms=["darn", "heck"]),
            b'{"category":"word","searchTerms":"darn,heck"}',
        ),
        (ReceiptMark(message_id="7"), b'{"messageId":7}'),
        (NewMembers(participants=("a", "b"), moderators=None), b'{"participants":["a","b"]}'),
        (NewMembers(users_to_ban={"b", "a"}), b'{"usersToBan":["a","b"]}'),  # type: ignore[arg-type]
    ],
)
def test_what_is_sent(body: Struct, json: bytes) -> None:
    assert json_body(body) == json


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


def test_the_version_is_a_header_or_none_and_credentials_turn_authentication_on() -> None:
    assert filter_values(WebhookVersion(x_webhook_version=2)) == {"X-Webhook-Version": 2}
    assert filter_values(WebhookVersion(x_webhook_version=None)) == {}
    both = {"username": "u", "password": "hush"}
    assert NewWebhook(**HOOK, **both).use_basic_auth is True
    assert NewWebhook(**HOOK, **both, use_basic_auth=False).use_basic_auth is False
    assert NewWebhook(**HOOK).use_basic_auth is UNSET
