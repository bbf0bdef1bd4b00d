import json
from collections import Counter
from typing import Any

import pytest

from chatrest.emulator import Store
from chatrest.emulator.store.generated_data import fill

Record = dict[str, Any]
SIZE = 2000


def generated(**sizes: int) -> tuple[list[bytes], list[str]]:
    store = Store()
    fill(store, **({"users": 9, "messages": 300, "groups": 2, "seed": 3} | sizes))
    return store.records(store.ids(), with_tags=True), store.people.uids()


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return [json.loads(record) for record in generated(messages=SIZE, users=30, groups=3)[0]]


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others() -> None:
    assert generated() == generated()
    assert generated(seed=4)[0] != generated()[0]
    assert len(set(generated()[0])) == 300


def test_kinds_come_in_their_parts(records: list[Record]) -> None:
    kinds = Counter(
        "media" if record["category"] == "message" and record["type"] != "text" else record["category"]
        for record in records
    )
    for kind, share in {"message": 0.72, "media": 0.1, "custom": 0.05, "action": 0.03, "call": 0.09}.items():
        assert kinds[kind] / SIZE == pytest.approx(share, abs=0.03), kind
    assert sum(record["receiverType"] == "group" for record in records) == pytest.approx(SIZE * 0.1, rel=0.3)


def test_conversations_and_entities_fit_the_record(records: list[Record]) -> None:
    for record in records:
        group = record["receiverType"] == "group"
        pair = "_user_".join(sorted((record["sender"], record["receiver"])))
        assert record["conversationId"] == (f"group_{record['receiver']}" if group else pair)
        if record["category"] in ("message", "custom"):
            sender, receiver = record["data"]["entities"]["sender"], record["data"]["entities"]["receiver"]
            assert sender["entity"]["uid"] == record["sender"]
            assert receiver["entityType"] == record["receiverType"]
            assert receiver["entity"]["guid" if group else "uid"] == record["receiver"]


def test_calls_are_as_the_specification_shows_them(records: list[Record]) -> None:
    open_calls: dict[str, str] = {}
    calls = [record for record in records if record["category"] == "call"]
    assert {call["type"] for call in calls} == {"audio", "video"}
    for record in calls:
        data, call = record["data"], record["data"]["entities"]["on"]["entity"]
        kinds = {name: entity["entityType"] for name, entity in data["entities"].items()}
        assert kinds == {"by": "user", "on": "call", "for": "user"}
        assert (call["status"], call["type"]) == (data["action"], record["type"])
        assert set(call["wsChannel"]) == {"secret", "service", "identity"}
        assert set(call["data"]) == {"entities", "metadata"}
        assert ("startedAt" in call) == (call["status"] == "ongoing")
        if call["status"] == "initiated":
            open_calls[record["conversationId"]] = call["sessionid"]
        else:
            assert open_calls.pop(record["conversationId"]) == call["sessionid"]


def test_actions_are_about_messages_that_show_them(records: list[Record]) -> None:
    by_id = {record["id"]: record for record in records}
    actions = [record["data"] for record in records if record["category"] == "action"]
    assert {action["action"] for action in actions} == {"edited", "deleted", "added"}
    for action in actions:
        on = action["entities"]["on"]
        if action["action"] == "added":
            assert on["entityType"] == "user"
        else:
            assert on["entity"] == by_id[on["entity"]["id"]]
            assert f"{action['action']}At" in on["entity"]
