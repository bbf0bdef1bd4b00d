"""The cost of an export: against receiving the same bytes, and against dlt. Its memory is in `memory`.

The server is a separate process. The CPU time is that of the exporter's process with all its
threads, from before to after the export, without imports.

Receiving: chatrest's NDJSON export, with its hashes, its journal and all files synced to disk, against
hand-written aiohttp code that knows all URLs. One variant does the minimum of any export: it splits each page
into lines, hashes them, writes them and syncs the file. The goals are for this one. The other variant reads
the bodies and drops them: its row shows what receiving alone costs, and has no goal, as even the minimum of
an export takes two to six times as long.

Replies are plain or gzip, which services of this kind send. The messages are of one user, whose pages are
full, or of many users, where each message comes twice, as both users of a conversation list it (the
hand-written code also writes it twice). The additional requests of chatrest (for the app's newest message,
for the ends of lists, and for splitting a list) count for it. Of one user each contestant has two lists, and
a page costs what the longer one costs more, so that the start and the end of a run are no part of it: they
are a row of their own. The highest published rate limit for such a service is 20,000 requests a minute, so an
export of that many pages per CPU minute uses one core. The same page is also counted in instructions, which
do not depend on what else the machine does; `valgrind` has no instruction for SHA-256, so half of them are
the hash, on both sides.

dlt: messages per CPU second of complete exports to local files with gzip replies, against dlt's `rest_api`
source (`benchmarks.dlt_job`) with its default settings and with its cheapest ones; the goals are for the
latter.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile
from time import process_time
from typing import Final, Literal, NamedTuple, TypeAlias

import aiohttp
import msgspec

from chatrest import App, AsyncSession, Pace
from chatrest.export import Plan, export

from . import hand
from .comparison import Comparison, Goal
from .instructions import VALGRIND
from .measure import Benchmark, Size, Times, compare_times, ratio, turns
from .pages import UID
from .server import KEY, ServerProcess

SIZE: Final = 1000
"""Messages per page: the most that the service allows."""
_PACE: Final = Pace(rate=600_000)  # no slow start, as the server has no rate limit
OURS: Final = "chatrest, NDJSON"
PARQUET: Final = "chatrest, Parquet"
RECEIVED: Final = "aiohttp by hand, received and dropped"
WRITTEN: Final = "aiohttp by hand, written as hashed lines"
_TIMES: Final = 3
"""How many times as long the longer list of one user is."""
MAX_MS: Final = 4.5
"""The largest allowed CPU time of a page, in milliseconds."""
MAX_TIMES: Final = 1.5
"""The largest allowed ratio of an export to receiving, hashing and writing, in time and in instructions."""
MIN_TIMES: Final = {OURS: 20.0, PARQUET: 7.0}
"""The smallest allowed ratios of messages per CPU second to those of dlt with its cheapest settings."""
WITHOUT_DLT: Final = Comparison(
    case="an export", against="dlt", failure="dlt is not installed: pip install '.[compare]'"
)
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
    """Return the CPU seconds of all contestants, for every case; the rounds are of all cases together."""
    async with AsyncExitStack() as stack:
        contestants, pages = dict[str, Measurement](), list[int]()
        for at, case in enumerate(cases):
            session = await stack.enter_async_context(AsyncSession(case.app, pace=_PACE))
            headers = {"apikey": KEY} | ({} if case.replies == "gzip" else {"Accept-Encoding": "identity"})
            bare = await stack.enter_async_context(aiohttp.ClientSession(headers=headers))
            addresses, size = await list_pages(bare, case)
            pages.append(len(addresses))
            contestants[f"{at} {OURS}"] = partial(measure_export, session, case)
            contestants[f"{at} {RECEIVED}"] = partial(measure_receiving, bare, addresses, size)
            contestants[f"{at} {WRITTEN}"] = partial(measure_writing, bare, addresses)
        times = await _measure(contestants, rounds)
    return [
        ReceivingResult(case, pages[at], {name: times[f"{at} {name}"] for name in (OURS, RECEIVED, WRITTEN)})
        for at, case in enumerate(cases)
    ]


def added(longer: ReceivingResult, shorter: ReceivingResult) -> ReceivingResult:
    """Return what the longer one of two exports costs more."""
    times = {
        name: [more - less for more, less in zip(each, shorter.times[name], strict=True)]
        for name, each in longer.times.items()
    }
    return ReceivingResult(longer.case, longer.pages - shorter.pages, times)


async def _measure(contestants: Mapping[str, Measurement], rounds: int) -> Times:
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for name, counts in turns(contestants, rounds):
        spent = await contestants[name]()
        if counts:
            times[name].append(spent)
    return times


def _cases(server: ServerProcess, plan: str, messages: int, uids: Sequence[str]) -> list[Case]:
    return [
        Case(plan, "plain", server.app, uids, messages),
        Case(plan, "gzip", server.packed, uids, messages),
    ]


def compare_pages(longer: ReceivingResult, shorter: ReceivingResult) -> list[Comparison]:
    """Return the comparisons of a page, and the cost of the start and the end of an export."""
    pages = added(longer, shorter)
    a_page = median(pages.times[OURS]) / pages.pages * 1e3
    case = f"an export of {longer.case.plan}, {longer.case.replies} replies"
    return [
        *compare_receiving(pages),
        Comparison(
            case=f"{case}: a page", unit="CPU ms a page of 1000", ours=a_page,
            goal=Goal(MAX_MS, "ours") if longer.case.replies == "plain" else None,
        ),
        Comparison(
            case=f"{case}: its start and its end", unit="CPU ms",
            ours=median(shorter.times[OURS]) * 1e3 - shorter.pages * a_page,
        ),
    ]  # fmt: skip


def compare_receiving(result: ReceivingResult) -> list[Comparison]:
    """Return the comparison with each hand-written client, per page."""
    return [
        compare_times(
            result.times,
            OURS,
            name,
            case=f"an export of {result.case.plan}, {result.case.replies} replies",
            against=name,
            unit="CPU ms a page of 1000",
            scale=1e3 / result.pages,
            goal=Goal(MAX_TIMES) if name == WRITTEN else None,
        )
        for name in (RECEIVED, WRITTEN)
    ]


# ── in instructions ──

_COUNTED: Final = (10_000, 30_000)
"""The messages of the two lists whose difference is counted."""
_PROGRAM: Final = "import sys; from benchmarks.export import run_each; run_each(*sys.argv[1:])"


async def run_once(name: str, app: App, messages: int) -> None:
    """Run a contestant for a list with consecutive ids."""
    if name == OURS:
        async with AsyncSession(app, pace=_PACE) as session:
            await measure_export(session, Case("one user", "plain", app, [UID], messages))
        return
    base = f"{app.chat_url}/users/{UID}/messages?perPage={SIZE}&affix=append&id="
    async with aiohttp.ClientSession(headers={"apikey": KEY, "Accept-Encoding": "identity"}) as bare:
        await measure_writing(bare, [f"{base}{after}" for after in range(0, messages, SIZE)])


def run_each(name: str, *urls: str) -> None:
    """Run a contestant for each list, in a fork of this process; print their process ids."""
    for url, messages in zip(urls, _COUNTED, strict=True):
        if not (process := os.fork()):
            asyncio.run(run_once(name, App("benchmark", KEY, base_url=url), messages))
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0
        print(process, flush=True)


def count_page(name: str, urls: Sequence[str]) -> float:
    """Return the instructions that a page costs a contestant, in millions."""
    with TemporaryDirectory() as folder:
        program = (sys.executable, "-c", _PROGRAM, name, *urls)
        command = (*VALGRIND, f"--cachegrind-out-file={folder}/%p", *program)
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        texts = [Path(folder, each).read_text(encoding="utf-8") for each in done.stdout.split()]
    shorter, longer = (int(text.rpartition("summary:")[2]) for text in texts)
    return (longer - shorter) / (_COUNTED[1] - _COUNTED[0]) * SIZE * 1e-6


def compare_instructions() -> Comparison:
    """Return the comparison of a page in instructions."""
    case = "an export of one user, plain replies: a page"
    if shutil.which("valgrind") is None:
        return Comparison(case=case, failure="valgrind is not installed")
    with ExitStack() as stack:
        urls = [stack.enter_context(ServerProcess(count)).app.chat_url for count in _COUNTED]
        ours, other = (count_page(name, urls) for name in (OURS, WRITTEN))
    return Comparison(
        case=case, against=WRITTEN, unit="million instructions", ours=ours, other=other, ratio=ours / other,
        goal=Goal(MAX_TIMES),
    )  # fmt: skip


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


def compare_dlt(times: Times, messages: int) -> list[Comparison]:
    """Return the comparison with each variant of dlt, in messages per CPU second."""
    return [
        Comparison(
            case=f"an export by {ours}",
            against=name,
            unit="messages a CPU s",
            ours=messages / median(times[ours]),
            other=messages / median(times[name]),
            ratio=ratio(times, name, ours),
            goal=Goal(MIN_TIMES[ours], is_least=True) if "--least" in variant else None,
        )
        for ours, variants in DLT.items()
        for name, variant in variants.items()
    ]


# ── the comparisons ──


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons with receiving, then those with dlt."""
    messages, users = sizes.messages, sizes.users
    uids, short = [f"user-{number:03}" for number in range(1, users + 1)], messages // _TIMES
    with ServerProcess(messages) as single, ServerProcess(short) as shorter:
        cases = [*_cases(single, "one user", messages, [UID]), *_cases(shorter, "one user", short, [UID])]
        results = asyncio.run(against_receiving(cases, sizes.rounds))
        rows = [row for pair in zip(results[:2], results[2:], strict=True) for row in compare_pages(*pair)]
        with ServerProcess(messages, users=users) as many:
            cases = _cases(many, f"{users} users", messages, uids)
            for result in asyncio.run(against_receiving(cases, sizes.rounds)):
                rows += compare_receiving(result)
        rows.append(compare_instructions())
        if not has_dlt():
            return [*rows, WITHOUT_DLT]
        case = Case("one user", "gzip", single.packed, [UID], messages)
        return rows + compare_dlt(asyncio.run(against_dlt(case, sizes.dlt_rounds)), messages)


BENCHMARK: Final = Benchmark(
    f"Exporting {{messages}} messages, in pages of up to {SIZE}",
    "CPU time of the exporter's process, medians of {rounds} rounds, against dlt of {dlt_rounds}",
    {
        "rounds": Size("counted rounds", 9, 3),
        "messages": Size("messages of an export", 30_000, 15_000),
        "users": Size("users of the plan with many", 50, 30),
        "dlt_rounds": Size("counted rounds against dlt", 3, 1),
    },
    ("aiohttp", "msgspec"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
