"""The files of a form, opened and read for one attempt.

Reading is done in threads, so that a slow disk does not hold up the event loop. The size of a path's file is
announced before its first byte is sent; a file that changes meanwhile breaks the attempt off before its end,
so that no service takes a part for the whole.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, Self, final

from .._core.requests.form import Form
from .._parameters.files import File
from ..errors import RequestInvalidError

CHUNK: Final = 1 << 18
"""Bytes that are read at once."""


class ChangedFileError(OSError):
    """A file that has changed since it was opened."""


@final
class Upload:
    """The files of one form, open: `async with Upload(form) as upload`."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self.parts: list[tuple[str, str | OpenFile]] = []
        """The form's parts by name, in their order."""
        self.fault = ""
        """Why the attempt was broken off; empty if it was not."""

    async def __aenter__(self) -> Self:
        """Open all files; `RequestInvalidError` for one that cannot be read, and then none is left open."""
        await asyncio.to_thread(self._open)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._close()

    def _open(self) -> None:
        try:
            for name, value in self._form.parts:
                self.parts.append((name, value if isinstance(value, str) else OpenFile(name, value, self)))
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        for _, part in self.parts:
            if isinstance(part, OpenFile):
                part.close()


@final
class OpenFile:
    """A file of an upload: its bytes in pieces, and the count of them where it is known."""

    def __init__(self, field: str, file: File, upload: Upload) -> None:
        self.file = file
        self.size: int | None = None
        self._field, self._upload = field, upload
        self._opened: Any = None
        self._version: tuple[int, int] | None = None
        try:
            self._start()
        except (OSError, ValueError) as error:
            if isinstance(error, RequestInvalidError):
                raise
            reason = (
                os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "it is closed"
            )
            raise RequestInvalidError(f"{field}: {file!r} cannot be read: {reason}") from None

    def _start(self) -> None:
        source = self.file.source
        if isinstance(source, bytes):
            self.size = len(source)
        elif isinstance(source, str):
            if (
                not Path(source).is_file() and Path(source).exists()
            ):  # to open a pipe would wait for its writer
                raise RequestInvalidError(f"{self._field}: {self.file!r} is not a regular file")
            self._opened = Path(source).open("rb", buffering=0)  # noqa: SIM115, closed by `close`
            self._version = _version_of(self._opened)
            self.size = self._version[0]
        else:
            self.size = self.file.rewind()

    def close(self) -> None:
        """Close what was opened here; an open file of the caller's stays open."""
        if self._opened is not None:
            self._opened.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes in pieces, as many as were announced; `ChangedFileError` where they are not there."""
        source, sent = self.file.source, 0
        self.file.mark_read()
        if isinstance(source, bytes):
            for index in range(0, len(source), CHUNK):
                yield source[index : index + CHUNK]
            return
        reader = source if self._opened is None else self._opened
        while self.size is None or sent < self.size:
            count = CHUNK if self.size is None else min(CHUNK, self.size - sent)
            chunk = await asyncio.to_thread(reader.read, count)
            sent += len(chunk)
            self._check(chunk, sent)
            if not chunk:
                return
            yield chunk

    def _check(self, chunk: bytes, sent: int) -> None:
        """Refuse an end before the announced one, and at the end a file that was written to."""
        has_changed = not chunk and self.size is not None
        if sent == self.size and self._version is not None:
            has_changed = self._version != _version_of(self._opened)
        if has_changed:
            self._upload.fault = f"{self._field}: {self.file!r} has changed while it was sent"
            raise ChangedFileError(self._upload.fault)


def _version_of(opened: Any) -> tuple[int, int]:
    status = os.fstat(opened.fileno())
    return status.st_size, status.st_mtime_ns
