"""The outcomes of a fan-out: the value or the error of a worker for one item, and those that wait."""

from collections import deque
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

from .._struct_help import StructHelp

T = TypeVar("T")
R = TypeVar("R")


class OutcomeBase(Struct, Generic[T, R], metaclass=StructHelp, frozen=True):
    """The outcome of a worker for one item: its value or its error."""

    item: T
    value: R | None
    """The worker's result; None if it failed."""
    error: BaseException | None
    """The worker's error; None if it succeeded."""
    seconds: float
    """From the worker's begin to its end, by the session's clock."""

    @property
    def ok(self) -> bool:
        """True if the worker returned."""
        return self.error is None

    def result(self) -> R:
        """Return the worker's value, or raise its error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # None only where the worker returned it


class Success(OutcomeBase[T, R], Generic[T, R], frozen=True):
    """The outcome of a worker that returned: `value` is its result, `error` is None."""

    if TYPE_CHECKING:
        value: R
        error: None

        @property
        def ok(self) -> Literal[True]: ...


class Failure(OutcomeBase[T, R], Generic[T, R], frozen=True):
    """The outcome of a worker that raised: `error` is what it raised, `value` is None."""

    if TYPE_CHECKING:
        value: None
        error: BaseException

        @property
        def ok(self) -> Literal[False]: ...


if TYPE_CHECKING:
    Outcome: TypeAlias = Success[T, R] | Failure[T, R]
    """A `Success` or a `Failure`: `if outcome.ok:`, or a `match` on the class, shows a type checker which."""
else:
    Outcome = OutcomeBase


class FanOutCounts(Struct, metaclass=StructHelp, frozen=True):
    """The numbers of items of a fan-out at one moment."""

    succeeded: int
    failed: int
    running: int

    @property
    def finished(self) -> int:
        """The items whose worker ended in this run."""
        return self.succeeded + self.failed


class OutcomeQueue(Generic[T, R]):
    """The outcomes that the consumer has not taken yet."""

    def __init__(self, *, is_ordered: bool) -> None:
        """With `is_ordered` an outcome is ready once all those of earlier items are."""
        self.ready: deque[Outcome[T, R]] = deque()
        self._is_ordered = is_ordered
        self._held_back: dict[int, Outcome[T, R]] = {}
        """Those that wait for an earlier one, by the number of their item."""
        self._next_number = 0

    def __len__(self) -> int:
        return len(self.ready) + len(self._held_back)

    def add(self, number: int, outcome: Outcome[T, R]) -> None:
        if not self._is_ordered:
            self.ready.append(outcome)
            return
        self._held_back[number] = outcome
        while self._next_number in self._held_back:
            self.ready.append(self._held_back.pop(self._next_number))
            self._next_number += 1

    def close_gaps(self) -> None:
        """Make all of them ready, in order: those that they wait for will not come."""
        self.ready.extend(self._held_back[number] for number in sorted(self._held_back))
        self._held_back.clear()
