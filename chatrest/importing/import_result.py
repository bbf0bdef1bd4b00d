"""The result of an import: counts for each file, and every line that was refused."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from .import_records import Kind


class LineNote(Struct, frozen=True, kw_only=True):
    """A line that was not imported. `code` is the service's, or one of these.

    | code        | meaning                                                                            |
    |-------------|------------------------------------------------------------------------------------|
    | `invalid`   | the line is not a record that can be imported; it was not sent                     |
    | `no outcome`| the reply does not mention the record                                              |
    | `skipped`   | a stored record that no import can make again: an action, a call, a deleted one    |
    """

    file: str
    line: int
    """From 1."""
    code: str
    message: str
    key: str = ""
    """The uid, guid, member id or muid; empty if the line has none."""

    @property
    def is_skipped(self) -> bool:
        """True for a line that was left out without being an error."""
        return self.code == SKIPPED

    def __str__(self) -> str:
        key = f" ({self.key})" if self.key else ""
        return f"{self.file}:{self.line}{key}: {self.code}: {self.message}"


INVALID = "invalid"
NO_OUTCOME = "no outcome"
SKIPPED = "skipped"
_MAX_OMISSIONS: Final = 100


class FileResult(Struct, frozen=True, kw_only=True):
    """The counts of one file. A line is in one of them, or empty."""

    file: str
    kind: Kind
    lines: int = 0
    imported: int = 0
    """Records that the service has accepted, also those of an interrupted request that was sent again and had
    arrived the first time; in a dry run, records that would be sent."""
    skipped: int = 0
    refused: int = 0


class Omission(Struct, frozen=True):
    """Something that lines of the files hold and no import takes."""

    description: str
    """Such as `deleted messages`, or `the member 'new' of users` for one that this library does not know."""
    count: int
    """The number of records that hold it."""


class ImportResult(Struct, frozen=True, kw_only=True):
    """The state of an import over all runs with its journal, or the result of a check."""

    files: tuple[FileResult, ...]
    refused: tuple[LineNote, ...]
    dry_run: bool = False
    not_carried: tuple[Omission, ...] = ()
    """What the files hold and no import takes, the most frequent first: an app's copy is without it."""

    @property
    def imported(self) -> int:
        """The records that the service has, of all files."""
        return sum(file.imported for file in self.files)

    @property
    def skipped(self) -> int:
        """The lines that were left out without being an error."""
        return sum(file.skipped for file in self.files)

    @property
    def ok(self) -> bool:
        """True if nothing was refused."""
        return not any(file.refused for file in self.files)


def list_omissions(counts: Mapping[str, int]) -> tuple[Omission, ...]:
    """Return omissions, the most frequent first; from the 101st on, the rarer ones are counted as one."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    rare_count = sum(count for _, count in ordered[_MAX_OMISSIONS:])
    listed = [Omission(description, count) for description, count in ordered[:_MAX_OMISSIONS]]
    return (*listed, *([Omission("other members", rare_count)] if rare_count else []))
