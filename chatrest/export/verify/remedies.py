"""The remedies that `verify` names, and what the journal has for the bytes of a damaged file.

No remedy may lose a message, whatever the cause of the problem is: nothing is deleted or cut, a file is moved
out of the folder and kept, and a run is advised only where it refuses to touch what it does not know.
"""

from typing import Final, final

from ..file_names import DAMAGED
from ..id_set import IdSet
from ..journal.reader import JournalReader
from ..journal.records import Block
from ..journal.schema import NAME as JOURNAL, UnreadableError
from ..manifest import NAME as MANIFEST, FileEntry

SHOWN_SOURCES: Final = 3


@final
class Remedies:
    """The remedies for one folder."""

    def __init__(self, folder: object, *, can_continue: bool) -> None:
        """`can_continue`: the journal is there, undamaged, and belongs to the manifest."""
        self._folder = folder
        self._can_continue = can_continue

    @property
    def run(self) -> str:
        """For what the next run does by itself."""
        if not self._can_continue:
            return self.restore
        return f"run `chatrest export {self._folder}` again"

    @property
    def restore(self) -> str:
        """For a journal or manifest that cannot be used; a run refuses to touch anything beside it."""
        return (
            f"keep the folder as it is; restore {JOURNAL} and {MANIFEST} from one backup of the same time as "
            "the files, or export into another folder"
        )

    @property
    def manifest(self) -> str:
        """For a manifest that is damaged or lost: a run writes it anew, unless files are newer."""
        if not self._can_continue:
            return self.restore
        return (
            f"restore the one that belongs to {JOURNAL}, or {self.run}: it writes a new one, and refuses to "
            "where files are newer than the journal"
        )

    def file(self, entry: FileEntry) -> str:
        """For a file that is damaged or missing."""
        if not self._can_continue:
            return f"restore the file from a backup, or {self.restore}"
        if entry.role == "history":
            return (
                f"older versions cannot be read again: restore {entry.name} from a backup, or move it out of "
                f"the folder, keep what is left, and {self.run}: later versions go into a new file"
            )
        return (
            f"restore {entry.name} from a backup, or move it out of the folder, and {self.run}: what was in "
            "it is read again; keep the moved file, as what was deleted in the service is in it alone"
        )

    def missing_file(self, entry: FileEntry) -> str:
        """For a file that is not there."""
        if not self._can_continue or entry.role == "history":
            return f"put {entry.name} back, from a backup if need be"
        return (
            f"put {entry.name} back, or {self.run}: what was in it is read again, without what was deleted "
            "in the service"
        )

    def longer_file(self, entry: FileEntry) -> str:
        """For a file that has grown since the last run: it may be newer than journal and manifest."""
        newer = f"if {entry.name} is newer than {JOURNAL} and {MANIFEST}, restore those that belong to it"
        if not self._can_continue:
            return newer
        return f"{newer}; if not, {self.run}: it keeps a copy in the folder {DAMAGED}, and cuts the file"

    @property
    def foreign(self) -> str:
        """For a name or link that leads out of the folder: no export makes one."""
        return (
            "do not run an export in this folder: it could overwrite files elsewhere; export into another one"
        )

    @property
    def unknown_file(self) -> str:
        """For a file that is no part of the export."""
        return "move it out of the folder, and keep it if you do not know what it is"

    @property
    def database_log(self) -> str:
        """For a file that another program has left beside the database."""
        return f"close the program that uses the database, and {self.run}; do not remove the file by hand"


@final
class BlockIndex:
    """The blocks of the journal by the names of their files; without a journal nothing is known."""

    def __init__(self, journal: JournalReader | None) -> None:
        self._journal = journal
        self._numbers: dict[str, int] | None = None
        self._names: dict[int, str] = {}
        self._file = ""
        self._blocks: list[Block] | None = None

    def ids_at(self, entry: FileEntry, start: int) -> IdSet | None:
        """Return the ids of the block at a byte of a file; None where that is not known."""
        blocks = self._of(entry)
        return None if blocks is None else next((each.ids for each in blocks if each.start == start), IdSet())

    def ids_of(self, entry: FileEntry) -> IdSet | None:
        """Return the ids of all blocks of a file; None where that is not known."""
        blocks = self._of(entry)
        if blocks is None or entry.name.endswith(".sqlite"):  # its ids are its rows
            return None
        return IdSet.union(block.ids for block in blocks)

    def messages_in(self, entry: FileEntry, start: int, end: int) -> str:
        """Return in words the messages in some bytes of a file."""
        blocks = [each for each in self._of(entry) or () if not entry.blocks or start <= each.start < end]
        if not blocks:
            return f"{entry.messages:,} messages are in the file, ids {entry.first_id} to {entry.last_id}"
        by_source: dict[int, list[Block]] = {}
        for block in blocks:
            by_source.setdefault(block.source, []).append(block)
        sources = [self._range(source, group) for source, group in by_source.items()]
        more = len(sources) - SHOWN_SOURCES
        rest = f" and {more:,} sources more" if more > 0 else ""
        count = sum(block.rows for block in blocks)
        return f"{count:,} messages, {', '.join(sources[:SHOWN_SOURCES])}{rest}"

    def _range(self, source: int, blocks: list[Block]) -> str:
        first, last = min(block.first for block in blocks), max(block.last for block in blocks)
        name = self._names.get(source, f"source {source}" if source else "")
        return f"{name} ids {first} to {last}".lstrip()

    def _of(self, entry: FileEntry) -> list[Block] | None:
        if entry.name != self._file:
            self._file = entry.name
            try:
                self._blocks = self._read(entry.name)
            except (UnreadableError, OSError):  # reported where the journal itself is checked
                self._blocks = None
        return self._blocks

    def _read(self, name: str) -> list[Block] | None:
        if self._journal is None:
            return None
        if self._numbers is None:
            self._numbers = {file.name: file.number for file in self._journal.files()}
            self._names = {each.number: str(each.source) for each in self._journal.sources()}
        number = self._numbers.get(name)
        return None if number is None else self._journal.blocks(number)
