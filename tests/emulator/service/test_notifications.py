"""Notifications over the service: what is refused, and what the documents say of single replies."""

from typing import Any

import pytest

from tests.emulator.conftest import Answer, Asker

V1, PUSH = "/v3/notifications/v1", "/v3/notifications/push/v1"
TWILIO = "/v3/notifications/sms/v1/providers/twilio"


@pytest.mark.parametrize("path", ["preferences", "preferences/mute", "preferences/timezone"])
@pytest.mark.parametrize(
    ("query", "status"), [("", 400), ("uid=", 400), ("uid=nobody", 404), ("uid=ann", 200)]
)
def test_preferences_need_a_user_who_exists(ask: Asker, path: str, query: str, status: int) -> None:
    assert ask(f"{V1}/{path}", query).status == status


def refused(answer: Answer, field: str) -> bool:
    return answer.status == 400 and field in answer.json["error"]["details"]


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", TWILIO, {"twilioAccountSID": "s"}, "twilioAuthToken"),
        ("PATCH", f"{V1}/settings", {"sound": 5}, "sound"),
        ("POST", f"{PUSH}/providers/fcm", {"providerId": ""}, "providerId"),
        ("POST", f"{PUSH}/providers/apns", {"productionMode": "x"}, "productionMode"),
        ("POST", f"{PUSH}/tokens", [], "body"),
        ("DELETE", f"{PUSH}/tokens", {}, "authToken"),
        ("DELETE", f"{PUSH}/tokens/x", {"authToken": 5}, "authToken"),
        ("GET", f"{PUSH}/tokens", {}, "authToken"),
    ],
)
def test_wrong_bodies_are_refused_by_their_member(
    ask: Asker, method: str, path: str, body: Any, field: str
) -> None:
    assert refused(ask(path, method=method, body=body), field)


def test_a_push_token_needs_a_login_and_a_token(ask: Asker) -> None:
    assert ask.post(f"{PUSH}/tokens", {"fcmToken": "x"}).status == 401
    login = ask.post("/v3/users/ann/auth_tokens", {}).json["data"]["authToken"]
    assert refused(ask.post(f"{PUSH}/tokens", {"authToken": login, "platform": "fcm_web"}), "deviceToken")
    assert ask(f"{PUSH}/tokens", f"authToken={login}").json == {"data": {"pushTokens": []}}


def test_the_log_refuses_wrong_parameters(ask: Asker) -> None:
    for query in ("messageId=x", "affix=up", "from=-1", "success=maybe"):
        assert refused(ask(f"{V1}/logs", query), query.split("=")[0])
