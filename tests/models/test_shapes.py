"""The members of a record that the service may leave out, and the shapes of positions."""

import msgspec
import pytest

from chatrest._models.entities import Entity, EntityWrapper
from tests.cases import loop_over
from tests.models.test_documented_records import class_of, sample

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


def test_a_wrapper_needs_only_its_entity() -> None:
    assert msgspec.convert({"entity": {}}, EntityWrapper[Entity]) == EntityWrapper(Entity())
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"entityType": "user"}, EntityWrapper[Entity])
