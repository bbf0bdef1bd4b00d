"""The result of `verify`: whether an export is right, and where it is not.

A problem is a claim of the export that does not hold. A note is information about an export that may be right
all the same, such as a journal that is missing, or a file that a killed run left behind.
"""

from typing import Final, Literal, TypeAlias, final

from msgspec import Struct

Kind: TypeAlias = Literal[
    "manifest", "incomplete", "missing", "size", "damaged", "content", "duplicate", "unknown", "coverage",
    "journal", "lost",
]  # fmt: skip

MOST: Final = 1_000
"""Problems that are told one by one: an export of millions of blocks may be damaged in all of them."""


@final
class Problem(Struct, frozen=True):
    """A problem of an export, or a note about it."""

    kind: Kind
    where: str
    """The file, or the source."""
    text: str
    """The problem, in words."""
    advice: str = ""
    """The way to mend it, where there is one."""

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" + (f"; {self.advice}" if self.advice else "")


@final
class VerifyResult(Struct, kw_only=True):
    """The result of `verify`."""

    ok: bool = False
    """True where every check held, and the manifest says that the export is complete."""
    problems: list[Problem] = []
    """Up to 1,000 problems."""
    more: int = 0
    """How many problems there are beyond those in the list."""
    notes: list[Problem] = []
    """Information that is not a problem."""
    until: int | None = None
    """The message id up to which the export is complete; None where it is not, or where the id is not known.
    """
    messages: int = 0
    """Messages that were read, each counted once."""
    parts: int = 0
    """Files with messages."""
    bytes: int = 0
    """Their size."""
    hashes: int = 0
    """Checksums that were compared and are right."""
    first: int | None = None
    """The lowest message id that was read."""
    last: int | None = None
    """The highest message id that was read."""

    @property
    def count(self) -> int:
        """How many problems there are."""
        return len(self.problems) + self.more

    def add(self, problem: Problem) -> None:
        """One more problem."""
        if len(self.problems) < MOST:
            self.problems.append(problem)
        else:
            self.more += 1

    def note(self, note: Problem) -> None:
        """Something to be known."""
        self.notes.append(note)

    def hold(self, numbers: list[int]) -> None:
        """Ids that were read."""
        if numbers:
            self.first = min(numbers) if self.first is None else min(self.first, *numbers)
            self.last = max(numbers) if self.last is None else max(self.last, *numbers)
