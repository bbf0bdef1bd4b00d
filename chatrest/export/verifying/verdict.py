"""What `verify` says of an export: whether it is right, and where it is not.

A problem is about the export: what it claims is not so. A note is to be known, and the export is right all
the same: a journal that is not there, a file that a killed run left behind.
"""

from typing import Final, Literal, TypeAlias, final

from msgspec import Struct

Kind: TypeAlias = Literal[
    "manifest", "incomplete", "missing", "size", "damaged", "content", "duplicate", "unknown", "coverage",
    "journal", "lost",
]  # fmt: skip

MOST: Final = 1_000
"""Problems that are told one by one: an export of millions of frames may be damaged in all of them."""


@final
class Problem(Struct, frozen=True):
    """One thing that is not right, or is to be known."""

    kind: Kind
    where: str
    """The file, or the source."""
    text: str
    advice: str = ""
    """What to do."""

    def __str__(self) -> str:
        return f"{self.where}: {self.text}" + (f"; {self.advice}" if self.advice else "")


@final
class Verdict(Struct, kw_only=True):
    """What was found, and how much was looked at."""

    ok: bool = False
    """Whether every check was made and held, and the manifest calls the export complete."""
    problems: list[Problem] = []
    more: int = 0
    """Problems beyond those in the list."""
    notes: list[Problem] = []
    until: int | None = None
    """The export is complete up to this id; None where it is not, or where the service told no newest one."""
    messages: int = 0
    """Those that were read, each counted once."""
    parts: int = 0
    bytes: int = 0
    hashes: int = 0
    """Those that were compared, and were right."""
    first: int | None = None
    last: int | None = None
    """The lowest and the highest id that was read."""

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
