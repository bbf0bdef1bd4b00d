"""Run all benchmarks in their short mode, and write the table of results.

    pip install '.[compare]'
    python -m benchmarks                  # all of them, in less than ten minutes
    python -m benchmarks decode memory    # these alone: printed, and nothing is written
    python -m benchmarks --render         # write the table again, without measuring

`--full` measures in the full sizes, which takes longer than ten minutes.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from . import registry, report
from .comparison import HEADS, cells
from .measure import table

FOLDER: Final = Path(__file__).parent
RESULTS: Final = FOLDER / "results.json"


def render(results: Path) -> None:
    """Write RESULTS.md beside the stored results."""
    page = report.results_page(report.load(results))
    (results.parent / "RESULTS.md").write_text(page, encoding="utf-8")


def measure(names: Sequence[str], *, short: bool) -> list[registry.BenchmarkRun]:
    """Run the benchmarks one after another, and print the table of each."""
    runs: list[registry.BenchmarkRun] = []
    for name in names:
        print(f"benchmarks.{name} …", file=sys.stderr, flush=True)
        runs.append(registry.run(name, short=short))
        print(f"\n{name}, {runs[-1].seconds:.0f} s\n", flush=True)
        print(table(HEADS, map(cells, runs[-1].comparisons)), flush=True)
    return runs


def main(argv: Sequence[str] | None = None, results: Path = RESULTS) -> None:
    """Measure, and write the results if all benchmarks were run."""
    parser = ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(registry.NAMES)} (all)")
    parser.add_argument("--full", action="store_true", help="measure in the full sizes")
    parser.add_argument("--render", action="store_true", help="only write the table again")
    args = parser.parse_args(argv)
    unknown = [name for name in args.names if name not in registry.NAMES]
    if unknown:
        parser.error(f"{unknown[0]!r}: expected any of {', '.join(registry.NAMES)}")
    if not args.render:
        runs = measure(args.names or registry.NAMES, short=not args.full)
        if args.names:
            return
        today = datetime.now(UTC).date()
        report.store(report.create(runs, short=not args.full, today=today), results)
    render(results)


if __name__ == "__main__":
    main()
