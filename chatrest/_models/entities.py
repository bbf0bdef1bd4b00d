"""Entities: the users, groups and calls in the `data` of a message, each in a wrapper with its type."""

from typing import Generic, TypeVar

from msgspec import UNSET

from .record import NO_TEXT, Json, Maybe, Record

E = TypeVar("E")


class EntityWrapper(Record, Generic[E]):
    """An entity wrapper: `entity`, and its `entity_type` such as user or call."""

    entity: E
    entity_type: str = NO_TEXT


class Entity(Record):
    """A user or a group inside a message: a user has `uid`, a group has `guid`."""

    # In the order in which the service writes them, as msgspec decodes that order fastest: 3 % of a page.

    uid: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    role: Maybe[str] = UNSET
    status: Maybe[str] = UNSET
    avatar: Maybe[str] = UNSET
    conversation_id: Maybe[str] = UNSET
    link: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET
    updated_by: Maybe[str] = UNSET
    last_active_at: Maybe[int] = UNSET
    guid: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    owner: Maybe[str] = UNSET
    members_count: Maybe[int] = UNSET
    icon: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    scope: Maybe[str] = UNSET
    tags: Maybe[tuple[str, ...]] = UNSET
    metadata: Maybe[Json] = UNSET
    has_joined: Maybe[bool] = UNSET
    status_message: Maybe[str] = UNSET


class Parties(Record):
    """The sender and the receiver of a message or a call: `data.entities`."""

    sender: Maybe[EntityWrapper[Entity]] = UNSET
    receiver: Maybe[EntityWrapper[Entity]] = UNSET
