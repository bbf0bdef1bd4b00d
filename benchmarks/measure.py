"""Rounds, medians and tables for all benchmarks."""

import gc
import platform
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from random import Random
from statistics import median
from typing import TypeAlias

Times: TypeAlias = Mapping[str, Sequence[float]]
"""CPU seconds of every contestant, one number per round."""


def arguments(doc: str | None, rounds: int) -> ArgumentParser:
    """Return a command line parser with `--rounds`; the first line of `doc` is its description."""
    parser = ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--rounds", type=count, default=rounds, help=f"counted rounds ({rounds})")
    return parser


def count(text: str) -> int:
    """Return the whole number from 1 that `text` is: the type of an argument."""
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r}: allowed is a whole number from 1")
    return int(text)


def turns(names: Iterable[str], rounds: int) -> Iterator[tuple[str, bool]]:
    """Yield each contestant in each round, and True if the round counts: the first one only warms up.

    The order in a round is random, so that no contestant always runs after the same other one. Garbage is
    collected before each of them, but not looked for among what there is at the start.
    """
    dice, order = Random(1), list(names)
    gc.collect()
    gc.freeze()
    try:
        for number in range(rounds + 1):
            dice.shuffle(order)
            for name in order:
                gc.collect()
                yield name, number > 0
    finally:
        gc.unfreeze()


def ratio(times: Times, name: str, base: str) -> float:
    """Return the time of `name` divided by that of `base`: the median of the ratios of each round."""
    return median(
        seconds / base_seconds for seconds, base_seconds in zip(times[name], times[base], strict=True)
    )


def title(subject: str, method: str, *packages: str) -> str:
    """Return the lines above a table: the subject, the versions of Python and packages, and the method."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return f"{subject}\n{python}; {versions}\n{method}\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of aligned columns, the first one to the left, the others to the right."""
    lines = [tuple(heads), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(_line(cells, widths) for cells in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.rjust(width) if index else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((first, *rest)).rstrip()
