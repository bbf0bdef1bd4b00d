"""Forms: the parts of a `multipart/form-data` body (RFC 7578)."""

from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from typing import Final, NamedTuple

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
