"""The stored results of `python -m benchmarks`, and the texts that are made of them.

`results.json` has everything; RESULTS.md is made of it alone, and can be made again without a
measurement.
"""

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import msgspec

from .comparison import HEADS, Comparison, cells
from .registry import BenchmarkRun

PACKAGES: Final = ("chatrest-client", "aiohttp", "msgspec", "tenacity", "pydantic", "pyarrow", "dlt")
"""The packages whose versions matter; those that are not installed are left out."""
_NOT_MET: Final = "NO"


class Machine(msgspec.Struct, frozen=True):
    """The machine of a measurement. It has no name."""

    processor: str
    cores: int
    system: str


class Report(msgspec.Struct, frozen=True):
    """All results, and where, when and of what they were measured."""

    date: str
    machine: Machine
    versions: dict[str, str]
    short: bool
    runs: list[BenchmarkRun]

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons of all benchmarks."""
        for each in self.runs:
            yield from each.comparisons


def create(runs: Sequence[BenchmarkRun], *, short: bool, today: date) -> Report:
    """Return the report of results that were measured today on this machine."""
    return Report(today.isoformat(), this_machine(), versions(), short, list(runs))


def this_machine() -> Machine:
    """Return the processor's model, the number of cores, and the system."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = models[0] if models else platform.processor() or platform.machine()
    return Machine(processor, os.cpu_count() or 1, f"{platform.system()} {platform.machine()}")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages of `PACKAGES`."""
    installed = {platform.python_implementation(): platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def load(path: Path) -> Report:
    """Return the report in a file. A file that is none is a `msgspec.ValidationError`."""
    return msgspec.json.decode(path.read_bytes(), type=Report)


def store(report: Report, path: Path) -> None:
    """Write a report to a file."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")


# ── texts ──


def results_page(report: Report) -> str:
    """Return the text of RESULTS.md: all rows."""
    rows = [(run.name, *cells(each)) for run in report.runs for each in run.comparisons]
    table = _table(("benchmark", *HEADS), rows)
    times = ", ".join(f"{run.name} {run.seconds:.0f} s" for run in report.runs)
    parts = (
        "# Benchmarks",
        conditions(report),
        _EXPLANATION,
        table,
        f"Times: {times}.",
    )
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def conditions(report: Report) -> str:
    """Return a paragraph of when, on which machine, and with which versions the results were measured."""
    machine, goals = report.machine, [each.is_met for each in report.comparisons() if each.goal is not None]
    packages = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    met = f"{sum(map(bool, goals))} of {len(goals)} goals are met"
    minutes = sum(each.seconds for each in report.runs) / 60
    mode = "the short mode" if report.short else "the full sizes"
    return (
        f"Measured on {report.date} in {mode}, in {minutes:.1f} minutes, on {machine.cores} cores of "
        f"{machine.processor} ({machine.system}), with {packages}. {met}."
    )


_EXPLANATION: Final = """\
A ratio is that of chatrest to the other, the median over interleaved rounds in one run; "NO" is a goal that
is not met. CPU time, instructions and memory are those of the client's process; the server is another one.
"""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rules = ["---:" if head in _NUMBERS else "---" for head in heads]
    return "".join(f"| {' | '.join(map(_escaped, row))} |\n" for row in (heads, rules, *rows))


_NUMBERS: Final = ("ours", "other", "ratio")


def _escaped(text: str) -> str:
    text = text.replace("|", "\\|")
    return f"**{text}**" if text == _NOT_MET else text
