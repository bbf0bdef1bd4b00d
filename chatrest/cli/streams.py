"""Standard output and standard error: UTF-8 in any locale, whole lines, and no error at exit."""

import os
import stat
import sys
from io import UnsupportedOperation
from typing import BinaryIO, Final

HIDDEN: Final = "[hidden]"
_SECRETS: Final = ("CHATREST_API_KEY", "CHATREST_MANAGEMENT_KEY", "CHATREST_MANAGEMENT_SECRET")
_SHORTEST_SECRET = 6  # hiding a "key" of a few letters would make other texts unreadable


def use_utf8() -> None:
    """Set both streams to UTF-8; what UTF-8 cannot encode (a lone surrogate) becomes an escape."""
    for stream in (sys.stdout, sys.stderr):
        # A stream is None if the process was started without it.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def output() -> BinaryIO:
    """Return standard output for bytes; raise `OSError` if the process was started without one."""
    stream: BinaryIO | None = getattr(sys.stdout, "buffer", None)
    if stream is None:
        raise OSError("standard output is closed")
    return stream


def write(data: bytes) -> None:
    """Write `data` to standard output and flush it, so that a reader has it before the next request."""
    stream = output()
    remaining = memoryview(data)
    while remaining:  # a signal during a slow write can end it early without an error
        remaining = remaining[stream.write(remaining) :]
    stream.flush()


def write_reply(line: bytes, completed: str) -> None:
    """Write the reply of a call as a line; a failure has the note that the call succeeded."""
    try:
        write(line + b"\n")
    except OSError as error:
        error.add_note(f"{completed}, but its reply could not be printed")
        raise


def detach_stdout() -> None:
    """Redirect standard output to the null device, as its reader is gone or needs no more.

    Otherwise the interpreter would flush the buffer at exit and print an error. A reader that waits for the
    end of the output (`$(…)`) can also continue while this process runs.
    """
    try:
        number = sys.stdout.fileno()
    except (AttributeError, UnsupportedOperation, ValueError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


def pipe_number() -> int | None:
    """Return the file descriptor of standard output if it is a pipe; None for anything else."""
    try:
        number = sys.stdout.fileno()
        return number if stat.S_ISFIFO(os.fstat(number).st_mode) else None
    except (AttributeError, OSError, ValueError):  # no stream, one of a test, a closed one
        return None


def is_terminal(name: str) -> bool:
    """Return True if the stream `name`, `stdout` or `stderr`, is a terminal."""
    stream = getattr(sys, name)
    return stream is not None and stream.isatty()


def warn(text: str) -> None:
    """Write one line to standard error, without control characters and without keys of the environment."""
    if sys.stderr is not None:
        sys.stderr.write(f"chatrest: {one_line(without_keys(text))}\n")
        sys.stderr.flush()


def without_keys(text: str) -> str:
    """Return `text` with the keys of the environment hidden."""
    for name in _SECRETS:
        secret = os.environ.get(name, "")
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    return text


def one_line(text: str) -> str:
    """Return `text` as one line without control characters, as a part of it may come from a server."""
    return "".join(c if c.isprintable() else _escaped(c) for c in " ".join(text.split()))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
