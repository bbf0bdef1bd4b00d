"""The names of all benchmarks, in one place, and how each of them is run for the common table.

A benchmark is a module of this package with a function `compare(short) -> list[Comparison]`. It runs in a
child process, so that no other one's modules and objects weigh on it. A benchmark that cannot run gives a row
that says why.
"""

import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from time import perf_counter
from typing import Final

import msgspec

from .comparison import Comparison

NAMES: Final = (
    "decode", "instructions", "ahead", "fan_out", "export", "pace", "memory", "import_time",
)  # fmt: skip
SECONDS: Final = 600
"""The longest time of a benchmark in its short mode."""
_FULL_SECONDS: Final = 7200
_JSON: Final = "from benchmarks.registry import print_comparisons; print_comparisons({!r}, {!r})"


class BenchmarkRun(msgspec.Struct, frozen=True):
    """The results of one benchmark, and the wall clock time that they took, in seconds."""

    name: str
    seconds: float
    comparisons: list[Comparison]


def run(name: str, *, short: bool) -> BenchmarkRun:
    """Run a benchmark in a child process and return its comparisons, or one that says why there are none."""
    began = perf_counter()
    comparisons = _comparisons(name, short)
    return BenchmarkRun(name, round(perf_counter() - began, 1), comparisons)


def _comparisons(name: str, short: bool) -> list[Comparison]:
    command = (sys.executable, "-c", _JSON.format(name, short))
    seconds = SECONDS if short else _FULL_SECONDS
    try:
        result = subprocess.run(command, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return [failure(name, f"not done after {seconds} s")]
    errors = result.stderr.decode(errors="replace")
    if result.returncode:
        sys.stderr.write(errors)
        return [failure(name, f"exit status {result.returncode}")]
    comparisons = msgspec.json.decode(result.stdout.splitlines()[-1], type=list[Comparison])
    return comparisons or [failure(name, "it gave no comparison")]


def print_comparisons(name: str, short: bool) -> None:
    """Measure in this process, and print the comparisons as a line of JSON."""
    comparisons: Iterable[Comparison] = import_module(f"{__package__}.{name}").compare(short)
    print(msgspec.json.encode([rounded(each) for each in comparisons]).decode())


def rounded(comparison: Comparison) -> Comparison:
    """Return the comparison with four significant digits, as no measurement has more."""
    figures = {
        name: None if value is None else float(f"{value:.4g}")
        for name in ("ours", "other", "ratio", "difference")
        for value in (getattr(comparison, name),)
    }
    return msgspec.structs.replace(comparison, **figures)


def failure(name: str, why: str) -> Comparison:
    """Return the row of a benchmark that could not run."""
    return Comparison(case=f"benchmarks.{name}", failure=why)
