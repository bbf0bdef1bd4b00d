"""Moderation: what rules meet, and the documented forms of the replies."""

from typing import Any

import pytest

from chatrest.emulator.service.context import Context, PageFormat
from chatrest.emulator.service.moderation import KEYWORD_LISTS, RULE_KIND as RULES, matching_rule
from chatrest.emulator.store import Store
from tests.cases import loop_over
from tests.emulator.conftest import NOW, Asker


@pytest.fixture
def context(store: Store) -> Context:
    store.add_user("ann", "Ann", role="guest", tags=["new", "vip"])
    store.add_user("bob")
    store.add_group("den", "Den", type="public")
    store.documents.of(KEYWORD_LISTS).put({"id": "bad", "searchTerms": ["darn", "heck"]}, "bad")
    return Context(store, {}, PageFormat("cursor"), PageFormat("next"), lambda: 5)


def is_met(context: Context, condition: Any, filter: Any = None, **message: Any) -> bool:
    rule = {"id": "r", "conditions": [condition], "filters": [filter] if filter else []}
    context.store.documents.of(RULES).put({**rule, **message.pop("rule", {})}, "r")
    served = {
        "sender": "ann",
        "receiver": "bob",
        "receiverType": "user",
        "data": {"text": "Oh heck"},
        **message,
    }
    return matching_rule(context, served) is not None


@loop_over(
    ("condition", "expected"),
    [
        ({"value": ["HECK"]}, True),
        ({"value": "heck"}, True),
        ({"value": ["darn"]}, False),
        ({}, False),
        ({"operator": "equals", "value": ["oh heck"]}, True),
        ({"operator": "equals", "value": "heck"}, False),
        ({"category": "pattern", "value": ["h.ck$"]}, True),
        ({"category": "pattern", "value": ["^h"]}, False),
        ({"category": "pattern", "operator": "equals", "value": ["Oh .*"]}, True),
        ({"category": "pattern", "value": ["("]}, False),
        ({"value": [""]}, False),
        ({"isKeywordReferencePresent": True, "value": "bad"}, True),
        ({"isKeywordsReferencePresent": True, "value": ["bad"]}, True),
        ({"isListReferencePresent": True, "value": ["none"]}, False),
        ({"operand": "image", "value": ["heck"]}, False),
    ],
)  # fmt: skip
def test_conditions(context: Context, condition: Any, expected: bool) -> None:
    assert is_met(context, condition) is expected


@loop_over(
    ("filter", "expected"),
    [
        (("sender", "user", "uid", "equals", "ann"), True),
        (("sender", "user", "uid", "equals", "bob"), False),
        (("sender", "user", "uid", "not equals", "ann"), False),
        (("sender", "user", "uid", "in", "x, ann"), True),
        (("sender", "user", "uid", "not in", "x,ann"), False),
        (("sender", "user", "role", "equals", "guest"), True),
        (("sender", "user", "name", "startsWith", "A"), True),
        (("receiver", "user", "uid", "equals", "bob"), True),
        (("receiver", "group", "guid", "equals", "den"), False),
        (("sender", "user", "avatar", "equals", "x"), False),
    ],
)  # fmt: skip
def test_filters_of_users(context: Context, filter: Any, expected: bool) -> None:
    names = ("type", "entity", "operand", "operator", "value")
    assert is_met(context, {"value": "heck"}, dict(zip(names, filter, strict=True))) is expected


@loop_over(
    ("operator", "value", "expected"),
    [("equals", "den", True),
        ("notEquals", "den", False),
        ("endsWith", "en", True),
        ("notIn", "den", False),
     ("lessThan", "e", True),
        ("greaterThan", "e", False),
        ("like", "den", False)],
)  # fmt: skip
def test_filters_of_groups(context: Context, operator: str, value: str, expected: bool) -> None:
    rule_filter = {
        "type": "receiver",
        "entity": "group",
        "operand": "guid",
        "operator": operator,
        "value": value,
    }
    group = {"receiverType": "group", "receiver": "den"}
    assert is_met(context, {"value": "heck"}, rule_filter, **group) is expected


def test_a_rule_that_is_switched_off_and_a_message_without_text_do_not_meet(context: Context) -> None:
    assert not is_met(context, {"value": "heck"}, rule={"enabled": False})
    assert not is_met(context, {"value": "heck"}, data={"attachments": []})


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
