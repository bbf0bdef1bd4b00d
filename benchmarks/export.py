"""The cost of an export: against receiving the same bytes, against dlt, and in memory.

Three tables; the server is a separate process in each. The CPU time is that of the exporter's process with
all its threads, from before to after the export, without imports.

Receiving: chatrest's NDJSON export, with its hashes, its journal and all files synced to disk, against
hand-written aiohttp code that knows all URLs. One variant reads the bodies and drops them. The other does the
minimum of any export: it splits each page into lines, hashes them, writes them and syncs the file. Replies
are plain or gzip, which services of this kind send. The messages are of one user, whose pages are full, or of
many users, where each message comes twice, as both users of a conversation list it (the hand-written code
also writes it twice). The additional requests of chatrest (for the app's newest message, for the ends of
lists, and for splitting a list) count for it. The highest published rate limit for such a service is 20,000
requests a minute, so an export of that many pages per CPU minute uses one core.

dlt: messages per CPU second of complete exports to local files with gzip replies, against dlt's `rest_api`
source (`benchmarks.dlt_job`) with its default settings and with its cheapest ones; the goal is for the
latter.

Memory: the largest resident size of a process that exports, and of one that exports ten times as much.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile
from time import process_time
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import aiohttp
import msgspec

from chatrest import App, AsyncSession, Pace
from chatrest.export import Plan, export

from . import hand
from .measure import Times, arguments, count, ratio, table, title, turns
from .pages import UID
from .server import KEY, ServerProcess

SIZE: Final = 1000
_PACE: Final = Pace(rate=600_000)  # no slow start, as the server has no rate limit
"""Messages per page: the most that the service allows."""
OURS: Final = "chatrest, NDJSON"
PARQUET: Final = "chatrest, Parquet"
RECEIVED: Final = "aiohttp by hand, received and dropped"
WRITTEN: Final = "aiohttp by hand, written as hashed lines"
MOST_TIMES: Final = 2.0
"""The largest allowed ratio of an export to receiving."""
LEAST_TIMES: Final = 15.0
"""The smallest allowed ratio of chatrest's messages per CPU second to dlt's."""
MOST_GROWTH: Final = 1.1
"""The largest allowed ratio of memory for ten times the messages."""
WITHOUT_DLT: Final = "no comparison with dlt, which is not installed: pip install 'chatrest[compare]'"
DLT: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    OURS: {
        "dlt, JSONL": ("--format", "jsonl"),
        "dlt, JSONL, cheapest": ("--format", "jsonl", "--least"),
    },
    PARQUET: {
        "dlt, Parquet": ("--format", "parquet"),
        "dlt, Parquet, cheapest": ("--format", "parquet", "--least"),
    },
}
"""The variants of dlt that each export of chatrest is compared with, and their arguments."""

_PAGE: Final = msgspec.json.Decoder(hand.TaggedPage)
_SYNC_EVERY: Final = 32 << 20  # bytes
_MEMORY_TIMES: Final = 10
_EXPORT_PROCESS: Final = (sys.executable, "-c", "from benchmarks.export import export_once; export_once()")

Format: TypeAlias = Literal["ndjson", "parquet"]
Measurement: TypeAlias = Callable[[], Awaitable[float]]
"""A function that runs a contestant once and returns its CPU seconds."""


class Case(NamedTuple):
    """The data of a comparison: its texts for the table, the app, the users and the number of messages."""

    plan: str
    replies: str
    app: App
    uids: Sequence[str]
    messages: int


# ── the contestants ──


class _RawPage(msgspec.Struct):
    data: list[msgspec.Raw]


_RAW_PAGE: Final = msgspec.json.Decoder(_RawPage)


async def measure_export(session: AsyncSession, case: Case, format: Format = "ndjson") -> float:
    """Return CPU seconds of an export into a new folder; it must be complete."""
    with TemporaryDirectory() as folder:
        began = process_time()
        report = await export(session, Path(folder) / "out", Plan(users=case.uids, format=format))
        spent = process_time() - began
    assert report.complete, report
    assert report.messages == case.messages, f"{report.messages} messages, {case.messages} expected"
    return spent


async def measure_receiving(session: aiohttp.ClientSession, addresses: Sequence[str], expected: int) -> float:
    """Return CPU seconds of reading every page, whose bodies must have `expected` bytes."""
    began, size = process_time(), 0
    for address in addresses:
        async with session.get(address) as response:
            size += len(await response.read())
    spent = process_time() - began
    assert size == expected, f"{size} bytes, {expected} expected"
    return spent


async def measure_writing(session: aiohttp.ClientSession, addresses: Sequence[str]) -> float:
    """Return CPU seconds of writing every page as lines to one file, with a hash for each page."""
    hashes: list[bytes] = []
    with TemporaryFile(buffering=0) as file:
        began, unsynced = process_time(), 0
        for address in addresses:
            async with session.get(address) as response:
                lines = b"\n".join([*_RAW_PAGE.decode(await response.read()).data, b""])
            hashes.append(sha256(lines).digest())
            unsynced += file.write(lines)
            if unsynced > _SYNC_EVERY:
                os.fsync(file.fileno())
                unsynced = 0
        os.fsync(file.fileno())
        return process_time() - began


async def list_pages(session: aiohttp.ClientSession, case: Case) -> tuple[list[str], int]:
    """Return the URLs of the fewest pages with all messages, and the total bytes of their bodies."""
    addresses: list[str] = []
    size = 0
    for uid in case.uids:
        base = f"{case.app.chat_url}/users/{uid}/messages?perPage={SIZE}&affix=append"
        url: str | None = base
        while url is not None:
            async with session.get(url) as response:
                body = await response.read()
            messages = _PAGE.decode(body).data
            if messages:
                addresses.append(url)
                size += len(body)
            url = f"{base}&id={messages[-1].id}" if len(messages) == SIZE else None
    return addresses, size


def measure_dlt(case: Case, variant: Sequence[str]) -> float:
    """Return CPU seconds of an export by dlt in a separate process; it must have all messages."""
    with TemporaryDirectory() as folder:
        args = ("--url", case.app.chat_url, "--key", KEY, "--uid", case.uids[0], "--out", folder, *variant)
        command = (sys.executable, "-m", "benchmarks.dlt_job", "--size", str(SIZE), *args)
        result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=3600).stdout)
    assert result["rows"] == case.messages, f"{result['rows']} rows, {case.messages} expected"
    return float(result["cpu"])


def has_dlt() -> bool:
    """Return True if dlt is installed, which is in the extra `compare`."""
    return find_spec("dlt") is not None


# ── against receiving ──


class ReceivingResult(NamedTuple):
    """The CPU seconds of all contestants in one case, and the number of its pages."""

    case: Case
    pages: int
    times: Times


async def against_receiving(cases: Sequence[Case], rounds: int) -> list[ReceivingResult]:
    """Return the CPU seconds of all contestants, for every case."""
    return [await _against_receiving(case, rounds) for case in cases]


async def _against_receiving(case: Case, rounds: int) -> ReceivingResult:
    headers = {"apikey": KEY} | ({} if case.replies == "gzip" else {"Accept-Encoding": "identity"})
    async with AsyncSession(case.app, pace=_PACE) as session, aiohttp.ClientSession(headers=headers) as bare:
        addresses, size = await list_pages(bare, case)
        contestants: dict[str, Measurement] = {
            OURS: lambda: measure_export(session, case),
            RECEIVED: lambda: measure_receiving(bare, addresses, size),
            WRITTEN: lambda: measure_writing(bare, addresses),
        }
        return ReceivingResult(case, len(addresses), await _measure(contestants, rounds))


async def _measure(contestants: Mapping[str, Measurement], rounds: int) -> Times:
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for name, counts in turns(contestants, rounds):
        spent = await contestants[name]()
        if counts:
            times[name].append(spent)
    return times


def _cases(single: ServerProcess, many: ServerProcess, messages: int, users: int) -> Iterator[Case]:
    uids = [f"user-{number:0{max(2, len(str(users)))}}" for number in range(1, users + 1)]
    yield Case("one user", "plain", single.app, [UID], messages)
    yield Case("one user", "gzip", single.packed, [UID], messages)
    yield Case(f"{users} users", "plain", many.app, uids, messages)
    yield Case(f"{users} users", "gzip", many.packed, uids, messages)


def _receiving_rows(result: ReceivingResult) -> Iterator[tuple[str, ...]]:
    for name, spent in result.times.items():
        each = median(spent) / result.pages
        yield (
            name,
            result.case.plan,
            result.case.replies,
            str(result.pages),
            f"{each * 1e3:.2f}",
            f"{60 / each:,.0f}",
            "" if name == OURS else f"{ratio(result.times, OURS, name):.2f}",
            f"<= {MOST_TIMES}" if name == RECEIVED else "",
        )


def _print_receiving(messages: int, users: int, rounds: int) -> None:
    with ServerProcess(messages) as single, ServerProcess(messages, users=users) as many:
        results = asyncio.run(against_receiving(list(_cases(single, many, messages, users)), rounds))
    print(
        title(
            f"Exporting {messages} messages, against only receiving them",
            f"CPU time of the client's process, medians of {rounds} rounds; pages are of up to {SIZE}",
            "aiohttp",
            "msgspec",
        )
    )
    heads = (
        "client",
        "plan",
        "replies",
        "pages",
        "CPU ms per page",
        "pages per CPU minute",
        "chatrest to it",
        "goal",
    )
    print(table(heads, (row for result in results for row in _receiving_rows(result))))


# ── against dlt ──


async def against_dlt(case: Case, rounds: int) -> Times:
    """Return CPU seconds of chatrest and of dlt, for one user."""
    async with AsyncSession(case.app, pace=_PACE) as session:
        contestants: dict[str, Measurement] = {
            OURS: lambda: measure_export(session, case),
            PARQUET: lambda: measure_export(session, case, "parquet"),
        }
        for name, variant in chain.from_iterable(variants.items() for variants in DLT.values()):
            contestants[name] = partial(asyncio.to_thread, measure_dlt, case, variant)
        return await _measure(contestants, rounds)


def _dlt_rows(times: Times, messages: int) -> Iterator[tuple[str, ...]]:
    for ours, variants in DLT.items():
        yield (ours, *_speed(times[ours], messages), "", "")
        for name, variant in variants.items():
            goal = f">= {LEAST_TIMES:.0f}" if "--least" in variant else ""
            yield (name, *_speed(times[name], messages), f"{ratio(times, name, ours):.1f}", goal)


def _speed(spent: Sequence[float], messages: int) -> tuple[str, str]:
    each = median(spent) / messages
    return f"{each * 1e6:.1f}", f"{1 / each:,.0f}"


def _print_dlt(messages: int, rounds: int) -> None:
    with ServerProcess(messages) as server:
        case = Case("one user", "gzip", server.packed, [UID], messages)
        times = asyncio.run(against_dlt(case, rounds))
    print(
        title(
            f"Exporting {messages} messages of one user to local files, against dlt; replies are gzip",
            f"CPU time of the run, medians of {rounds} rounds; ratios are of messages per CPU second",
            "dlt",
            "pyarrow",
        )
    )
    heads = ("exporter", "µs per message", "messages per CPU s", "chatrest to it", "goal")
    print(table(heads, _dlt_rows(times, messages)))


# ── memory ──


def peak(messages: int) -> float:
    """Return the largest resident size in MB of a process that exports `messages` messages."""
    with ServerProcess(messages, endless=True) as server, TemporaryDirectory() as folder:
        command = (*_EXPORT_PROCESS, server.app.chat_url, folder, str(messages))
        return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=36_000).stdout)


def export_once() -> None:
    """Export in this process as its arguments say, and print its largest resident size in MB."""
    url, folder, messages = sys.argv[1:]
    case = Case("one user", "plain", App("benchmark", KEY, base_url=url), [UID], int(messages))
    asyncio.run(_export_once(case, folder))
    print(resident())


async def _export_once(case: Case, folder: str) -> None:
    async with AsyncSession(case.app, pace=_PACE) as session:
        report = await export(session, Path(folder) / "out", Plan(users=case.uids))
    assert report.complete, report
    assert report.messages == case.messages


def resident() -> float:
    """Return the largest resident size of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage may return the size of the parent process
        words = status.read_text().partition("VmHWM:")[2].split()
        return int(words[0]) / 1e3
    return getrusage(RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _print_memory(messages: int) -> None:
    sizes = (max(1, messages // _MEMORY_TIMES), messages)
    peaks = {size: peak(size) for size in sizes}
    few, many = peaks.values()
    print(title("Memory of an export", "The largest resident size of the process", "aiohttp", "msgspec"))
    rows = [
        (f"{sizes[0]:,} messages", f"{few:.1f}", "", ""),
        (f"{sizes[1]:,} messages", f"{many:.1f}", f"{many / few:.2f}", f"<= {MOST_GROWTH}"),
    ]
    print(table(("exported", "peak MB", "ratio", "goal"), rows))


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = arguments(__doc__, rounds=9)
    sizes: Mapping[str, tuple[int, str]] = {
        "messages": (30_000, "messages of an export"),
        "users": (50, "users of the plan with many"),
        "dlt-rounds": (3, "counted rounds against dlt"),
        "memory-messages": (2_000_000, "messages, 900 bytes each, of the export whose memory is measured"),
    }
    for name, (default, description) in sizes.items():
        parser.add_argument(f"--{name}", type=count, default=default, help=f"{description} ({default})")
    args: Any = parser.parse_args(argv)
    _print_receiving(args.messages, args.users, args.rounds)
    print()
    if has_dlt():
        _print_dlt(args.messages, args.dlt_rounds)
    else:
        print(WITHOUT_DLT)
    print()
    _print_memory(args.memory_messages)


if __name__ == "__main__":
    main()
