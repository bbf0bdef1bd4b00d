"""Standard output and standard error: UTF-8 in any locale, whole lines, and no error at exit.

The progress of a command is one line on standard error.

| standard error is | the line                                                                  |
|-------------------|---------------------------------------------------------------------------|
| a terminal        | is updated in place, and removed at the end                               |
| a log             | is written once a minute, and when a phase of an export begins            |
| to be quiet       | is written only while something is wrong, and has been for a minute       |

The library's log is written to standard error, too, each warning once: more with `-v` and `-vv`, or
`CHATREST_LOG`. Keys are hidden in all lines.
"""

import asyncio
import logging
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from io import UnsupportedOperation
from typing import Any, BinaryIO, Final, Self

import msgspec

from .._secrets import repr_of
from .._telemetry import LOGGER, REQUESTS
from .._texts import about
from ..errors import RequestInvalidError

HIDDEN: Final = "[hidden]"
_SECRETS: Final = ("CHATREST_API_KEY", "CHATREST_MANAGEMENT_KEY", "CHATREST_MANAGEMENT_SECRET")
_HIDDEN_KEYS: Final[set[str]] = set()
_MIN_SECRET = 6  # hiding a "key" of a few letters would make other texts unreadable
LOG_VARIABLE: Final = "CHATREST_LOG"
_OVERRIDES: Final = "\u202a-\u202e\u2066-\u2069"
"""Bidirectional embeddings, overrides and isolates."""
_UNSAFE: Final = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{_OVERRIDES}]")
_STEERING: Final = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_OVERRIDES}]")
"""What JSON may have as it is, and a terminal must not get."""
_LINE_BREAK: Final = re.compile(r"\r\n|[\n\r\u2028\u2029]")
LOG_INTERVAL: Final = 60.0  # seconds
_UPDATE_INTERVAL: Final = 0.25
_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)
_LEVEL_NAMES: Final = ("", "info", "debug")


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
    """Write `data` to standard output and flush it, so that a reader has it before the next request.

    A terminal gets control characters and bidirectional overrides as escapes of JSON.
    """
    stream = output()
    if is_terminal("stdout"):
        text = data.decode(errors="backslashreplace")
        data = _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode(errors="backslashreplace")
    remaining = memoryview(data)
    try:
        while remaining:  # an unbuffered stream (PYTHONUNBUFFERED) writes a part when a signal interrupts it
            remaining = remaining[stream.write(remaining) :]
        stream.flush()
    except OSError as error:
        error.filename = "standard output"  # a command writes files, too: its error says which is full
        raise


def write_reply(line: bytes, completed: str) -> None:
    """Write the reply of a call as a line; a failure has the note that the call succeeded."""
    try:
        write(line + b"\n")
    except OSError as error:
        error.add_note(f"{completed}, but its reply could not be printed")
        raise


def write_lines(lines: Iterable[str]) -> None:
    write("".join(f"{line}\n" for line in lines).encode(errors="backslashreplace"))


def fact_lines(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield facts as lines, a name and a text each; a fact without a text is left out."""
    rows = [(name, text) for name, text in facts if text]
    width = max([10, *(len(name) + 1 for name, _ in rows)])
    return (f"{name:<{width}}{visible(text)}" for name, text in rows)


def write_json(members: Mapping[str, Any]) -> None:
    write(msgspec.json.encode(members) + b"\n")


def write_result(
    members: Mapping[str, Any], lines: Iterable[str], *, as_json: bool, quiet: bool = False
) -> None:
    """Write the result of a command as one JSON object, or as lines unless it is quiet.

    A closed pipe is ignored: the exit status must be right.
    """
    try:
        if as_json:
            write_json(members)
        elif not quiet:
            write_lines(lines)
    except BrokenPipeError:
        detach_stdout()


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


def is_terminal(name: str) -> bool:
    stream = getattr(sys, name)
    return stream is not None and stream.isatty()


def warn(text: str) -> None:
    """Write one line to standard error, without control characters and without keys of the environment."""
    if sys.stderr is not None:
        sys.stderr.write(f"chatrest: {one_line(without_keys(text))}\n")
        sys.stderr.flush()


def hide(secret: str) -> None:
    """Hide a key that does not come from the environment in all further lines of this process."""
    _HIDDEN_KEYS.add(secret)


def without_keys(text: str) -> str:
    for secret in (*(os.environ.get(name, "") for name in _SECRETS), *_HIDDEN_KEYS):
        if len(secret) >= _MIN_SECRET:
            text = text.replace(secret, HIDDEN)
    return text


def one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def visible(text: str) -> str:
    """Return `text` as one line that cannot steer a terminal or reorder what is beside it.

    Line breaks become a sign, tabs spaces, and what is unsafe its escape. Joiners stay, as emojis and several
    scripts need them.
    """
    plain = _LINE_BREAK.sub("⏎", text).replace("\t", " ")
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), plain)


def level_of(verbosity: int) -> int:
    """Return the level of the log for so many `-v`, or for `CHATREST_LOG` where it shows more."""
    value = os.environ.get(LOG_VARIABLE, "")
    if value.lower() not in _LEVEL_NAMES:
        raise RequestInvalidError(f"{LOG_VARIABLE} = {repr_of(value)}: expected info or debug")
    return _LEVELS[min(2, max(verbosity, _LEVEL_NAMES.index(value.lower())))]


@contextmanager
def shown_log(level: int) -> Iterator[None]:
    handler, previous = _LogHandler(level), (LOGGER.level, REQUESTS.level)
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level)
    REQUESTS.setLevel(level)
    try:
        yield
    finally:
        LOGGER.setLevel(previous[0])
        REQUESTS.setLevel(previous[1])
        LOGGER.removeHandler(handler)


class _LogHandler(logging.Handler):
    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._warnings: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; the exception that it carries is a part of the line, without its traceback."""
        text = record.getMessage()
        if record.exc_info is not None and (error := record.exc_info[1]) is not None:
            text = f"{text}: {type(error).__name__}: {error}"
        if record.levelno >= logging.WARNING:
            if text in self._warnings:
                return
            self._warnings.add(text)
        warn(f"{record.levelname.lower()}: {text}")


# ── progress ──


class ProgressLine:
    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._is_live = is_terminal("stderr") and os.environ.get("TERM", "dumb") != "dumb"
        self._clock = clock
        self._written_at = clock()
        self._phase = ""
        self._share_began: dict[str, float] = {}
        self._status: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, text: str, phase: str = "", *, is_wrong: bool = False) -> None:
        """Show a text; `phase` is that of an export, and `is_wrong` marks what quiet users hear of, too."""
        now = self._clock()
        if self._quiet and not is_wrong:
            self._written_at = now
        elif self._is_live and not self._quiet:
            self._update(text, now)
        elif (not self._quiet and phase != self._phase) or now - self._written_at >= LOG_INTERVAL:
            self._phase, self._written_at = phase, now
            warn(text)

    def share(self, title: str, done: int, total: int | None) -> None:
        began = self._share_began.setdefault(title, self._clock())
        if not total or not done:
            self.show(f"{title}: {done:,}" if done else title)
            return
        seconds_left = (self._clock() - began) * (total - done) / done
        self.show(f"{title}: {done / total:.0%}, {about(seconds_left)} left")

    def _update(self, text: str, now: float) -> None:
        from rich.text import Text  # slow to import

        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        elif now - self._written_at < _UPDATE_INTERVAL:
            return
        self._written_at = now
        self._status.update(Text(one_line(text)))


@asynccontextmanager
async def regularly(update: Callable[[], None]) -> AsyncIterator[None]:
    """Call `update` four times a second during the block; a terminal that fails does not stop the block."""

    async def update_regularly() -> None:
        with suppress(OSError):
            while True:
                update()
                await asyncio.sleep(_UPDATE_INTERVAL)

    updates = asyncio.create_task(update_regularly())
    try:
        yield
    finally:
        updates.cancel()
        with suppress(asyncio.CancelledError):
            await updates
