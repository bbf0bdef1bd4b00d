"""Files to upload: the parts of a form that are neither text nor number."""

import os
from contextlib import suppress
from io import SEEK_END
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
    `content_type` is guessed from it where it is not given. The file of a path is opened when the call is
    sent, read in pieces so that it is never whole in memory, and closed again. An open file is read from its
    present position, and is left open; it must not be used meanwhile. One that cannot be rewound is sent at
    most once. `Timeouts.total` is also the time for the upload.

    Raises `RequestInvalidError` if an argument is wrong.
    """

    __slots__ = ("_is_spent", "_start", "content_type", "name", "source")

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes | BinaryIO,
        *,
        name: str | None = None,
        content_type: str | None = None,
    ) -> None:
        self.source: Final = _checked_source(source)
        """The path as a text, the bytes, or the open file."""
        self.name: Final = _header_text("name", _name_of(source) if name is None else name)
        given = _guessed_type(self.name) if content_type is None else content_type
        self.content_type: Final = _header_text("content_type", given)
        self._start = self.source.tell() if self._is_seekable() else None
        self._is_spent = False

    def __repr__(self) -> str:
        return f"<File {self.name!r}, {self.content_type}>"

    @property
    def is_spent(self) -> bool:
        """True if it has been read and cannot be rewound, so that it cannot be sent again."""
        return self._is_spent

    def rewind(self) -> int | None:
        """Go to the beginning of an open file, and return the count of bytes from there; None if unknown.

        Raises `RequestInvalidError` for one that has been read and cannot be rewound.
        """
        if self._is_spent:
            raise RequestInvalidError(
                f"file {self.name!r}: it has been read, and cannot be rewound to be sent again"
            )
        if self._start is None:
            return None
        size: int = self.source.seek(0, SEEK_END) - self._start
        self.source.seek(self._start)
        return max(0, size)

    def mark_read(self) -> None:
        """Remember that reading has begun: what cannot be rewound is spent now."""
        self._is_spent = self._start is None and not isinstance(self.source, str | bytes)

    def _is_seekable(self) -> bool:
        return not isinstance(self.source, str | bytes) and bool(self.source.seekable())


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


def _checked_source(source: Any) -> Any:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if isinstance(path, str) and path and "\0" not in path:
            return path
    else:
        with suppress(AttributeError, TypeError, ValueError, OSError):  # no file, or a closed one
            if source.read(0) == b"" and isinstance(source.seekable(), bool):
                return source
    raise RequestInvalidError(f"source = {description(source)}: {_ALLOWED}")


def _name_of(source: Any) -> str:
    """Return the last part of the path of a file; "file" where there is none."""
    path = source if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
    if not isinstance(path, str | os.PathLike):  # an open file may have a number in its place
        return "file"
    return os.path.basename(os.fspath(path)) or "file"  # noqa: PTH119, to import pathlib takes 3 ms


def _guessed_type(name: str) -> str:
    from mimetypes import guess_type  # only an upload needs it

    return guess_type(name)[0] or _UNKNOWN_TYPE


def _header_text(name: str, text: Any) -> str:
    if not isinstance(text, str) or not text or not text.isprintable():
        raise RequestInvalidError(
            f"{name} = {description(text)}: expected a non-empty text without control characters"
        )
    return text
