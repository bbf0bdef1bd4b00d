"""The result of `verify`: whether an export is complete and undamaged, and where it is not.

A problem is a claim of the export that does not hold. A note is information about an export that may be
correct all the same, such as a journal that is missing, or a file that a killed run left behind.
"""

from typing import Final, Literal, TypeAlias, final

from msgspec import Struct

from ..file_names import DAMAGED
from ..journal import NAME as JOURNAL
from ..manifest import NAME as MANIFEST, FileEntry

Kind: TypeAlias = Literal[
    "manifest", "incomplete", "missing", "size", "damaged", "content", "duplicate", "unknown", "coverage",
    "journal", "unsafe",
]  # fmt: skip

MOST_PROBLEMS: Final = 1_000
"""Problems that are listed; more are counted, as an export of millions of blocks may be damaged in all."""
_IDS_SHOWN: Final = 3


@final
class Problem(Struct, frozen=True):
    """A problem of an export, or a note about it."""

    kind: Kind
    place: str
    """The file, below the export's folder, or the source."""
    text: str
    """A sentence that describes it."""
    remedy: str = ""
    """A way to mend it without losing anything; empty where nothing needs to be done."""

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

    def add(self, kind: Kind, place: str, text: str, remedy: str = "") -> None:
        """Add a problem."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(kind, place, text, remedy))
        else:
            self.more += 1

    def note(self, kind: Kind, place: str, text: str) -> None:
        """Add a note."""
        self.notes.append(Problem(kind, place, text))


@final
class Remedies(Struct, frozen=True):
    """The remedies for one folder, a text each.

    None may lose a message, whatever the cause of the problem is: nothing is deleted or cut, a file is moved
    out of the folder and kept, and a run is advised only where it refuses to touch what it does not know.
    """

    folder: str
    can_continue: bool = False
    """True where the journal is there, undamaged, and belongs to the manifest."""

    @property
    def run(self) -> str:
        """For what the next run does by itself."""
        return f"run `chatrest export {self.folder}` again" if self.can_continue else RESTORE

    @property
    def manifest(self) -> str:
        """For a manifest that is damaged or lost: a run writes it anew, unless files are newer."""
        if not self.can_continue:
            return RESTORE
        return (
            f"restore the one that belongs to {JOURNAL}, or {self.run}: it writes a new one, and refuses to "
            "where files are newer than the journal"
        )

    def file(self, entry: FileEntry) -> str:
        """For a file that is damaged or missing."""
        restore = f"restore {entry.name} from a backup"
        if not self.can_continue:
            return f"{restore}, or {RESTORE}"
        if entry.role == "history":
            return (
                f"{restore}, as older versions cannot be read again; or move it out of the folder, keep what "
                f"is left, and {self.run}: later versions go into a new file"
            )
        return (
            f"{restore}, as what was deleted in the service is in it alone; or move it out of the folder, if "
            f"it is there, and keep it, and {self.run}: what was in it is read again"
        )

    def longer_file(self, entry: FileEntry) -> str:
        """For a file that has grown since the last run: it may be newer than journal and manifest."""
        newer = f"if {entry.name} is newer than {JOURNAL} and {MANIFEST}, restore those that belong to it"
        if not self.can_continue:
            return newer
        return f"{newer}; if not, {self.run}: it keeps a copy in the folder {DAMAGED}, and cuts the file"


RESTORE: Final = (
    f"keep the folder as it is; restore {JOURNAL} and {MANIFEST} from one backup of the same time as the "
    "files, or export into another folder"
)
"""For a journal or manifest that cannot be used: a run refuses to touch anything beside it."""
FOREIGN: Final = (
    "do not run an export in this folder: it could overwrite files elsewhere; export into another one"
)
"""For a name or link that leads out of the folder: no export makes one."""
UNKNOWN_FILE: Final = "move it out of the folder, and keep it if you do not know what it is"
DATABASE_LOG: Final = (
    "close the program that uses the database, and export again; do not remove the file by hand"
)


def shortened(ids: list[str]) -> str:
    """Return the first few ids, and how many more there are."""
    more = len(ids) - _IDS_SHOWN
    return ", ".join(ids[:_IDS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
