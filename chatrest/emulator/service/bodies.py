"""Request bodies, read and checked: what is wrong is refused with 400, field by field."""

import re
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from .refusals import bad_request

_FIELD: Final = re.compile(r"`\$\.(\w+)")
_MISSING: Final = re.compile(r"required field `(\w+)`")

Name = Annotated[str, Meta(min_length=1, max_length=100)]
Tags = Annotated[list[Name], Meta(max_length=25)]


class Body(Struct, rename="camel"):
    """A request's JSON object; members not named are ignored."""


B = TypeVar("B", bound=Body)


def read_body(body: bytes, kind: type[B]) -> B:
    """Return the body as `kind`; 400 where it is no JSON object, or a member's type or length is wrong."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise bad_request({_field(str(error)): [str(error).partition(" - at `")[0]]}) from None
    except (msgspec.DecodeError, RecursionError):
        raise bad_request({"body": ["The body must be a JSON object in UTF-8."]}) from None


def _field(error: str) -> str:
    """The member that a validation error is about: "… - at `$.tags[0]`", or "… required field `uid`"."""
    match = _FIELD.search(error) or _MISSING.search(error)
    return match[1] if match else "body"
