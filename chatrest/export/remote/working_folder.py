"""The folder of `--journal`: a local copy of the export, and what it goes on from.

| name          | holds                                                                                   |
|---------------|-----------------------------------------------------------------------------------------|
| `export`      | the export's folder, without data files that are in the store                           |
| `export.next` | a newer version while it is fetched: it takes the place of `export` as a whole          |
| `export.old`  | the copy whose place it takes, for a moment                                             |
| `export.kept-N` | a copy with a run that was never published, while another machine has gone on         |
| `store.json`  | the address, and the version that `export` goes on from                                 |
| `hashes.json` | hashes of files that have not changed since                                             |
"""

import hashlib
import os
import shutil
import socket
import sys
from pathlib import Path
from secrets import token_hex
from typing import Final, final

import msgspec
from msgspec import Struct, structs

from ...cloud.address import parse_address
from ...cloud.publication_plan import PublishedFile, Version
from ...errors import ChatRestError, RequestInvalidError
from ..disk import Disk, make_folder, sync_folder
from ..journal import NAME as JOURNAL
from ..journal.reader import JournalReader
from ..manifest import find, put
from ..opening import INCOMPLETE, FolderLock
from .file_hashes import FileHashes
from .stored_files import may_be_remote

_STATE: Final = "store.json"
_EXPORT: Final = "export"


@final
class _State(Struct, frozen=True, kw_only=True):
    """The content of `store.json`."""

    address: str
    owner: str
    """A random text: the writer's id is made of it."""
    base: str = ""
    """The digest of the version that `export` goes on from; an empty text before the first."""
    next: str = ""
    """The digest of the version that was about to take its place."""
    generation: str = ""
    """Of the copy's manifest when it was that version."""


@final
class WorkingFolder:
    """The folder of one address, held by one process until `close()`.

    Raises `RequestInvalidError` for a folder of another address, or for one that overlaps a `file://` store,
    and `InUseError` where another process has it.
    """

    def __init__(self, root: Path, address: str) -> None:
        target = parse_address(address)
        if target.scheme == "file" and _overlap(root, Path(target.prefix)):
            raise RequestInvalidError(
                f"journal = '{root}' and the store '{target}': one folder is in the other; choose another"
            )
        make_folder(Disk(), root)
        self._root = root
        self._lock = FolderLock(root)
        try:
            self._state = self._read_state(str(target))
        except BaseException:
            self._lock.release()
            raise
        self.folder = root / _EXPORT
        """The export's folder; it may not be there yet."""
        self.hashes = FileHashes(root / "hashes.json")
        if not self.folder.exists() and self._old.exists():  # a crash came between two renamings
            self._old.rename(self.folder)

    def close(self) -> None:
        """Let go of the folder."""
        self._lock.release()

    @property
    def owner(self) -> str:
        """The id of this folder as a writer: a copy of the folder elsewhere has another one."""
        status = self._root.stat()
        text = f"{self._state.owner} {socket.gethostname()} {status.st_dev} {status.st_ino}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def is_current(self, version: Version) -> bool:
        """Return True if the copy is, or goes on from, this version of the store."""
        if not version.number:
            return True
        return self.folder.exists() and version.digest in (self._state.base, self._state.next)

    def note_next(self, version: Version) -> None:
        """Note that the copy is about to be a version; noted before that can be seen in the store."""
        self._write(structs.replace(self._state, next=version.digest))

    def note_base(self, version: Version) -> None:
        """Note that the copy is a version, which readers see."""
        is_finished = version.about.get("finished") is not None  # else the run goes on in the copy
        generation = str(version.about.get("generation", "")) if is_finished else ""
        self._write(structs.replace(self._state, base=version.digest, next="", generation=generation))
        self._remove_old()

    def mark_incomplete(self, folder: Path) -> None:
        """Note in a copy that data files may be in the store only, before the first is."""
        if not (path := folder / INCOMPLETE).exists():
            put(Disk(), path, f"{self._state.address}\n".encode())

    # ── a newer version ──

    def begin_fetch(self, version: Version) -> Path:
        """Return the folder for the files of a version; unchanged ones of the copy are linked there."""
        self._remove_old()
        make_folder(Disk(), self._next)
        if any(may_be_remote(file.name) for file in version.files):
            self.mark_incomplete(self._next)
        if self._is_published():
            for file in version.files:
                self._link(file)
        return self._next

    def finish_fetch(self, version: Version) -> Path | None:
        """Put the fetched files in the place of the copy.

        Returns the new path of the copy if it may hold messages that the version lacks, of a run that was
        never published, else None: it is removed.
        """
        names = {file.name for file in version.files} | {INCOMPLETE}
        for path in [path for path in self._next.rglob("*") if path.is_file()]:
            if path.relative_to(self._next).as_posix() not in names:
                path.unlink()  # of another version, whose download was interrupted
        kept = None
        if self.folder.exists():
            if not self._is_published() and not (version.complete and self._is_part_of_next()):
                kept = self._free_name()
            self.folder.rename(kept or self._old)
        self.note_next(version)
        self._next.rename(self.folder)
        sync_folder(Disk(), self._root)
        self.note_base(version)
        return kept

    def _is_published(self) -> bool:
        """Return True if the copy is as it was published or fetched last."""
        try:
            manifest = find(self.folder)
        except ChatRestError:
            return False
        return manifest is not None and manifest.generation == self._state.generation

    def _is_part_of_next(self) -> bool:
        """Return True if all ids that the copy has seen are among those of the complete version."""
        try:
            with (
                JournalReader(self.folder / JOURNAL) as copy,
                JournalReader(self._next / JOURNAL) as new,
            ):
                others = {each.key for each in copy.other_ids()} - {each.key for each in new.other_ids()}
                return not others and copy.all_seen() <= new.all_seen()
        except (ChatRestError, OSError):
            return False

    def _link(self, file: PublishedFile) -> None:
        """Link a file of the copy to where it is fetched, if it is the same."""
        path, link = self.folder / file.name, self._next / file.name
        if link.exists() or not path.is_file() or path.stat().st_size != file.size:
            return
        if self.hashes.sha256(path, file.size) == file.sha256:
            make_folder(Disk(), link.parent)
            try:
                os.link(path, link)
            except OSError:  # a disk without links
                shutil.copyfile(path, link)

    def _free_name(self) -> Path:
        number = 1
        while (path := self._root / f"{_EXPORT}.kept-{number}").exists():
            number += 1
        return path

    def _remove_old(self) -> None:
        if self._old.exists():
            shutil.rmtree(self._old)

    @property
    def _next(self) -> Path:
        return self._root / f"{_EXPORT}.next"

    @property
    def _old(self) -> Path:
        return self._root / f"{_EXPORT}.old"

    # ── the state ──

    def _read_state(self, address: str) -> _State:
        path = self._root / _STATE
        try:
            state = msgspec.json.decode(path.read_bytes(), type=_State)
        except FileNotFoundError:
            if name := next((each.name for each in self._root.iterdir() if each.name != _EXPORT), None):
                raise RequestInvalidError(
                    f"folder '{self._root}' holds something else than the journal of an export in an object "
                    f"store, such as {name}, and is not touched: choose another folder"
                ) from None
            state = _State(address=address, owner=token_hex(16))
            put(Disk(), path, msgspec.json.encode(state))
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ChatRestError(f"{path} is damaged: choose another folder") from None
        if state.address != address:
            raise RequestInvalidError(
                f"folder '{self._root}' is of {state.address}, and not of {address}: choose another folder"
            )
        return state

    def _write(self, state: _State) -> None:
        if state != self._state:
            put(Disk(), self._root / _STATE, msgspec.json.encode(state))
            self._state = state


def default_root(address: str) -> Path:
    """Return the folder of an address among the user's own files, which need not exist.

    It is below `XDG_STATE_HOME`, `LOCALAPPDATA` on Windows, else `~/.local/state`.
    """
    target = str(parse_address(address))
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME"
    states = os.environ.get(variable) or Path.home() / ".local" / "state"
    return Path(states) / "chatrest" / hashlib.sha256(target.encode()).hexdigest()[:16]


def _overlap(first: Path, second: Path) -> bool:
    first, second = first.resolve(), second.resolve()
    return first.is_relative_to(second) or second.is_relative_to(first)
