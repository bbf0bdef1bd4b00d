"""The cost of a load: messages per CPU second into SQLite, and into Postgres without its server, and memory.

The export is of an emulator. Each load is of a process of its own; its CPU time is that of the whole work,
reading included, without imports. A second load has no news. CHATREST_POSTGRES has the address of an empty
database; without it Postgres is left out.
"""

import asyncio
import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final

from .comparison import Comparison, Goal
from .measure import Benchmark, Size
from .resident import resident
from .site import make_export

MIN_RATES: Final = {"SQLite": 60_000.0, "Postgres": 45_000.0}
MAX_MEMORY: Final = 120.0
MAX_SECONDS: Final = 0.3
_LOAD: Final = "from benchmarks.database import load; load({!r}, {!r})"


def load(out: str, database: str) -> None:
    """Load in this process, and print what it took as a line of JSON."""
    from chatrest.database import load as load_export

    began, at = process_time(), perf_counter()
    report = load_export(out, database)
    spent, seconds = process_time() - began, perf_counter() - at
    print(json.dumps({"rate": report.new / spent, "seconds": seconds, "peak": resident()}))


def run_load(out: Path, database: str) -> dict[str, Any]:
    """Load in a process of its own."""
    code = _LOAD.format(str(out), database)
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def measure(sizes: Namespace) -> list[Comparison]:
    """Load an export into each database, twice."""
    comparisons = []
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        asyncio.run(make_export(out, sizes.messages, sizes.users))
        targets = {"SQLite": f"{folder}/chat.sqlite", "Postgres": os.environ.get("CHATREST_POSTGRES")}
        for name, target in targets.items():
            if target is None:
                continue
            first, again = run_load(out, target), run_load(out, target)
            case = f"a load of {sizes.messages:,} messages into {name}"
            comparisons += [
                Comparison(
                    case=case, against="the goal", unit="messages per CPU second", ours=first["rate"],
                    other=MIN_RATES[name], goal=Goal(MIN_RATES[name], "ours", is_least=True),
                ),
                Comparison(
                    case=f"memory of {case}", against="the goal", unit="MB", ours=first["peak"],
                    other=MAX_MEMORY, goal=Goal(MAX_MEMORY, "ours"),
                ),
                Comparison(
                    case=f"{case}, without news", against="the first load", unit="seconds",
                    ours=again["seconds"], other=first["seconds"], goal=Goal(MAX_SECONDS, "ours"),
                ),
            ]  # fmt: skip
    return comparisons


BENCHMARK: Final = Benchmark(
    "A load of {messages} messages into a database",
    "each load by a process of its own",
    {
        "messages": Size("messages of the export", 1_000_000, 20_000),
        "users": Size("users of the app", 50, 20),
    },
    ("chatrest-client", "psycopg"),
    measure,
)
compare = BENCHMARK.compare
main = BENCHMARK.main

if __name__ == "__main__":
    main()
