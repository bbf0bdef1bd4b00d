"""The schemas of records for pydantic and FastAPI, as plain dicts.

So a record is a field of a pydantic model and a response of FastAPI, and chatrest does not import pydantic.
A separate file, as it is loaded only when pydantic asks.
"""

from typing import Any, Final

from msgspec import structs

from .lenient import CoercionError

_NOT_SERVED: Final = ("raw", "reason")
"""Fields of an `UnknownMessage` that are no members of it."""


def core_schema(kind: Any) -> dict[str, Any]:
    """Return the schema by which pydantic reads and writes records: leniently, and `to_dict`."""

    def read(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        try:
            return kind._of_json(value)
        except CoercionError as error:
            fault = ValueError(str(error).removeprefix(": "))  # pydantic makes it one of its own
        raise fault

    def write(record: Any) -> Any:
        return record.to_dict()

    return {
        "type": "function-plain",
        "function": {"type": "no-info", "function": read},
        "serialization": {"type": "function-plain", "function": write},
    }


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a record: the names of its members, and which of them are always there."""
    fields = [field for field in structs.fields(kind) if field.name not in _NOT_SERVED]
    names = [kind.__struct_config__.tag_field, *(field.encode_name for field in fields)]
    return {
        "type": "object",
        "title": kind.__name__,
        "properties": {name: {} for name in names if name is not None},
        "required": [field.encode_name for field in fields if field.required],
        "additionalProperties": True,
    }
