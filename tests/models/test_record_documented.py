"""Every member of a record that the service's table documents is an attribute of its documented type."""

import re
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

import msgspec
import pytest

from chatrest import _models as models, parse
from chatrest._models.record import Record
from chatrest._models.users import Entity, EntityWrapper
from chatrest._secrets import is_credential
from tests.resources.operation_table import RECORDS
from tests.support.cases import loop_over

HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
OTHER_NAMES: Final = {
    "message": "TextMessage", "message_data_text": "Content", "message_data_media": "Content",
    "message_data_custom": "CustomContent", "message_data_interactive": "InteractiveContent",
    "message_data_action": "ActionContent", "message_data_call": "CallContent", "call": "CallRecord",
    "twilio_config": "TwilioProvider", "sendgrid_config": "SendgridProvider",
    "flagged_message": "TextMessage", "app": "AppInfo", "user_entity": "Entity",
}  # fmt: skip
"""Records whose class has another name."""
VALUES: Final[dict[str, Any]] = {
    "string": "x1", "integer": 5, "float": 1.5, "boolean": True, "object": {}, "array": [], "any": "x1",
}  # fmt: skip
SECRET: Final = "s3cret-5f"
PARTY: Final = {"entity": {}, "entityType": "user"}
CALL: Final = dict.fromkeys(("sessionid", "type", "status", "sender", "receiver", "receiverType"), "x1")
ON_A_CALL: Final = {"entity": CALL, "entityType": "call"}
GIVEN: Final[dict[str, dict[str, Any]]] = {
    "message": {"category": "message", "type": "text"},
    "flagged_message": {"category": "message", "type": "text"},
    "message_data_interactive": {"interactionGoal": {"type": "none"}},
    "message_data_call": {"entities": {"by": PARTY, "on": ON_A_CALL, "for": PARTY}},
    "call": {"recordings": [{"rid": "x1"}]},
    "api_tool": {"headers": SECRET},
    "variable": {"constantValue": SECRET},
    "external_agent": {"integrationMeta": {"headers": SECRET}},
}
"""Members whose values decide on others, and those that may hold a credential without its name."""
COUNT: Final = ("conversation", "unreadMessageCount")
"""A text of digits, which is shown as a number."""


def test_each_documented_member_is_an_attribute_and_a_credential_is_not_shown() -> None:
    wrong = []
    for name in RECORDS:
        served = sample(name)
        record = parse(class_of(name), served)
        if record.to_dict() != served:
            wrong.append(f"{name} is {record.to_dict()}")
        if SECRET in repr(record):
            wrong.append(f"{name} shows {record!r}")
        for member, value in served.items():
            shown = plain(getattr(record, HUMP.sub("_", member).lower(), "no attribute"))
            if (name, member) != COUNT and (shown != value or type(shown) is not type(value)):
                wrong.append(f"{name}: {member} = {value!r} is {shown!r}")
    assert wrong == []


def class_of(name: str) -> type[Record]:
    for module in iter_modules(models.__path__):
        import_module(f"{models.__name__}.{module.name}")
    return classes()[OTHER_NAMES.get(name) or "".join(map(str.capitalize, name.split("_")))]


def classes(base: type[Record] = Record) -> dict[str, type[Record]]:
    subclasses: dict[str, type[Record]] = {}
    for each in base.__subclasses__():
        subclasses |= classes(each)
        if each.__module__.startswith(models.__name__):
            subclasses[each.__name__] = each
    return subclasses


def sample(name: str, *, is_inner: bool = False) -> dict[str, Any]:
    """Return a record with all of its members; one in another has no records."""
    members = RECORDS[name].items()
    return {
        member: SECRET if is_credential(member) and kind == "string" else value_of(kind)
        for member, kind in members
        if not is_inner or (kind[0] if isinstance(kind, list) else kind) not in RECORDS
    } | GIVEN.get(name, {})


def value_of(kind: Any) -> Any:
    if isinstance(kind, list):
        return [value_of(kind[0])]
    return sample(kind, is_inner=True) if kind in RECORDS else VALUES[kind]


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value.to_dict() if isinstance(value, Record) else value


REQUIRED = {
    "message_data_call": "entities", "member": "uid", "conversation": "conversationId",
    "auth_token": "uid authToken", "webhook": "id", "user": "uid", "group": "guid", "call": "sessionId",
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
