"""The cost of a site of an export: messages per CPU second, the largest memory, and an unchanged second run.

The export is of an emulator with users of many scripts, threads, media and reactions. Each site is written by
a process of its own; its CPU time is that of the whole work, reading included, without imports. The site of a
tenth of the messages shows that memory does not grow with their number.
"""

import asyncio
import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final

from chatrest import AsyncSession, Pace
from chatrest.emulator import Emulator
from chatrest.export import Plan, export

from .comparison import Comparison, Goal
from .measure import Benchmark, Size
from .resident import resident

MIN_RATE: Final = 15_000.0
MAX_MEMORY: Final = 200.0
_WRITE: Final = "from benchmarks.site import write; write({!r}, {!r})"
_TENTH: Final = 10


def write(out: str, site: str) -> None:
    """Write a site in this process, and print what it took as a line of JSON."""
    from chatrest.site import write_site

    began = process_time()
    result = write_site(out, site)
    spent = process_time() - began
    print(json.dumps({"rate": result.messages / spent, "peak": resident(), "written": result.written}))


def run_write(out: Path, site: Path) -> dict[str, Any]:
    """Write a site in a process of its own."""
    code = _WRITE.format(str(out), str(site))
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


async def make_export(out: Path, messages: int, users: int) -> None:
    async with (
        Emulator(users=users, messages=messages, groups=5, seed=7) as emulator,
        AsyncSession(emulator.app, pace=Pace(rate=600_000)) as session,
    ):
        (await export(session, out, Plan(everything=True), tables=["users", "groups"])).check()


def measure(sizes: Namespace) -> list[Comparison]:
    """Write the sites of an export, and of one of a tenth, and the larger one again."""
    with TemporaryDirectory() as folder:
        runs = {}
        for name, messages in (("all", sizes.messages), ("tenth", max(1, sizes.messages // _TENTH))):
            out = Path(folder) / name
            asyncio.run(make_export(out, messages, sizes.users))
            runs[name] = run_write(out, Path(folder) / f"{name}-site")
        again = run_write(Path(folder) / "all", Path(folder) / "all-site")
    assert again["written"] == 0, "an unchanged export has changed its site"
    case = f"a site of {sizes.messages:,} messages"
    return [
        Comparison(
            case=case, against="a tenth of them", unit="messages per CPU second", ours=runs["all"]["rate"],
            other=runs["tenth"]["rate"], goal=Goal(MIN_RATE, "ours", is_least=True),
        ),
        Comparison(
            case=f"memory of {case}", against="a tenth of them", unit="MB", ours=runs["all"]["peak"],
            other=runs["tenth"]["peak"], goal=Goal(MAX_MEMORY, "ours"),
        ),
        Comparison(
            case=f"{case}, a second time", against="the first time", unit="messages per CPU second",
            ours=again["rate"], other=runs["all"]["rate"],
        ),
    ]  # fmt: skip


BENCHMARK: Final = Benchmark(
    "A site of {messages} messages of {users} users",
    "each site by a process of its own",
    {
        "messages": Size("messages of the export", 300_000, 20_000),
        "users": Size("users of the app", 50, 20),
    },
    ("chatrest-client", "jinja2", "markupsafe"),
    measure,
)
compare = BENCHMARK.compare
main = BENCHMARK.main

if __name__ == "__main__":
    main()
