"""`call NAME --each FILE`: a fan-out over the lines of a file, with its journal.

An outcome is `{"line":3,"ok":true,"value":…}` or `{"line":3,"ok":false,"code":…,"error":…}`, with the code of
the service or the class of an error that has none. A reply that reports a failure inside a success has its
`value`, too, and a message that may have been sent its `muid`. The value of a list is an array of records.
"""

import asyncio
import os
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from ..._core.requests.endpoint import Endpoint
from ...errors import ChatRestError, OutcomeUnknownError
from .. import streams
from ..process import run
from ..replies import client_of

if TYPE_CHECKING:
    from ..._fan_out.worker_tasks import Outcome

Reply: TypeAlias = Callable[[Any, str], Awaitable[bytes]]


class ReportedError(ChatRestError):
    """A reply with a success, as JSON, that reports a failure: the error is the cause."""


def call_each(endpoint: Endpoint[Any], file: str, job: str, reply: Reply, **given: Any) -> None:
    """Print the outcome of `reply` for each line of a file; raise `ChatRestError` if one failed.

    `job` and `given` are those of `fan_out`; a journal is of one service.
    """

    async def work() -> Any:
        async with client_of(endpoint) as client:
            fan_out = client.fan_out(
                _lines(file),
                lambda line: reply(client, line[1]),
                ordered=True,
                key=lambda line: line[1:],
                job=f"{job} of {client.app.chat_url if hasattr(client, 'app') else 'management'}",
                **given,
            )
            async with fan_out as outcomes:
                async for outcome in outcomes:
                    streams.write(_outcome_line(outcome))
        return outcomes.counts

    try:
        counts = run(work())
    except (KeyboardInterrupt, asyncio.CancelledError) as error:
        if given["journal"] is not None:
            error.add_note("run the same command again to go on")
        raise
    if failed := counts.failed + counts.skipped_failed:
        before = f" ({counts.skipped_failed} of them in earlier runs)" if counts.skipped_failed else ""
        lines = f"{failed} of {counts.finished + counts.skipped} lines"
        raise ChatRestError(f"{endpoint.name}: {lines} failed{before}")


def _outcome_line(outcome: "Outcome[Any, bytes]") -> bytes:
    error, line = outcome.error, outcome.item[0]
    if error is None:
        return b'{"line":%d,"ok":true,"value":%b}\n' % (line, outcome.value or b"null")
    muid = error.muid if isinstance(error, OutcomeUnknownError) else None
    more: dict[str, Any] = {} if muid is None else {"muid": muid}
    if isinstance(error, ReportedError):
        more, error = {"value": msgspec.Raw(error.args[0])}, error.__cause__
    if not isinstance(error, ChatRestError | OSError):
        raise error or AssertionError
    code = getattr(error, "code", None) or type(error).__name__
    text = streams.without_keys(streams.one_line(str(error))).encode("utf-8", "backslashreplace").decode()
    return msgspec.json.encode({"line": line, "ok": False, "code": code, "error": text} | more) + b"\n"


async def _lines(name: str) -> AsyncIterator[tuple[int, str, int]]:
    """Yield the number and text of each line, and how often the text came: equal lines are two items."""
    texts: Counter[str] = Counter()
    number = 0
    async for data in input_lines(name):
        number += 1
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "backslashreplace").strip()
        texts[text] += 1
        if text:
            yield number, text, texts[text]


async def input_lines(name: str) -> AsyncIterator[bytes]:
    """Yield the lines of a file, or of standard input for `-`, as they come; raise `OSError`."""
    if name == "-" and sys.stdin is None:
        raise OSError("standard input is closed")
    source = os.dup(sys.stdin.fileno()) if name == "-" else os.open(name, os.O_RDONLY)
    lines: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    loop, room = asyncio.get_running_loop(), threading.Semaphore(1_000)

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed
            try:
                with os.fdopen(source, "rb") as file:
                    for line in chain(file, (b"",)):
                        room.acquire()
                        loop.call_soon_threadsafe(lines.put_nowait, line)
            except OSError as error:
                loop.call_soon_threadsafe(lines.put_nowait, error)

    # It ends with the process: the reader of a pipe cannot be interrupted, and the loop's executor is joined.
    threading.Thread(target=read, daemon=True).start()
    while line := await lines.get():
        if isinstance(line, OSError):
            raise line
        room.release()
        yield line
