"""Files to upload: the parts of a form that are neither text nor number."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, TypeAlias, final

from msgspec import Meta

from .._secrets import description
from ..errors import RequestInvalidError

_ALLOWED: Final = "expected the path of a file, an object that is open for reading bytes, or bytes"
_UNKNOWN_TYPE: Final = "application/octet-stream"


@final
class File:
    """A file to upload: `File("terms.csv")`, `File(b"a,b", name="terms.csv")`, or an open binary file.

    `name` is the file's name for the service, by default that of the path or of the open file;
    `content_type` is guessed from it where it is not given. The file is read to its end at once and kept in
    memory, as the files of these operations are small: so each attempt of a call sends the same bytes. In an
    event loop, `await asyncio.to_thread(File, path)` reads from a slow disk. An open file is read from its
    present position, and is left open.

    Raises `RequestInvalidError` if an argument is wrong or the file cannot be read.
    """

    __slots__ = ("content", "content_type", "name")

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes | BinaryIO,
        *,
        name: str | None = None,
        content_type: str | None = None,
    ) -> None:
        self.content: Final = _content_of(source)
        self.name: Final = _header_text("name", _name_of(source) if name is None else name)
        if content_type is None:
            from mimetypes import guess_type  # only an upload needs it

            content_type = guess_type(self.name)[0] or _UNKNOWN_TYPE
        self.content_type: Final = _header_text("content_type", content_type)

    def __repr__(self) -> str:
        return f"<File {self.name!r}, {self.content_type}>"


if TYPE_CHECKING:
    Upload: TypeAlias = File | os.PathLike[str] | BinaryIO | bytes
else:
    Upload: TypeAlias = Annotated[
        File, Meta(description="a chatrest.File, the Path of a file, an open binary file, or bytes")
    ]
"""The type of a field that is a file."""


def file_of(value: Any) -> Any:
    """Return the `File` of a path object, of an open file or of bytes; any other value as it is."""
    is_source = isinstance(value, os.PathLike | bytes | bytearray | memoryview) or hasattr(value, "read")
    return File(value) if is_source else value


def _content_of(source: Any) -> bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if isinstance(path, str) and path and "\0" not in path:
            try:
                if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
                    raise OSError  # a pipe would never end
                with open(path, "rb") as file:  # noqa: PTH123, to import pathlib takes 3 ms
                    return file.read()
            except OSError as error:
                reason = os.strerror(error.errno) if error.errno else "it is not a regular file"
                raise RequestInvalidError(f"file {path!r} cannot be read: {reason}") from error
    else:
        with suppress(AttributeError, TypeError, ValueError, OSError):  # no file, or a closed one
            content = source.read()
            if isinstance(content, bytes):
                return content
    raise RequestInvalidError(f"source = {description(source)}: {_ALLOWED}")


def _name_of(source: Any) -> str:
    """Return the last part of the path of a file; "file" where there is none."""
    path = source if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
    if not isinstance(path, str | os.PathLike):  # an open file may have a number in its place
        return "file"
    return os.path.basename(os.fspath(path)) or "file"  # noqa: PTH119, to import pathlib takes 3 ms


def _header_text(name: str, text: Any) -> str:
    if not isinstance(text, str) or not text or not text.isprintable():
        raise RequestInvalidError(
            f"{name} = {description(text)}: expected a non-empty text without control characters"
        )
    return text
