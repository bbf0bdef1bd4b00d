"""Standard output and error: UTF-8 whatever the locale says, whole lines, and no surprise at the end."""

import os
import sys
from io import UnsupportedOperation
from typing import BinaryIO, Final

HIDDEN: Final = "[hidden]"
_SECRETS: Final = ("CHATREST_API_KEY", "CHATREST_MANAGEMENT_KEY", "CHATREST_MANAGEMENT_SECRET")
_SHORTEST = 6  # a "key" of a few letters would blot out a text that has nothing to do with it


def speak_utf8() -> None:
    """Both streams in UTF-8; what UTF-8 cannot say (a lone surrogate) is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        # A stream is None where the process was started without it.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def output() -> BinaryIO:
    """Standard output for bytes; OSError where the process was started without one."""
    stream: BinaryIO | None = getattr(sys.stdout, "buffer", None)
    if stream is None:
        raise OSError("standard output is closed")
    return stream


def write(data: bytes) -> None:
    """Writes `data` to standard output, at once: a reader has it before the next request is made."""
    stream = output()
    left = memoryview(data)
    while left:  # a signal that comes while the reader is slow ends a write in the midst, without an error
        left = left[stream.write(left) :]
    stream.flush()


def let_go() -> None:
    """Points standard output at nothing: what is left in its buffer has no reader any more.

    Without it the interpreter would try once more as it ends, and complain. It also lets a reader that
    waits for the end of the output (`$(…)`) go on while this process lives.
    """
    try:
        number = sys.stdout.fileno()
    except (AttributeError, UnsupportedOperation, ValueError):
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, number)
    os.close(nothing)


def is_terminal(name: str) -> bool:
    """Whether `stdout` or `stderr` is a terminal."""
    stream = getattr(sys, name)
    return stream is not None and stream.isatty()


def complain(text: str) -> None:
    """One line on standard error: without control characters, and without any key of the environment."""
    for name in _SECRETS:
        secret = os.environ.get(name, "")
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    if sys.stderr is not None:
        sys.stderr.write(f"chatrest: {one_line(text)}\n")
        sys.stderr.flush()


def one_line(text: str) -> str:
    """`text` as one line that does nothing to a terminal: some of it may be a server's own words."""
    return "".join(c if c.isprintable() else _shown(c) for c in " ".join(text.split()))


def _shown(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
