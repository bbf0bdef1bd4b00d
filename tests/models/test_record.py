"""What every record has in common: frozen, untracked, and a repr that keeps credentials to itself."""

from rich.pretty import pretty_repr

from chatrest.models.entity import Entity, Wrapped
from chatrest.models.record import Record


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
    thing = Thing("n", "s3cr3t", (Thing("m", "s3cr3t"), Wrapped(inner)))
    for shown in (repr(thing), str(thing), f"{thing}", pretty_repr(thing)):
        assert "s3cr3t" not in shown
        assert "[hidden]" in shown


def test_a_record_is_untracked_and_frozen_and_a_value() -> None:
    assert not Entity.__struct_config__.gc
    assert Entity.__struct_config__.frozen
    assert Wrapped(Entity(uid="b"), "user") == Wrapped(Entity(uid="b"), "user")
