"""The form of all results: a figure of chatrest, that of another, their ratio or difference, and the goal."""

from collections.abc import Callable
from math import floor, log10
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Quantity: TypeAlias = Literal["ratio", "difference", "ours"]
"""The figure of a comparison that its goal is about."""

_MORE_DIGITS: Final = 3


class Goal(Struct, frozen=True, omit_defaults=True):
    """The largest or the smallest allowed value of a figure."""

    limit: float
    of: Quantity = "ratio"
    is_least: bool = False
    """True where the limit is the smallest allowed value."""

    def is_met_by(self, value: float) -> bool:
        """Return True if `value` is allowed."""
        return value >= self.limit if self.is_least else value <= self.limit


class Comparison(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A figure of chatrest and one of something else, measured in the same run.

    The ratio is `ours` divided by `other`, and the difference is `ours` less `other`; each is the median of
    those of all rounds, and so not always that of the two medians. A figure that was not measured is None.
    """

    case: str
    """A few words for the first column: the measured operation."""
    against: str = ""
    """Another client, or chatrest in another case."""
    unit: str = ""
    ours: float | None = None
    other: float | None = None
    ratio: float | None = None
    difference: float | None = None
    goal: Goal | None = None
    failure: str = ""
    """The reason why nothing was measured; empty where something was."""

    @property
    def is_met(self) -> bool | None:
        """True if the goal is met; None where there is no goal. A goal that was not measured is not met."""
        if self.goal is None:
            return None
        value = self.judged
        return value is not None and self.goal.is_met_by(value)

    @property
    def judged(self) -> float | None:
        """The figure that the goal is about."""
        if self.goal is None:
            return None
        return {"ratio": self.ratio, "difference": self.difference, "ours": self.ours}[self.goal.of]


HEADS: Final = ("measured", "against", "unit", "ours", "other", "ratio", "goal", "met")


def cells(comparison: Comparison) -> tuple[str, ...]:
    """Return the texts of a comparison, one for each of `HEADS`."""
    if comparison.failure:
        return (
            comparison.case,
            comparison.against,
            f"not measured: {comparison.failure}",
            *[""] * 4,
            _met(comparison),
        )
    return (
        comparison.case,
        comparison.against,
        comparison.unit,
        _figure(comparison.ours),
        _figure(comparison.other),
        ratio_text(comparison),
        goal_text(comparison),
        _met(comparison),
    )


def goal_text(comparison: Comparison) -> str:
    """Return the goal as a text; empty where there is no goal."""
    goal = comparison.goal
    if goal is None:
        return ""
    limit = f"{'≥' if goal.is_least else '≤'} {goal.limit:,.3g}"
    return limit if goal.of == "ratio" else f"{goal.of} {limit}"


def _met(comparison: Comparison) -> str:
    return {None: "", True: "yes", False: "NO"}[comparison.is_met]


def ratio_text(comparison: Comparison) -> str:
    """Return the ratio, and the difference where the goal is about that; empty where nothing was measured."""
    ratio, goal = comparison.ratio, comparison.goal
    if ratio is None:
        return ""
    if goal is None or goal.of != "ratio":
        difference = goal is not None and goal.of == "difference" and comparison.difference
        return _rounded(ratio, lambda _: True) + (f" ({difference:+.1f})" if difference else "")
    return _rounded(ratio, lambda value: goal.is_met_by(value) == comparison.is_met)


def _rounded(value: float, is_true: Callable[[float], bool]) -> str:
    """Return a text with enough digits for `is_true` to hold for the text as it does for the value."""
    fewest = max(2, 1 - floor(log10(abs(value)))) if value else 2  # two that are not zero
    texts = (f"{value:.{digits}f}" for digits in range(fewest, fewest + _MORE_DIGITS))
    return next((text for text in texts if is_true(float(text))), f"{value}")


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
