"""Rounds, medians and tables: what the benchmarks have in common."""

import gc
import platform
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from random import Random
from statistics import median
from typing import TypeAlias

Times: TypeAlias = Mapping[str, Sequence[float]]
"""CPU seconds of every contestant, a number a round."""


def arguments(doc: str | None, rounds: int) -> ArgumentParser:
    """A command line with `--rounds`; the module's docstring is its help."""
    parser = ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--rounds", type=count, default=rounds, help=f"counted rounds ({rounds})")
    return parser


def count(text: str) -> int:
    """A whole number from 1, as an argument's type."""
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r}: allowed is a whole number from 1")
    return int(text)


def turns(names: Iterable[str], rounds: int) -> Iterator[tuple[str, bool]]:
    """Whose turn it is, and whether it counts: the first round only warms up.

    Everyone has one turn a round, in random order, so that nobody always runs after the same other one;
    and each begins without the garbage of the one before.
    """
    dice, order = Random(1), list(names)
    for number in range(rounds + 1):
        dice.shuffle(order)
        for name in order:
            gc.collect()
            yield name, number > 0


def ratio(times: Times, name: str, base: str) -> float:
    """How many times as much as `base` a contestant took: the median of the rounds' own ratios."""
    return median(mine / its for mine, its in zip(times[name], times[base], strict=True))


def title(what: str, counted: str, *packages: str) -> str:
    """The lines above a table: what is measured, by which versions, and what is counted."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    return f"{what}\n{python}; {versions}\n{counted}\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns: the first one to the left, the others to the right."""
    lines = [tuple(heads), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(_line(cells, widths) for cells in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.rjust(width) if place else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((first, *rest)).rstrip()
