"""Properties of all records: immutable, not tracked by the collector, with credentials hidden in the repr."""

import json

import pytest

from chatrest import Message, parse
from chatrest._models.record import digest
from chatrest._models.users import AuthToken, Entity, EntityWrapper
from tests.support.cases import loop_over


def test_a_repr_shows_the_served_fields_by_their_python_names() -> None:
    assert repr(Entity(uid="bob", tags=("a",))) == "Entity(uid='bob', tags=('a',))"
    assert repr(Entity(name=None)) == "Entity(name=None)"
    assert repr(Entity()) == "Entity()"


@loop_over("levels", [40, 60, 500, 700, 990, 1500])
@loop_over(
    "beginning",
    [
        '{"id":"1","category":"custom","type":"x","sender":"a","receiver":"b","sentAt":1,"data":{"customData":',
        '{"id":"1","category":"strange","data":{"x":',
    ],
)
@loop_over("brackets", ['{"a":|}', "[|]"])
def test_a_repr_of_json_that_is_nested_deeply_is_short(levels: int, beginning: str, brackets: str) -> None:
    opening, closing = brackets.split("|")
    message = parse(Message, f'{beginning}{opening * levels}"token"{closing * levels}}}}}')
    assert len(repr(message)) < 20_000
    assert ("nested too deeply" in repr(message)) is (levels > 50)


def test_a_repr_of_messages_inside_of_messages_has_an_end() -> None:
    message = "null"
    for _ in range(900):
        message = (
            '{"id":"1","category":"message","type":"text","sender":"a","receiver":"b","receiverType":"user",'
            f'"sentAt":1,"data":{{"text":"x"}},"quotedMessage":{message}}}'
        )
    assert repr(parse(Message, message)).startswith("TextMessage(")


def test_a_record_is_immutable_comparable_and_not_tracked() -> None:
    assert not Entity.__struct_config__.gc
    assert Entity.__struct_config__.frozen
    assert EntityWrapper(Entity(uid="b"), "user") == EntityWrapper(Entity(uid="b"), "user")


def test_a_record_is_written_with_its_json_names_and_without_absent_members() -> None:
    entity = Entity(uid="bob", last_active_at=5, avatar=None, tags=("a", "b"))
    served = {"uid": "bob", "lastActiveAt": 5, "avatar": None, "tags": ["a", "b"]}
    assert entity.to_dict() == served
    assert json.loads(entity.to_json()) == served == dict(entity)
    assert Entity().to_dict() == {}
    assert EntityWrapper(Entity(uid="b")).to_dict() == {"entity": {"uid": "b"}}
    assert EntityWrapper(Entity(uid="b"), "user").to_dict() == {"entity": {"uid": "b"}, "entityType": "user"}


def test_values_that_strict_json_lacks_are_written() -> None:
    served = {"half": "\ud83d", "bytes": "\udcff", "big": 10**40, "inf": float("-inf"), "none": None}
    record = Entity(uid="b", metadata=served)
    assert record.to_dict() == {"uid": "b", "metadata": served}
    assert record.to_json().isascii()


def test_changing_the_dict_does_not_change_the_record() -> None:
    record = Entity(metadata={"a": [1]})
    record.to_dict()["metadata"]["a"].append(2)
    assert record.metadata == {"a": [1]}


def test_a_record_with_a_credential_is_identified_by_a_digest() -> None:
    first = AuthToken(uid="alice", auth_token="alice_0123456789abcdef")
    other = AuthToken(uid="alice", auth_token="alice_0123456789abcdee")
    assert getattr(first, AuthToken.identified_by) == first.identity != other.identity
    assert first.identity == AuthToken(uid="bob", auth_token=first.auth_token).identity
    assert len(first.identity) == 32
    assert first.identity not in first.to_json().decode()


@pytest.mark.parametrize("credential", ["", "ü", "\ud800"])
def test_any_text_has_a_digest(credential: str) -> None:
    assert len(digest(credential)) == 32
