"""`call NAME --each FILE` and `--apps FILE`: an operation for each line of a file, or for each app of one.

An outcome is `{"line":3,"ok":true,"value":…}`, or `{"line":3,"ok":false,"code":…,"error":…}`; with `--apps`
it has `"app":"shop"` in the place of the line's number. `code` is the
service's error code, or the class of an error that has none. A reply that reports a failure inside a success
has its `value` as well, and a message that may have been sent its `muid`. The value of a list is an array of
its records.
"""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from functools import cache
from hashlib import blake2b
from io import UnsupportedOperation
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import click
import msgspec
from msgspec import Struct

from ..core.replies.decode import Many
from ..core.replies.rows import AsRows
from ..core.requests.endpoint import Call, Endpoint
from ..errors import ChatRestError, OutcomeUnknownError
from . import streams
from .call_arguments import ReadFile, call_of, texts_of
from .call_parameters import Parameters
from .environment import all_apps, session
from .options import option_table
from .process import run
from .replies import check_success, client_of, line_of, send

if TYPE_CHECKING:
    from ..export.app_file import AppExport
    from ..fan_out.stream import FanOutCounts
    from ..fan_out.worker_tasks import Outcome
    from ..management import AsyncManagement
    from ..session import AsyncSession

Client: TypeAlias = "AsyncSession | AsyncManagement"
C = TypeVar("C", bound=click.Command)

DEFAULT_JOBS: Final = 10
each_options: Final = option_table(
    ("--each", None, "FILE",
     ("Call the operation for each line of FILE (- for standard input): a JSON object of parameters, "
      "or the value of the path's one parameter. Prints the outcomes as JSON lines, in the same order.")),
    ("--jobs", click.IntRange(min=1), "N",
     f"With --each: make N calls at once.  [default: {DEFAULT_JOBS}]"),
    ("--journal", None, "PATH",
     "With --each: note in the file PATH which lines are done; a run that was stopped goes on there."),
    ("--retry-failed", bool, None, "With --journal: call again for the lines that failed before."),
    ("--apps", None, "FILE",
     "Call the operation for each app of a file of apps, and print the outcomes as JSON lines."),
)  # fmt: skip


_BLOCK: Final = 1 << 16
_MOST_BLOCKS: Final = 2  # that are read ahead


class EachOptions(Struct, frozen=True):
    file: str
    """That of the lines, or with `of_apps` that of the apps."""
    of_apps: bool
    jobs: int
    journal: str | None
    retry_failed: bool


def checked_options(
    each: str | None, jobs: int | None, journal: str | None, retry_failed: bool, apps: str | None
) -> EachOptions | None:
    """Return the options, None without `--each` and `--apps`; a usage error names one that needs another."""
    if each is not None and apps is not None:
        raise click.UsageError("--each calls for the lines of a file, and --apps for apps: give one of them")
    if jobs is not None and each is None and apps is None:
        raise click.UsageError("--jobs needs --each FILE or --apps FILE")
    if journal is not None and each is None:
        raise click.UsageError("--journal needs --each FILE")
    if retry_failed and journal is None:
        raise click.UsageError("--retry-failed needs --journal PATH")
    file = each if each is not None else apps
    return (
        None
        if file is None
        else EachOptions(file, apps is not None, jobs or DEFAULT_JOBS, journal, retry_failed)
    )


class InputLine(NamedTuple):
    number: int
    text: str
    occurrence: int
    """1 for the first line with this text, if there is a journal."""


class _ReportedError(ChatRestError):
    """A reply with a success that reports a failure: the error that it stands for, and its JSON."""

    def __init__(self, error: ChatRestError, value: bytes) -> None:
        super().__init__(str(error))
        self.error = error
        self.value = value


class _LineCalls:
    """The calls of one run: an operation, what all lines share, and the client."""

    def __init__(
        self, endpoint: Endpoint[Any], texts: tuple[str, ...], limit: int | None, read_file: ReadFile
    ) -> None:
        self.endpoint = endpoint
        self._texts = texts
        self._limit = limit
        self._read_file = cache(read_file)  # standard input can be read once only
        self._parameters = Parameters(endpoint)

    def call(self, text: str) -> Call[Any]:
        own = texts_of(self._parameters, self._texts, text) if text else ()
        texts = (*self._texts, *own)
        return call_of(self.endpoint, texts, self._read_file, self._parameters)

    def name(self, client: Client) -> str:
        """The name by which a journal knows the job; arguments are not shown, as they may be credentials."""
        where = client.app.chat_url if hasattr(client, "app") else "management"
        digest = blake2b(msgspec.json.encode([self._texts, self._limit, where]), digest_size=8).hexdigest()
        return f"chatrest call {self.endpoint.name} ({digest})"

    async def reply(self, client: Client, text: str = "") -> bytes:
        """Return the JSON of the reply, with the parameters of a line beside those that all share."""
        call = self.call(text)
        if isinstance(self.endpoint.reply, Many):
            return await self._records(client, call)
        reply = await send(client, self.endpoint, call)
        try:
            check_success(self.endpoint, reply)
        except ChatRestError as error:
            raise _ReportedError(error, line_of(reply)) from None
        return line_of(reply)

    async def _records(self, client: Client, call: Call[Any]) -> bytes:
        from ..resources.listing import walk

        records = walk(AsRows(client.sender), call, None)
        rows = await (records if self._limit is None else records.limit(self._limit)).collect()
        return b"[%b]" % b",".join(line_of(bytes(row.raw)) for row in rows)


def call_each(
    endpoint: Endpoint[Any],
    texts: tuple[str, ...],
    limit: int | None,
    options: EachOptions,
    read_file: ReadFile,
) -> None:
    """Call an operation for each line or app of a file, and print the outcomes; raise if one failed."""
    job = _LineCalls(endpoint, texts, limit, read_file)
    if options.of_apps:
        _call_apps(job, options)
        return
    if options.file == "-" and any(text.partition("=")[2] == "@-" for text in texts):
        raise click.UsageError("standard input is read for --each - and for @-: allowed is one of them")
    streams.output()  # raises if it is closed, before anything is sent
    try:
        counts = run(_run(job, options))
    except (KeyboardInterrupt, asyncio.CancelledError) as error:
        if options.journal is not None:
            error.add_note("run the same command again to go on")
        raise
    failed, before = counts.failed + counts.skipped_failed, ""
    if counts.skipped_failed:
        before = f" ({counts.skipped_failed} of them in earlier runs)"
    if failed:
        lines = counts.finished + counts.skipped
        raise ChatRestError(f"{endpoint.name}: {failed} of {lines} lines failed{before}")


async def _run(job: _LineCalls, options: EachOptions) -> "FanOutCounts":
    occurrence = _occurrences() if options.journal is not None else lambda _: 1
    async with client_of(job.endpoint) as client:
        fan_out = client.fan_out(
            _lines(options.file, occurrence),
            lambda line: job.reply(client, line.text),
            concurrency=options.jobs,
            ordered=True,
            journal=options.journal,
            key=lambda line: (line.text, line.occurrence),
            job=job.name(client),
            retry_failed=options.retry_failed,
        )
        async with fan_out as outcomes:
            async for outcome in outcomes:
                streams.write(_outcome_line(b'"line":%d' % outcome.item.number, outcome))
    return outcomes.counts


def _call_apps(job: _LineCalls, options: EachOptions) -> None:
    if job.endpoint.interface == "management":
        raise click.UsageError(f"--apps: {job.endpoint.name} is of the account, and not of an app")
    job.call("")  # raises for a wrong parameter, before a key is read
    apps = all_apps(options.file)
    streams.output()
    counts = run(_run_apps(job, apps, options.jobs))
    if counts.failed:
        raise ChatRestError(f"{job.endpoint.name}: {counts.failed} of {counts.finished} apps failed")


async def _run_apps(job: _LineCalls, apps: "list[AppExport]", jobs: int) -> "FanOutCounts":
    async with (
        session(app=apps[0].app) as chat,
        chat.fan_out(
            apps, lambda each: job.reply(chat.for_app(each.app)), concurrency=jobs, ordered=True
        ) as outcomes,
    ):
        async for outcome in outcomes:
            name = outcome.item.name or outcome.item.app.app_id
            streams.write(_outcome_line(b'"app":%b' % _json(name), outcome))
    return outcomes.counts


async def _lines(name: str, occurrence: Callable[[str], int]) -> AsyncIterator[InputLine]:
    number = 0
    async for data in input_lines(name):
        number += 1
        try:
            text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            text = data.decode("utf-8", "backslashreplace").strip()
        if text:
            yield InputLine(number, text, occurrence(text))


def _occurrences() -> Callable[[str], int]:
    counts: dict[bytes, int] = {}

    def occurrence(text: str) -> int:
        digest = blake2b(text.encode(), digest_size=16).digest()
        counts[digest] = counts.get(digest, 0) + 1
        return counts[digest]

    return occurrence


def _outcome_line(subject: bytes, outcome: "Outcome[Any, bytes]") -> bytes:
    """Return the line of an outcome; `subject` is its first member, the number of a line or an app."""
    error, value = outcome.error, outcome.value or b""
    if isinstance(error, _ReportedError):
        value = error.value
        error = error.error
    if error is None:
        return b'{%b,"ok":true,"value":%b}\n' % (subject, value)
    if not isinstance(error, ChatRestError | OSError):
        raise error
    code = _json(getattr(error, "code", None) or type(error).__name__)
    text = _json(streams.without_keys(streams.one_line(str(error))))
    more = b',"value":%b' % value if value else b""
    if isinstance(error, OutcomeUnknownError) and error.muid is not None:
        more += b',"muid":%b' % _json(error.muid)
    return b'{%b,"ok":false,"code":%b,"error":%b%b}\n' % (subject, code, text, more)


def _json(text: str) -> bytes:
    return msgspec.json.encode(text.encode("utf-8", "backslashreplace").decode())


# ── the lines of a file or pipe, without holding up the event loop where they come slowly ──


async def input_lines(name: str) -> AsyncIterator[bytes]:
    """Yield the lines of a file, or of standard input for `-`; raise `OSError` if it cannot be read."""
    if name == "-" and sys.stdin is None:
        raise OSError("standard input is closed")
    file = _standard_input() if name == "-" else os.open(name, os.O_RDONLY)
    if file is None:  # replaced by an object of Python
        for line in sys.stdin.buffer:
            yield line
        return
    rest = b""
    async for block in _blocks(file):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest


def _standard_input() -> int | None:
    """Return a descriptor of standard input of its own; None if it has none."""
    try:
        return os.dup(sys.stdin.fileno())
    except (UnsupportedOperation, AttributeError):
        return None


async def _blocks(file: int) -> AsyncIterator[bytes]:
    """Yield what a thread reads, and close the file at its end.

    The thread ends with the process, and is none of the loop's executor, which would be waited for: a reader
    of a pipe or a terminal cannot be interrupted otherwise.
    """
    queue: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    loop, room = asyncio.get_running_loop(), threading.Semaphore(_MOST_BLOCKS)

    def put(block: bytes | OSError) -> None:
        room.acquire()
        loop.call_soon_threadsafe(queue.put_nowait, block)

    def read() -> None:
        try:
            while block := os.read(file, _BLOCK):
                put(block)
            put(b"")
        except OSError as error:
            put(error)
        except RuntimeError:  # the loop is closed
            return
        finally:
            os.close(file)

    threading.Thread(target=read, daemon=True).start()
    while block := await queue.get():
        room.release()
        if isinstance(block, OSError):
            raise block
        yield block
