"""The cost of `import chatrest` in a new interpreter, against `import aiohttp`.

Measured in the interpreter from before to after the import, without the start of the interpreter.
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


def import_seconds(statement: str) -> float:
    """Return the CPU seconds of `statement` in a new interpreter."""
    command = (sys.executable, "-c", _PROGRAM.format(statement))
    return float(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    args = arguments(__doc__, rounds=21).parse_args(argv)
    times: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for statement, counts in turns(STATEMENTS, args.rounds):
        spent = import_seconds(statement)
        if counts:
            times[statement].append(spent)
    print(
        title(
            "Importing, with compiled bytecode",
            f"CPU time in a fresh interpreter, medians of {args.rounds} rounds",
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
