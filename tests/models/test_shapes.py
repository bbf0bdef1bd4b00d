"""The members of a record that the service may leave out, and the shapes of positions."""

import json
from typing import Any

import msgspec
import pytest

from chatrest._models.calls import CallContent
from chatrest._models.entities import Entity, EntityWrapper
from chatrest._models.meta import Meta, Pagination, Position
from tests.cases import loop_over
from tests.models.test_documented_records import ON_A_CALL, PARTY, class_of, sample

REQUIRED = {
    "call_entity": "sessionid type status sender receiver receiverType",
    "message_data_call": "action entities", "message_data_action": "action", "member": "uid",
    "conversation": "conversationId", "auth_token": "uid authToken", "webhook": "id", "user": "uid",
    "group": "guid", "attachment": "url", "call": "sessionId",
}  # fmt: skip


@loop_over(("name", "members"), REQUIRED.items())
def test_a_record_needs_only_its_required_members(name: str, members: str) -> None:
    required, served, kind = members.split(), sample(name), class_of(name)
    msgspec.convert({each: served[each] for each in required}, kind)
    for missing in required:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({each: value for each, value in served.items() if each != missing}, kind)


@loop_over(
    ("kind", "served"),
    [
        (Pagination, {"total": 1, "count": 2, "per_page": 3, "current_page": 4, "total_pages": 5}),
        (Position, {"id": 5, "affix": "append"}),
        (Position, {"id": "5", "sentAt": 1, "updatedAt": 2, "affix": "prepend"}),
        (Position, {"id": None}),
        (Meta, {"cursor": {"id": 5, "affix": "append"}}),
    ],
)
def test_what_leads_on_has_its_json_names(kind: type[Any], served: dict[str, Any]) -> None:
    back = json.loads(msgspec.json.encode(msgspec.convert(served, kind)))
    assert {name: back.get(name, "not read") for name in served} == served


def test_a_call_message_has_all_fields_of_its_call() -> None:
    entities = {"by": PARTY, "on": ON_A_CALL, "for": PARTY}
    content = msgspec.convert({"action": "initiated", "entities": entities}, CallContent)
    assert content.entities.on.entity.session_id == content.entities.on.entity.sessionid == "x1"
    assert content.entities.for_.entity_type == "user"


def test_a_wrapper_needs_only_its_entity() -> None:
    assert msgspec.convert({"entity": {}}, EntityWrapper[Entity]) == EntityWrapper(Entity())
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"entityType": "user"}, EntityWrapper[Entity])
