"""The lines of a file or of standard input, without holding up the event loop where they come slowly."""

import asyncio
import os
import stat
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from io import UnsupportedOperation
from typing import Final

_MOST_LINES: Final = 1000  # that are read ahead from a pipe
_BLOCK: Final = 1 << 16


async def input_lines(name: str) -> AsyncIterator[bytes]:
    """Yield the lines of a file, or of standard input for `-`; raise `OSError` if it cannot be read.

    A pipe or terminal is read in a thread, which ends with the process: a reader of a pipe cannot be
    interrupted otherwise.
    """
    if name == "-" and sys.stdin is None:
        raise OSError("standard input is closed")
    file = _standard_input() if name == "-" else os.open(name, os.O_RDONLY)
    if file is None:  # replaced by an object of Python
        for line in sys.stdin.buffer:
            yield line
    elif stat.S_ISREG(os.fstat(file).st_mode):
        with os.fdopen(file, "rb") as stream:
            for line in stream:
                yield line
    else:
        async for line in _lines_of_pipe(file):
            yield line


def _standard_input() -> int | None:
    """Return a descriptor of standard input of its own; None if it has none."""
    try:
        return os.dup(sys.stdin.fileno())
    except (UnsupportedOperation, AttributeError):
        return None


async def _lines_of_pipe(file: int) -> AsyncIterator[bytes]:
    queue: asyncio.Queue[bytes | OSError | None] = asyncio.Queue(_MOST_LINES)
    loop = asyncio.get_running_loop()

    def put(line: bytes | OSError | None) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()

    def read() -> None:
        try:
            for line in _split(file):
                put(line)
            put(None)
        except OSError as error:
            put(error)
        except RuntimeError:  # the loop is closed
            return

    # Not a thread of the loop's executor, which would be waited for at the end.
    threading.Thread(target=read, daemon=True).start()
    while (line := await queue.get()) is not None:
        if isinstance(line, OSError):
            raise line
        yield line


def _split(file: int) -> Iterator[bytes]:
    rest = b""
    while block := os.read(file, _BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    if rest:
        yield rest
