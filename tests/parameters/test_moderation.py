"""The filters and bodies of moderation."""

from typing import Any

import pytest

from chatrest._core.requests.wire import json_body
from chatrest._parameters.moderation import (
    NewKeywordList,
    NewRule,
    RuleCondition,
    RuleFilter,
)
from chatrest.errors import RequestInvalidError

FILTER: dict[str, Any] = {
    "type": "sender", "entity": "user", "operand": "uid", "operator": "not equals", "value": "bob"
}  # fmt: skip


def test_a_rule_takes_structs_and_plain_dicts_alike() -> None:
    condition = {"id": 1, "entity": "message", "operand": "text", "operator": "contains", "category": "word"}
    structs = NewRule(
        filters=[RuleFilter(**FILTER)], conditions=[RuleCondition(**condition, value=["x", "y"])]
    )
    dicts: Any = {"filters": [FILTER], "conditions": [{**condition, "value": ["x", "y"]}]}
    assert structs == NewRule(**dicts)
    assert json_body(structs) == (
        b'{"filters":[{"type":"sender","entity":"user","operand":"uid","operator":"not equals",'
        b'"value":"bob"}],'
        b'"conditions":[{"id":1,"entity":"message","operand":"text","operator":"contains","category":"word",'
        b'"value":["x","y"]}]}'
    )


def test_the_terms_of_a_keyword_list_travel_as_one_text() -> None:
    assert NewKeywordList(category="word", search_terms=["darn", "heck"]).search_terms == "darn,heck"
    assert NewKeywordList(category="pattern", search_terms="a,b").search_terms == "a,b"
    with pytest.raises(RequestInvalidError, match=r"^search_terms = 'a,b': expected terms without a comma"):
        NewKeywordList(category="word", search_terms=["x", "a,b"])
