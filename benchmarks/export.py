"""What an export costs: against only receiving the same bytes, against dlt, and in memory.

Three tables; the server is a process of its own in each. Counted is CPU time of the exporter's process, with
all its threads, from before the export to after it: an import is nobody's.

Receiving: chatrest's NDJSON export, with its hashes, its journal and everything synced to the disk, against
aiohttp by hand that is told every address beforehand. Once it reads the bodies and drops them; once it does
what any export has to, however little it promises: it cuts each page into lines, hashes them, writes them
and syncs the file. Both with plain replies and with gzip ones, as services of this kind send them; with one
user, whose pages are full, and with many, whose messages come twice, for both of a conversation list them
(by hand they are then written twice as well). What chatrest asks for beyond the fewest pages (how far the app
is, where a list ends, what lies behind a guessed place that it splits a list at) is its own to pay for. The
highest rate limit that is published for such a service is 20,000 requests a minute: so many pages a minute
of CPU time keep one core busy and no more.

dlt: messages per CPU second of whole exports to local files, on gzip replies, chatrest's against those of
dlt's `rest_api` source (`benchmarks.dlt_job`), which runs as it comes, and in the way that costs it least:
the goal is for that.

Memory: the highest resident size of a process that exports, and of one that exports ten times as much.
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

from chatrest import App, AsyncSession
from chatrest.export import Plan, export

from . import hand
from .measure import Times, arguments, count, ratio, table, title, turns
from .pages import UID
from .server import KEY, Serving

SIZE: Final = 1000
"""Messages of a page: as many as the service allows."""
OURS: Final = "chatrest, NDJSON"
PARQUET: Final = "chatrest, Parquet"
BARE: Final = "aiohttp by hand, received and dropped"
KEPT: Final = "aiohttp by hand, kept as hashed lines"
MOST_TIMES: Final = 2.0
"""Times receiving that an export may cost."""
LEAST_TIMES: Final = 15.0
"""Times dlt's messages per CPU second that chatrest's have to be."""
MOST_GROWTH: Final = 1.1
"""Times the memory that ten times the messages may take."""
WITHOUT_DLT: Final = "dlt is not installed, and not compared: pip install 'chatrest[compare]'"
DLT: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    OURS: {
        "dlt, JSONL": ("--format", "jsonl"),
        "dlt, JSONL, the least": ("--format", "jsonl", "--least"),
    },
    PARQUET: {
        "dlt, Parquet": ("--format", "parquet"),
        "dlt, Parquet, the least": ("--format", "parquet", "--least"),
    },
}
"""Like with like: the ways of dlt that each of ours is compared with, and what asks for them."""

_PAGE: Final = msgspec.json.Decoder(hand.TaggedPage)
_SYNC_EVERY: Final = 32 << 20  # bytes
_MEMORY_TIMES: Final = 10
_ALONE: Final = (sys.executable, "-c", "from benchmarks.export import alone; alone()")

Format: TypeAlias = Literal["ndjson", "parquet"]
Turn: TypeAlias = Callable[[], Awaitable[float]]
"""One turn: its CPU seconds."""


class Case(NamedTuple):
    """What is exported."""

    told: str
    replies: str
    app: App
    uids: Sequence[str]
    messages: int


# ── the contestants ──


class _Lines(msgspec.Struct):
    data: list[msgspec.Raw]


_LINES: Final = msgspec.json.Decoder(_Lines)


async def exported(session: AsyncSession, case: Case, format: Format = "ndjson") -> float:
    """CPU seconds of an export into a folder that is new, which has to hold all that there is."""
    with TemporaryDirectory() as folder:
        began = process_time()
        report = await export(session, Path(folder) / "out", Plan(users=case.uids, format=format))
        spent = process_time() - began
    assert report.complete, report
    assert report.messages == case.messages, f"{report.messages} messages, {case.messages} expected"
    return spent


async def received(session: aiohttp.ClientSession, addresses: Sequence[str], expected: int) -> float:
    """CPU seconds of reading every page, and of nothing else; the bodies have so many bytes."""
    began, found = process_time(), 0
    for address in addresses:
        async with session.get(address) as response:
            found += len(await response.read())
    spent = process_time() - began
    assert found == expected, f"{found} bytes, {expected} expected"
    return spent


async def kept(session: aiohttp.ClientSession, addresses: Sequence[str]) -> float:
    """CPU seconds of reading every page into one file of lines, with a hash a page."""
    hashes: list[bytes] = []
    with TemporaryFile(buffering=0) as file:
        began, unsafe = process_time(), 0
        for address in addresses:
            async with session.get(address) as response:
                lines = b"\n".join([*_LINES.decode(await response.read()).data, b""])
            hashes.append(sha256(lines).digest())
            unsafe += file.write(lines)
            if unsafe > _SYNC_EVERY:
                os.fsync(file.fileno())
                unsafe = 0
        os.fsync(file.fileno())
        return process_time() - began


async def listed(session: aiohttp.ClientSession, case: Case) -> tuple[list[str], int]:
    """The addresses of the fewest pages that hold everything, and how many bytes they have."""
    addresses: list[str] = []
    size = 0
    for uid in case.uids:
        base = f"{case.app.chat_url}/users/{uid}/messages?perPage={SIZE}&affix=append"
        more: str | None = base
        while more is not None:
            async with session.get(more) as response:
                body = await response.read()
            messages = _PAGE.decode(body).data
            if messages:
                addresses.append(more)
                size += len(body)
            more = f"{base}&id={messages[-1].id}" if len(messages) == SIZE else None
    return addresses, size


def by_dlt(case: Case, way: Sequence[str]) -> float:
    """CPU seconds of dlt over one user, in a process of its own; its rows have to be all that there are."""
    with TemporaryDirectory() as folder:
        asked = ("--url", case.app.chat_url, "--key", KEY, "--uid", case.uids[0], "--out", folder, *way)
        command = (sys.executable, "-m", "benchmarks.dlt_job", "--size", str(SIZE), *asked)
        told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=3600).stdout)
    assert told["rows"] == case.messages, f"{told['rows']} rows, {case.messages} expected"
    return float(told["cpu"])


def has_dlt() -> bool:
    """Whether it is installed: it is in an extra of its own."""
    return find_spec("dlt") is not None


# ── against receiving ──


class Received(NamedTuple):
    """What came of one case."""

    case: Case
    pages: int
    times: Times


async def against_receiving(cases: Sequence[Case], rounds: int) -> list[Received]:
    """CPU seconds of both, for every case."""
    return [await _against_receiving(case, rounds) for case in cases]


async def _against_receiving(case: Case, rounds: int) -> Received:
    headers = {"apikey": KEY} | ({} if case.replies == "gzip" else {"Accept-Encoding": "identity"})
    async with AsyncSession(case.app) as session, aiohttp.ClientSession(headers=headers) as bare:
        addresses, size = await listed(bare, case)
        everyone: dict[str, Turn] = {
            OURS: lambda: exported(session, case),
            BARE: lambda: received(bare, addresses, size),
            KEPT: lambda: kept(bare, addresses),
        }
        return Received(case, len(addresses), await _taken(everyone, rounds))


async def _taken(everyone: Mapping[str, Turn], rounds: int) -> Times:
    times: dict[str, list[float]] = {name: [] for name in everyone}
    for name, counts in turns(everyone, rounds):
        spent = await everyone[name]()
        if counts:
            times[name].append(spent)
    return times


def _cases(one: Serving, many: Serving, messages: int, users: int) -> Iterator[Case]:
    uids = [f"user-{number:0{max(2, len(str(users)))}}" for number in range(1, users + 1)]
    yield Case("one user", "plain", one.app, [UID], messages)
    yield Case("one user", "gzip", one.packed, [UID], messages)
    yield Case(f"{users} users", "plain", many.app, uids, messages)
    yield Case(f"{users} users", "gzip", many.packed, uids, messages)


def _receiving_rows(found: Received) -> Iterator[tuple[str, ...]]:
    for name, spent in found.times.items():
        each = median(spent) / found.pages
        yield (
            name,
            found.case.told,
            found.case.replies,
            str(found.pages),
            f"{each * 1e3:.2f}",
            f"{60 / each:,.0f}",
            "" if name == OURS else f"{ratio(found.times, OURS, name):.2f}",
            f"<= {MOST_TIMES}" if name == BARE else "",
        )


def _print_receiving(messages: int, users: int, rounds: int) -> None:
    with Serving(messages) as one, Serving(messages, users=users) as many:
        found = asyncio.run(against_receiving(list(_cases(one, many, messages, users)), rounds))
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
        "CPU ms a page",
        "pages a CPU minute",
        "chatrest to it",
        "goal",
    )
    print(table(heads, (row for each in found for row in _receiving_rows(each))))


# ── against dlt ──


async def against_dlt(case: Case, rounds: int) -> Times:
    """CPU seconds of chatrest and of dlt, over one user."""
    async with AsyncSession(case.app) as session:
        everyone: dict[str, Turn] = {
            OURS: lambda: exported(session, case),
            PARQUET: lambda: exported(session, case, "parquet"),
        }
        for name, way in chain.from_iterable(ways.items() for ways in DLT.values()):
            everyone[name] = partial(asyncio.to_thread, by_dlt, case, way)
        return await _taken(everyone, rounds)


def _dlt_rows(times: Times, messages: int) -> Iterator[tuple[str, ...]]:
    for ours, ways in DLT.items():
        yield (ours, *_speed(times[ours], messages), "", "")
        for name, way in ways.items():
            goal = f">= {LEAST_TIMES:.0f}" if "--least" in way else ""
            yield (name, *_speed(times[name], messages), f"{ratio(times, name, ours):.1f}", goal)


def _speed(spent: Sequence[float], messages: int) -> tuple[str, str]:
    each = median(spent) / messages
    return f"{each * 1e6:.1f}", f"{1 / each:,.0f}"


def _print_dlt(messages: int, rounds: int) -> None:
    with Serving(messages) as server:
        case = Case("one user", "gzip", server.packed, [UID], messages)
        times = asyncio.run(against_dlt(case, rounds))
    print(
        title(
            f"Exporting {messages} messages of one user to local files, against dlt; replies are gzip",
            f"CPU time of the run, medians of {rounds} rounds; ratios are of messages a CPU second",
            "dlt",
            "pyarrow",
        )
    )
    heads = ("exporter", "µs a message", "messages a CPU s", "chatrest to it", "goal")
    print(table(heads, _dlt_rows(times, messages)))


# ── memory ──


def peak(messages: int) -> float:
    """The highest resident size, in MB, of a process that exports so many messages."""
    with Serving(messages, endless=True) as server, TemporaryDirectory() as folder:
        command = (*_ALONE, server.app.chat_url, folder, str(messages))
        return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=36_000).stdout)


def alone() -> None:
    """Exports in this process, and writes its highest resident size."""
    url, folder, messages = sys.argv[1:]
    case = Case("one user", "plain", App("benchmark", KEY, base_url=url), [UID], int(messages))
    asyncio.run(_alone(case, folder))
    print(resident())


async def _alone(case: Case, folder: str) -> None:
    async with AsyncSession(case.app) as session:
        report = await export(session, Path(folder) / "out", Plan(users=case.uids))
    assert report.complete, report
    assert report.messages == case.messages


def resident() -> float:
    """The highest resident size of this process until now, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says may be that of the process that started this one
        words = status.read_text().partition("VmHWM:")[2].split()
        return int(words[0]) / 1e3
    return getrusage(RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _print_memory(messages: int) -> None:
    sizes = (max(1, messages // _MEMORY_TIMES), messages)
    found = {size: peak(size) for size in sizes}
    few, many = found.values()
    print(title("Exporting ever more", "The process's highest resident size", "aiohttp", "msgspec"))
    rows = [
        (f"{sizes[0]:,} messages", f"{few:.1f}", "", ""),
        (f"{sizes[1]:,} messages", f"{many:.1f}", f"{many / few:.2f}", f"<= {MOST_GROWTH}"),
    ]
    print(table(("exported", "MB at most", "ratio", "goal"), rows))


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the tables."""
    parser = arguments(__doc__, rounds=9)
    sizes: Mapping[str, tuple[int, str]] = {
        "messages": (30_000, "messages of an export"),
        "users": (50, "users of the plan that has many"),
        "dlt-rounds": (3, "counted rounds against dlt"),
        "memory-messages": (2_000_000, "messages, 900 bytes each, of the export whose memory is measured"),
    }
    for name, (default, told) in sizes.items():
        parser.add_argument(f"--{name}", type=count, default=default, help=f"{told} ({default})")
    asked: Any = parser.parse_args(argv)
    _print_receiving(asked.messages, asked.users, asked.rounds)
    print()
    if has_dlt():
        _print_dlt(asked.messages, asked.dlt_rounds)
    else:
        print(WITHOUT_DLT)
    print()
    _print_memory(asked.memory_messages)


if __name__ == "__main__":
    main()
