"""The library's log on standard error: each warning once, and more of it with `-v`, `-vv` or `CHATREST_LOG`.

| option | variable             | shows                                                                      |
|--------|----------------------|----------------------------------------------------------------------------|
|        |                      | warnings, such as an acting user that the service ignored                  |
| `-v`   | `CHATREST_LOG=info`  | also each attempt: method, path template, host, status, request id, limit  |
| `-vv`  | `CHATREST_LOG=debug` | also each call: its seconds, and how many of them it waited, and for what  |

A line has the level's name before its text, and keys are hidden in it, as in every line of `streams`.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from ..errors import RequestInvalidError
from ..secrets import shown
from ..telemetry import LOGGER
from . import streams

VARIABLE: Final = "CHATREST_LOG"
_LEVELS: Final = {"": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
_BY_COUNT: Final = (logging.WARNING, logging.INFO, logging.DEBUG)


def level_of(verbosity: int) -> int:
    """Return the level of the log for so many `-v`, or for `CHATREST_LOG` where it shows more.

    Raises `RequestInvalidError` for another value of the variable.
    """
    value = os.environ.get(VARIABLE, "")
    if value.lower() not in _LEVELS:
        raise RequestInvalidError(f"{VARIABLE} = {shown(value)}: expected info or debug")
    return min(_LEVELS[value.lower()], _BY_COUNT[min(verbosity, len(_BY_COUNT) - 1)])


@contextmanager
def shown_log(level: int) -> Iterator[None]:
    """Write the library's log from `level` on to standard error during the block."""
    handler, previous = _Lines(level), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level)
    try:
        yield
    finally:
        LOGGER.setLevel(previous)
        LOGGER.removeHandler(handler)


@final
class _Lines(logging.Handler):
    """Writes records as lines; a warning with the same text as an earlier one is left out."""

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
        streams.warn(f"{record.levelname.lower()}: {text}")
