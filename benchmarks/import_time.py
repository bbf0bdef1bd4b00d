"""What `import chatrest` costs, each time in a fresh interpreter, against `import aiohttp`.

Counted within the interpreter, from before the import to after it: its own start is nobody's.
"""

import subprocess
import sys
from collections.abc import Sequence
from statistics import median
from typing import Final

from .measure import arguments, ratio, table, title, turns

STATEMENTS: Final = (
    "import chatrest",
    "from chatrest import App, MessageQuery, Message",
    "from chatrest import AsyncSession",
    "import aiohttp",
)
_BASE: Final = STATEMENTS[-1]
_PROGRAM: Final = "import time; began = time.process_time(); {}; print(time.process_time() - began)"


def imported(statement: str) -> float:
    """CPU seconds that the statement takes in an interpreter of its own."""
    command = (sys.executable, "-c", _PROGRAM.format(statement))
    return float(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)


def main(argv: Sequence[str] | None = None) -> None:
    """Prints the table."""
    asked = arguments(__doc__, rounds=21).parse_args(argv)
    times: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for statement, counts in turns(STATEMENTS, asked.rounds):
        spent = imported(statement)
        if counts:
            times[statement].append(spent)
    print(
        title(
            "Importing, from bytecode that is there",
            f"CPU time in a fresh interpreter, medians of {asked.rounds} rounds",
            "chatrest",
            "msgspec",
            "aiohttp",
        )
    )
    rows = (
        (name, f"{median(spent) * 1e3:.1f}", f"{ratio(times, name, _BASE):.3f}")
        for name, spent in times.items()
    )
    print(table(("statement", "ms", "ratio"), rows))


if __name__ == "__main__":
    main()
