"""Moderation over the service: the form of replies, limits of lists, and what is refused."""

from typing import Any

import pytest

from tests.emulator.conftest import NOW, Answer, Asker

PATH = "/v3/moderation"
MESSAGE = {"sender": "ann", "receiver": "bob", "receiverType": "user", "data": {"text": "hi"}}


def test_the_times_of_reasons_are_texts_in_a_list_alone(ask: Asker) -> None:
    made = ask.post(f"{PATH}/reasons", {"id": "spam", "name": "Spam"}).json["data"]
    assert made["createdAt"] == NOW
    answer = ask(f"{PATH}/reasons").json
    assert [reason["createdAt"] for reason in answer["data"]] == [str(NOW)]
    assert answer["meta"] == {"current": {"limit": 100, "count": 1}}


def test_some_acknowledgements_stand_at_the_root(ask: Asker) -> None:
    ask.post(f"{PATH}/reasons", {"id": "spam", "name": "Spam"})
    message = ask.post("/v3/messages", {"receiver": "bob", "data": {"text": "x"}}, acting_user="ann")
    path = f"/v3/messages/{message.json['data']['id']}/flagged"
    flagged = ask.post(path, {"id": "spam"}, acting_user="bob").json
    assert flagged["success"] is True
    assert "data" not in flagged
    removed = ask(f"{PATH}/reasons/spam", method="DELETE").json
    assert removed["success"] is True
    rule = ask.post(f"{PATH}/rules", {}).json["data"]
    assert ask(f"{PATH}/rules/{rule['id']}", method="DELETE").json["data"]["success"] is True


def test_the_default_limit_of_flagged_messages_is_fifty(ask: Asker) -> None:
    assert ask(f"{PATH}/flagged-messages").json["meta"]["current"] == {"limit": 50, "count": 0}
    assert refused(ask(f"{PATH}/flagged-messages", "limit=0"), "limit")


def refused(answer: Answer, field: str) -> bool:
    return answer.status == 400 and field in answer.json["error"]["details"]


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "rules", {"enabled": "yes"}, "enabled"),
        ("POST", "rules", {"filters": [{"type": "sender"}]}, "filters"),
        ("POST", "rules", {"conditions": [{"operand": "smell"}]}, "conditions"),
        ("POST", "reasons", {"id": "spam"}, "name"),
        ("POST", "keywords", {"name": "n"}, "category"),
        ("POST", "messages", {**MESSAGE, "receiverType": "bot"}, "receiverType"),
        ("POST", "messages", {"sender": "ann"}, "receiver"),
        ("PATCH", "flagged-messages/1", {"status": "rejected"}, "status"),
        ("PATCH", "blocked-messages/1", {"status": "disapproved"}, "status"),
    ],
)
def test_wrong_bodies_are_refused_by_their_member(
    ask: Asker, method: str, path: str, body: Any, field: str
) -> None:
    assert refused(ask(f"{PATH}/{path}", method=method, body=body), field)


@pytest.mark.parametrize(
    ("path", "code"),
    [("rules/x/revisions", "ERR_RULE_NOT_FOUND"), ("keywords/x", "ERR_KEYWORD_NOT_FOUND"),
     ("reasons/x", "ERR_REASON_NOT_FOUND"), ("messages/5", "ERR_MESSAGE_ID_NOT_FOUND")],
)  # fmt: skip
def test_what_does_not_exist_has_its_code(ask: Asker, path: str, code: str) -> None:
    answer = ask(f"{PATH}/{path}")
    assert (answer.status, answer.code) == (404, code)
