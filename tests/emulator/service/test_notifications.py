"""Notifications over the service: what is refused, and what the documents say of single replies."""

from tests.emulator.conftest import Asker

V1, PUSH = "/v3/notifications/v1", "/v3/notifications/push/v1"


def test_a_push_token_needs_a_login_and_a_token(ask: Asker) -> None:
    assert ask.post(f"{PUSH}/tokens", {"fcmToken": "x"}).status == 401
    login = ask.post("/v3/users/ann/auth_tokens", {}).json["data"]["authToken"]
    refused = ask.post(f"{PUSH}/tokens", {"authToken": login, "platform": "fcm_web"})
    assert (refused.status, "deviceToken" in refused.json["error"]["details"]) == (400, True)
    assert ask(f"{PUSH}/tokens", f"authToken={login}").json == {"data": {"pushTokens": []}}
