"""An export for its readers, in a folder or at the address of an object store."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, Self

from ...errors import ChatRestError
from ..folder.journal import NAME as JOURNAL
from ..folder.manifest import NAME as MANIFEST
from ..folder.opening import FolderState


class FolderView:
    """A folder with the manifest, journal and log of an export, and its other files one at a time.

    This one is of this machine, as it is: all files are there.
    """

    is_remote = False
    """True if a file costs a download."""

    def __init__(self, folder: Path, export: str = "") -> None:
        self.folder: Final = folder
        self.name = str(folder)
        """The folder's path, or the address of the store."""
        self.export: Final = export
        """Its path in a folder of exports, such as `part=03`; empty for an export itself."""

    @property
    def is_begun(self) -> bool:
        """False where no run has written anything yet."""
        return any((self.folder / name).exists() for name in (MANIFEST, JOURNAL))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what is on the local disk for readers alone; twice is fine."""
        return

    def expect(self, names: Iterable[str]) -> None:
        """Note the files that will be asked for, in their order, so that they can be fetched ahead."""
        return

    def file(self, name: str) -> AbstractContextManager[object]:
        """Have a file in the folder within the block; without effect for one that does not exist."""
        return nullcontext()

    def has(self, name: str) -> bool:
        """Return True if the export has a file of this name."""
        return (self.folder / name).exists()

    def remedy(self, name: str) -> str:
        """Return the way to mend a file that is lost or damaged; an empty text for that of a folder."""
        return ""

    def without_journal(self, state: FolderState, text: str) -> ChatRestError:
        """Return the error for what only the journal knows, as `text` says, where there is none to read."""
        fault = state.journal_fault or "it is lost"
        advice = self.remedy(JOURNAL) or state.journal_remedy or "export again"
        return ChatRestError(f"{self.name}/{JOURNAL}: {fault}; {text}: {advice}")

    def unknown(self) -> Iterator[tuple[str, bool]]:
        """Yield the names of objects that are no part of the export, and True for leftovers."""
        return iter(())
