"""The memory of each use of chatrest: the largest resident size of a process that does only that.

Each use runs in a child process (`memory_uses`), against a server in another one. What a use adds is the
largest size of its process less that of an idle one, of chatrest or of the code by hand. Where memory must
not grow with the number of messages or items, the largest size is compared with that for fewer of them. Of a
walk and a fan-out this is a tenth. An export fills its buffers first: as lines it has 63 MB after 30,000
messages, 86 MB after 300,000 and 87 MB after 1,000,000. So the shorter export has 300,000 messages: it has
reached its level, and what the longer one has more is growth.

The exports are the command `chatrest export`, into a new folder, of one user whose pages are full.
"""

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, TypeAlias

from chatrest import App

from .comparison import Comparison, Goal
from .fixed_server import run_server
from .measure import Benchmark, Size, Times, compare_times
from .pages import UID
from .server import KEY, ServerProcess

MAX_GROWTH: Final = {"walk": 1.1, "fan_out": 1.1, "ndjson": 1.15, "parquet": 1.15}
"""The largest allowed ratios of memory for more messages or items."""
MAX_PARQUET: Final = 200.0
"""The largest allowed size of an export to Parquet, in MB."""
FEWER: Final = ", fewer"
"""The end of the name of a process that has fewer messages or items."""
_TIMES: Final = 10
_IMPORT: Final = "{}; from benchmarks.resident import resident; print(resident())"
_EXPORT: Final = """
from benchmarks.resident import resident
from chatrest._cli import main
try:
    main()
finally:
    print(resident())
"""
_SECONDS: Final = 900

Process: TypeAlias = Callable[[], float]
"""A function that runs a child process and returns its largest resident size in MB."""


# ── the processes ──


def import_peak(statement: str) -> float:
    """Return the size of an interpreter that only runs `statement`."""
    return _last_number(_output(sys.executable, "-c", _IMPORT.format(statement)))


def use_peak(use: str, app: App, count: int) -> float:
    """Return the size of a process that runs a use of `memory_uses`."""
    command = (sys.executable, "-m", "benchmarks.memory_uses", use, app.chat_url, str(count))
    return _last_number(_output(*command))


def export_peak(app: App, format: str, messages: int) -> float:
    """Return the size of the command that exports all messages of the list; it must export `messages`."""
    variables = {"CHATREST_APP_ID": app.app_id, "CHATREST_API_KEY": KEY, "CHATREST_BASE_URL": app.chat_url}
    with TemporaryDirectory() as folder:
        args = ("export", f"{folder}/out", "--user", UID, "--format", format, "--json", "--quiet")
        output = _output(sys.executable, "-c", _EXPORT, *args, environment=variables)
    report = json.loads(output.rpartition("\n")[0])
    assert report["messages"] == messages, f"{report['messages']} messages, {messages} expected"
    return _last_number(output)


def _output(*command: str, environment: Mapping[str, str] | None = None) -> str:
    result = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_SECONDS,
        env={**os.environ, **(environment or {})},
    )
    return result.stdout.strip()


def _last_number(output: str) -> float:
    return float(output.rpartition("\n")[2])


# ── the measurement ──


class Services(NamedTuple):
    """The apps of the servers: with fixed replies, with a long list, and with a shorter one."""

    replies: App
    many: App
    few: App


def processes(services: Services, sizes: Namespace) -> dict[str, Process]:
    """Return all measured processes by name."""
    counts = {
        "idle": 1,
        "idle_by_hand": 1,
        "call_at_once": sizes.at_once,
        "call_at_once_by_hand": sizes.at_once,
        "call_each_app": sizes.apps,
        "fan_out": sizes.items,
    }
    walks = ("walk", "walk_by_hand", "walk_ahead")
    uses = {name: (services.replies, count) for name, count in counts.items()}
    uses |= dict.fromkeys(walks, (services.many, sizes.walk_messages))
    fewer = {name: uses[name] for name in ("walk", "fan_out")}
    return {
        **{statement: partial(import_peak, statement) for statement in IMPORTS},
        **{name: partial(use_peak, name, *args) for name, args in uses.items()},
        "calls of one app": partial(use_peak, "idle", services.replies, sizes.apps),
        **{
            f"{name}{FEWER}": partial(use_peak, name, app, max(1, count // _TIMES))
            for name, (app, count) in fewer.items()
        },
        **{name: partial(export_peak, services.many, name, sizes.messages) for name in FORMATS},
        **{f"{name}{FEWER}": partial(export_peak, services.few, name, sizes.fewer) for name in FORMATS},
    }


def measure_all(contestants: Mapping[str, Process], rounds: int) -> Times:
    """Return the sizes in MB of all processes, one number per round."""
    peaks: dict[str, list[float]] = {name: [] for name in contestants}
    for name in (name for _ in range(rounds) for name in contestants):
        peaks[name].append(contestants[name]())
    return peaks


def add_growth(peaks: Times) -> Times:
    """Return the sizes, and under `+ NAME` what each process adds to the idle one of its kind."""
    growth = {}
    for name, values in peaks.items():
        idle = peaks["idle_by_hand" if name.endswith("by_hand") else "idle"]
        growth[f"+ {name}"] = [value - base for value, base in zip(values, idle, strict=True)]
    return {**peaks, **growth}


# ── the comparisons ──

NOTHING: Final = "pass"
IMPORTS: Final = (NOTHING, "import chatrest", "from chatrest import AsyncSession", "import aiohttp")
FORMATS: Final = ("ndjson", "parquet")


def compare_uses(peaks: Times, sizes: Namespace) -> list[Comparison]:
    """Return the comparisons of each use with code by hand, or with the plain form of the same use."""
    walk = f"memory of a walk of {sizes.walk_messages:,} messages, pages of 1000"
    apps, hand = f"memory of {sizes.apps:,} apps, a call each", "aiohttp + msgspec by hand"
    pairs = (
        (IMPORTS[1], NOTHING, "memory of `import chatrest`", "the interpreter alone"),
        (IMPORTS[2], IMPORTS[3], f"memory of `{IMPORTS[2]}`", f"`{IMPORTS[3]}`"),
        ("idle", "idle_by_hand", "memory of an idle session, after a call", hand),
        ("+ call_at_once", "+ call_at_once_by_hand", f"memory of {sizes.at_once:,} calls at once", hand),
        ("+ walk", "+ walk_by_hand", walk, hand),
        ("+ walk_ahead", "+ walk", f"{walk}, `ahead()`", "the walk without"),
        ("call_each_app", "calls of one app", apps, "one app, as many calls"),
    )
    return [_compare(peaks, *pair) for pair in pairs]


def compare_growth(peaks: Times, sizes: Namespace) -> list[Comparison]:
    """Return the comparisons of uses with those of fewer messages or items, and Parquet's peak."""
    cases = (
        ("walk", "a walk, messages:", sizes.walk_messages, sizes.walk_messages // _TIMES),
        ("fan_out", "fan_out, items:", sizes.items, sizes.items // _TIMES),
        ("ndjson", "an export to NDJSON, messages:", sizes.messages, sizes.fewer),
        ("parquet", "an export to Parquet, messages:", sizes.messages, sizes.fewer),
    )
    parquet = f"peak of an export to Parquet, {sizes.messages:,} messages"
    flat = [
        _compare(
            peaks,
            name,
            f"{name}{FEWER}",
            f"memory of {case} {number:,}",
            f"{fewer:,} of them",
            Goal(MAX_GROWTH[name]),
        )
        for name, case, number, fewer in cases
    ]
    goal = Goal(MAX_PARQUET, "ours")
    return [*flat, _compare(peaks, "parquet", "ndjson", parquet, "the same to NDJSON", goal)]


def _compare(
    peaks: Times, ours: str, other: str, case: str, against: str, goal: Goal | None = None
) -> Comparison:
    return compare_times(
        peaks,
        ours,
        other,
        case=case,
        against=against,
        unit="added MB" if ours.startswith("+") else "MB",
        scale=1,
        goal=goal,
    )


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparisons of all uses."""
    with ExitStack() as stack:
        replies = stack.enter_context(run_server())
        many, few = (
            stack.enter_context(ServerProcess(messages, endless=True)).app
            for messages in (sizes.messages, sizes.fewer)
        )
        peaks = measure_all(processes(Services(replies, many, few), sizes), sizes.rounds)
    peaks = add_growth(peaks)
    return compare_uses(peaks, sizes) + compare_growth(peaks, sizes)


BENCHMARK: Final = Benchmark(
    "Memory of each use, in a process of its own",
    "The largest resident size of the process, medians of {rounds} rounds",
    {
        "rounds": Size("rounds", 3, 1),
        "messages": Size("messages of an export", 3_000_000, 1_000_000),
        "fewer": Size("messages of the shorter export, which has reached its level", 300_000, 300_000),
        "walk_messages": Size("messages of a walk, not more than of an export", 200_000, 100_000),
        "items": Size("items of a fan-out", 1_000_000, 1_000_000),
        "at_once": Size("calls at once", 1000, 1000),
        "apps": Size("apps in a session, with a call each", 20_000, 20_000),
    },
    ("aiohttp", "msgspec"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
