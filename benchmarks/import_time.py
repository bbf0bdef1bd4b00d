"""The cost of `import chatrest` in a new interpreter, against `import aiohttp`.

Measured in the interpreter from before to after the import, without the start of the interpreter.
"""

import subprocess
import sys
from argparse import Namespace
from typing import Final

from .comparison import Comparison, Goal
from .measure import Benchmark, Size, compare_times, turns

STATEMENTS: Final = (
    "import chatrest",
    "from chatrest import App, MessageQuery, Message",
    "from chatrest import AsyncSession",
    "import aiohttp",
)
GOALS: Final = {STATEMENTS[0]: Goal(0.33)}
"""The largest allowed ratios to importing aiohttp."""
_BASE: Final = STATEMENTS[-1]
_PROGRAM: Final = "import time; began = time.process_time(); {}; print(time.process_time() - began)"


def import_seconds(statement: str) -> float:
    """Return the CPU seconds of `statement` in a new interpreter."""
    command = (sys.executable, "-c", _PROGRAM.format(statement))
    return float(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)


def measure(sizes: Namespace) -> list[Comparison]:
    """Return the comparison of every statement with `import aiohttp`."""
    times: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for statement, counts in turns(STATEMENTS, sizes.rounds):
        spent = import_seconds(statement)
        if counts:
            times[statement].append(spent)
    return [
        compare_times(
            times,
            name,
            _BASE,
            case=f"`{name}`",
            against=f"`{_BASE}`",
            unit="CPU ms",
            scale=1e3,
            goal=GOALS.get(name),
        )
        for name in STATEMENTS
        if name != _BASE
    ]


BENCHMARK: Final = Benchmark(
    "Importing, with compiled bytecode",
    "CPU time in a fresh interpreter, medians of {rounds} rounds",
    {"rounds": Size("counted rounds", 21, 9)},
    ("chatrest-client", "msgspec", "aiohttp"),
    measure,
)
compare, main = BENCHMARK.compare, BENCHMARK.main

if __name__ == "__main__":
    main()
