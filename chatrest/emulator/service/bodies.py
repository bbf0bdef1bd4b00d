"""Request bodies, read and checked: what is wrong is refused with 400, field by field.

`read_body` takes JSON, and `read_form` the form of an operation whose `media` is multipart (RFC 7578).
"""

import re
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from typing import Annotated, Any, Final, NamedTuple, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, structs

from .refusals import bad_request

_HEADERS: Final = HeaderParser()


class UploadedFile(NamedTuple):
    """A file of a form."""

    name: str
    """The file's name, as sent."""
    content_type: str
    data: bytes


def read_parts(content_type: str, body: bytes) -> dict[str, list[str | UploadedFile]]:
    """Return the values of each name in a form, texts and files; 400 where it is no form."""
    header = Message()
    header["Content-Type"] = content_type
    boundary = header.get_param("boundary")
    if not isinstance(boundary, str) or not boundary:
        raise _no_form()
    parts: dict[str, list[str | UploadedFile]] = {}
    for part in _split(body, b"--" + boundary.encode(errors="replace")):
        name, value = _value(part)
        parts.setdefault(name, []).append(value)
    return parts


def _split(body: bytes, delimiter: bytes) -> Iterator[bytes]:
    """The parts between delimiters, each with its headers."""
    before, *parts = (b"\r\n" + body).split(b"\r\n" + delimiter)
    if before or not parts or not parts[-1].startswith(b"--"):
        raise _no_form()
    for part in parts[:-1]:
        yield part.removeprefix(b"\r\n")


def _value(part: bytes) -> tuple[str, str | UploadedFile]:
    head, separator, content = part.partition(b"\r\n\r\n")
    headers = _HEADERS.parsestr(head.decode(errors="replace"))
    name, file_name = (headers.get_param(key, header="content-disposition") for key in ("name", "filename"))
    if not separator or not isinstance(name, str):
        raise _no_form()
    if file_name is None:
        return name, content.decode(errors="replace")
    return name, UploadedFile(str(file_name), headers.get_content_type(), content)


def _no_form() -> Exception:
    return bad_request({"body": ["The body must be a form (multipart/form-data)."]})


_FIELD: Final = re.compile(r"`\$\.(\w+)")
_MISSING: Final = re.compile(r"required field `(\w+)`")
_CHECKED: Final = re.compile(r"(\w+) = ")

Name = Annotated[str, Meta(min_length=1, max_length=100)]
Tags = Annotated[list[Name], Meta(max_length=25)]


class Body(Struct, rename="camel"):
    """A request's JSON object; members not named are ignored."""


B = TypeVar("B", bound=Struct)


def read_body(body: bytes, kind: type[B]) -> B:
    """Return the body as `kind`; 400 where it is no JSON object, or a member's type or length is wrong."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise bad_request({_field(str(error), kind): [str(error).partition(" - at `")[0]]}) from None
    except (msgspec.DecodeError, RecursionError):
        raise bad_request({"body": ["The body must be a JSON object in UTF-8."]}) from None


def read_form(content_type: str, body: bytes, kind: type[B]) -> B:
    """Return a form as `kind`, whose files are `UploadedFile`; a JSON body is taken, too.

    A member whose type is a list gets every part of its name, any other the last one.
    """
    if not content_type.lower().startswith("multipart/form-data"):
        return read_body(body, kind)
    parts = read_parts(content_type, body)
    lists = {field.encode_name for field in structs.fields(kind) if _is_list(field.type)}
    members = {name: values if name in lists else values[-1] for name, values in parts.items()}
    try:
        return msgspec.convert(members, kind, strict=False, dec_hook=_refuse_text)
    except msgspec.ValidationError as error:
        raise bad_request({_field(str(error), kind): [str(error).partition(" - at `")[0]]}) from None


def _refuse_text(kind: type, value: object) -> object:
    if isinstance(value, UploadedFile):
        return value
    raise msgspec.ValidationError("Expected a file")


def _is_list(rule: object) -> bool:
    return get_origin(rule) is list or any(_is_list(part) for part in get_args(rule))


def read_document(body: bytes, kind: type[Struct]) -> dict[str, Any]:
    """Return the body as sent, members that `kind` does not name included; 400 where `kind` refuses it."""
    read_body(body or b"{}", kind)
    document: dict[str, Any] = msgspec.json.decode(body or b"{}")
    return document


def _field(error: str, kind: type[Struct]) -> str:
    """The member that an error is about: "… - at `$.tags[0]`", "… required field `uid`", or "uid = …"."""
    if match := _FIELD.search(error) or _MISSING.search(error):
        return match[1]
    wire_names = {field.name: field.encode_name for field in structs.fields(kind)}
    checked = _CHECKED.match(error)
    return wire_names.get(checked[1], "body") if checked else "body"
