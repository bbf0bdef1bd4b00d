"""The result of `verify`: whether an export is complete and undamaged, and where it is not.

A problem is a claim of the export that does not hold. A note is information about an export that may be
correct all the same, such as a journal that is missing, or a file that a killed run left behind.
"""

from typing import Final, Literal, TypeAlias, final

from msgspec import Struct

Kind: TypeAlias = Literal[
    "manifest", "incomplete", "missing", "size", "damaged", "content", "duplicate", "unknown", "coverage",
    "journal", "unsafe",
]  # fmt: skip

MOST_PROBLEMS: Final = 1_000
"""Problems that are listed; more are counted, as an export of millions of blocks may be damaged in all."""


@final
class Problem(Struct, frozen=True):
    """A problem of an export, or a note about it."""

    kind: Kind
    place: str
    """The file, below the export's folder, or the source."""
    text: str
    """A sentence that describes it."""
    remedy: str = ""
    """What can be done about it without losing anything; empty where nothing needs to be done."""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" + (f"; {self.remedy}" if self.remedy else "")


@final
class VerifyResult(Struct, kw_only=True):
    """The result of `verify`."""

    ok: bool = False
    """True where every check held, and the manifest says that the export is complete."""
    problems: list[Problem] = []
    """Up to 1,000 problems."""
    more: int = 0
    """The number of problems beyond those in the list."""
    notes: list[Problem] = []
    """Information that is not a problem."""
    until: int | None = None
    """The message id up to which the export is complete; None where it is not, or where the id is not known.
    """
    messages: int = 0
    """Messages that were read, each counted once."""
    files: int = 0
    """Files that were read: those with messages, and the history."""
    bytes: int = 0
    """The size of these files."""
    hashes: int = 0
    """Checksums that were compared and are equal."""
    first: int | None = None
    """The lowest message id that was read."""
    last: int | None = None
    """The highest message id that was read."""

    @property
    def count(self) -> int:
        """The number of problems."""
        return len(self.problems) + self.more

    def add(self, problem: Problem) -> None:
        """Add a problem."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more += 1

    def note(self, note: Problem) -> None:
        """Add a note."""
        self.notes.append(note)
