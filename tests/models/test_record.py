"""What every record has in common: frozen, untracked, and a repr that keeps credentials to itself."""

import json

from rich.pretty import pretty_repr

from chatrest.models.entity import Entity, EntityWrapper
from chatrest.models.record import Record
from chatrest.models.user import AuthToken


class Thing(Record, frozen=True, gc=False, rename="camel"):
    some_name: str
    secret: str = ""
    parts: tuple[Record, ...] = ()


def test_a_repr_shows_what_was_served_by_its_names_here() -> None:
    assert repr(Entity(uid="bob", tags=("a",))) == "Entity(uid='bob', tags=('a',))"
    assert repr(Entity(name=None)) == "Entity(name=None)"
    assert repr(Entity()) == "Entity()"


def test_a_credential_is_hidden_however_deep_it_lies() -> None:
    inner = Entity(uid="b", metadata={"apiKey": "s3cr3t", "list": [{"token": "s3cr3t"}]})
    thing = Thing("n", "s3cr3t", (Thing("m", "s3cr3t"), EntityWrapper(inner)))
    for shown in (repr(thing), str(thing), f"{thing}", pretty_repr(thing)):
        assert "s3cr3t" not in shown
        assert "[hidden]" in shown


def test_a_record_is_untracked_and_frozen_and_a_value() -> None:
    assert not Entity.__struct_config__.gc
    assert Entity.__struct_config__.frozen
    assert EntityWrapper(Entity(uid="b"), "user") == EntityWrapper(Entity(uid="b"), "user")


def test_a_record_goes_out_under_the_wires_names_without_what_was_absent() -> None:
    entity = Entity(uid="bob", last_active_at=5, avatar=None, tags=("a", "b"))
    served = {"uid": "bob", "lastActiveAt": 5, "avatar": None, "tags": ["a", "b"]}
    assert entity.to_dict() == served
    assert json.loads(entity.to_json()) == served
    assert Entity().to_dict() == {}
    assert EntityWrapper(Entity(uid="b")).to_dict() == {"entity": {"uid": "b"}}
    assert EntityWrapper(Entity(uid="b"), "user").to_dict() == {"entity": {"uid": "b"}, "entityType": "user"}


def test_what_goes_out_holds_credentials_for_it_is_data() -> None:
    token = AuthToken("bob", "s3cr3t")
    assert token.to_dict() == {"uid": "bob", "authToken": "s3cr3t"}
    assert b"s3cr3t" in token.to_json()
    assert "s3cr3t" not in repr(token)


def test_what_strict_json_does_not_hold_goes_out_all_the_same() -> None:
    served = {"half": "\ud83d", "bytes": "\udcff", "big": 10**40, "inf": float("-inf"), "none": None}
    record = Entity(uid="b", metadata=served)
    assert record.to_dict() == {"uid": "b", "metadata": served}
    assert record.to_json().isascii()


def test_a_dict_that_went_out_is_the_callers_own() -> None:
    record = Entity(metadata={"a": [1]})
    record.to_dict()["metadata"]["a"].append(2)
    assert record.metadata == {"a": [1]}
