"""Run all benchmarks in their short mode, and write the table, the plot and the guide's block.

    pip install "chatrest-client[compare]"
    python -m benchmarks                # all of them, in less than ten minutes
    python -m benchmarks walk memory    # these alone: printed, and nothing is written
    python -m benchmarks --render       # write the texts and the plot again, without measuring

`--full` measures in the full sizes, which takes longer than ten minutes.
"""

import os
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
PAGE: Final = FOLDER.parent / "chatrest" / "guide" / "costs.md"
"""The page of the guide that has the headlines."""


def render(results: Path, page: Path) -> None:
    """Write RESULTS.md and the plot beside the stored results, and the block in the page."""
    from . import plot  # matplotlib takes long to load

    stored = report.load(results)
    (results.parent / "RESULTS.md").write_text(report.results_page(stored), encoding="utf-8")
    (results.parent / report.PLOT).write_text(plot.draw(stored), encoding="utf-8")
    block = report.guide_block(stored, os.path.relpath(results.parent, page.parent))
    page.write_text(report.with_block(page.read_text(encoding="utf-8"), block), encoding="utf-8")


def measure(names: Sequence[str], *, short: bool) -> list[registry.BenchmarkRun]:
    """Run the benchmarks one after another, and print the table of each."""
    runs: list[registry.BenchmarkRun] = []
    for name in names:
        print(f"benchmarks.{name} …", file=sys.stderr, flush=True)
        runs.append(registry.run(name, short=short))
        print(f"\n{name}, {runs[-1].seconds:.0f} s\n", flush=True)
        print(table(HEADS, map(cells, runs[-1].comparisons)), flush=True)
    return runs


def main(argv: Sequence[str] | None = None, results: Path = RESULTS, page: Path = PAGE) -> None:
    """Measure, and write the results if all benchmarks were run."""
    parser = ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(registry.NAMES)} (all)")
    parser.add_argument("--full", action="store_true", help="measure in the full sizes")
    parser.add_argument("--render", action="store_true", help="only write the texts and the plot again")
    args = parser.parse_args(argv)
    unknown = [name for name in args.names if name not in registry.NAMES]
    if unknown:
        parser.error(f"{unknown[0]!r}: allowed is any of {', '.join(registry.NAMES)}")
    if not args.render:
        runs = measure(args.names or registry.NAMES, short=not args.full)
        if args.names:
            return
        today = datetime.now(UTC).date()
        report.store(report.create(runs, short=not args.full, today=today), results)
    render(results, page)


if __name__ == "__main__":
    main()
