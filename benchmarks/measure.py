"""Rounds, medians and tables for all benchmarks, and the command that each of them is."""

import gc
import platform
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from random import Random
from statistics import median
from typing import NamedTuple, TypeAlias, final

from .comparison import HEADS, Comparison, Goal, cells

Times: TypeAlias = Mapping[str, Sequence[float]]
"""CPU seconds of every contestant, one number per round."""


class Size(NamedTuple):
    """An argument of a benchmark: its description, its default, and its value in the short mode."""

    description: str
    full: int
    short: int


@final
class Benchmark:
    """A benchmark as a value: what it measures, in which sizes, and the function that does.

    `subject` and `method` stand above the table, with the sizes in braces; `packages` are those whose
    versions matter. `measure` takes the sizes as the attributes of a namespace.
    """

    def __init__(
        self,
        subject: str,
        method: str,
        sizes: Mapping[str, Size],
        packages: Sequence[str],
        measure: Callable[[Namespace], list[Comparison]],
    ) -> None:
        self._subject = subject
        self._method = method
        self._sizes = sizes
        self._packages = packages
        self._measure = measure

    def compare(self, short: bool) -> list[Comparison]:
        """Return the results, in the short sizes or in the full ones."""
        return self._measure(self._parse(["--short"] if short else []))

    def main(self, argv: Sequence[str] | None = None) -> None:
        """Measure in the sizes that the command line says, and print a table."""
        sizes = self._parse(argv)
        comparisons = self._measure(sizes)
        subject, method = (text.format(**vars(sizes)) for text in (self._subject, self._method))
        print(title(subject, method, *self._packages))
        print(table(HEADS, map(cells, comparisons)))

    def _parse(self, argv: Sequence[str] | None) -> Namespace:
        parser = ArgumentParser(description=self._subject.replace("{", "").replace("}", ""))
        parser.add_argument("--short", action="store_true", help="the sizes of `python -m benchmarks`")
        for name, size in self._sizes.items():
            description = f"{size.description} ({size.full}; short: {size.short})"
            parser.add_argument(f"--{name.replace('_', '-')}", type=count, help=description)
        sizes = parser.parse_args(argv)
        for name, size in self._sizes.items():
            if getattr(sizes, name) is None:
                setattr(sizes, name, size.short if sizes.short else size.full)
        return sizes


def count(text: str) -> int:
    """Return the whole number from 1 that `text` is: the type of an argument."""
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r}: expected a whole number from 1")
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


def compare_times(
    times: Times,
    ours: str,
    other: str,
    *,
    case: str,
    against: str,
    unit: str,
    scale: float,
    goal: Goal | None = None,
) -> Comparison:
    """Return the comparison of two contestants; `scale` makes `unit` of their seconds."""
    rounds = zip(times[ours], times[other], strict=True)
    return Comparison(
        case=case,
        against=against,
        unit=unit,
        ours=median(times[ours]) * scale,
        other=median(times[other]) * scale,
        ratio=ratio(times, ours, other),
        difference=median(seconds - other_seconds for seconds, other_seconds in rounds) * scale,
        goal=goal,
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
