"""The folder of `--journal`: a local copy of the export, what it continues from, and the files of a version.

| name            | holds                                                                                 |
|-----------------|---------------------------------------------------------------------------------------|
| `export`        | the export's folder, without data files that are in the store                         |
| `export.kept-N` | a copy with a run that was never published, while another machine has gone on         |
| `store.json`    | the address, and the version that `export` continues                                   |

A version is of one moment: what changes is copied, as a run may go on writing while the files are sent.
"""

import hashlib
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct, structs

from ..._cloud.address import parse_address
from ..._cloud.publication import LocalFile, Version
from ..._cloud.transfer import file_sha256
from ...errors import ChatRestError, RequestInvalidError
from ..dataset.attachment_journal import NAME as ATTACHMENT_JOURNAL, AttachmentJournal
from ..folder.export_folder import ExportFolder
from ..folder.folder_access import INCOMPLETE, FolderLock
from ..folder.journal import GENERATION, NAME as JOURNAL, Journal
from ..folder.manifest import NAME as MANIFEST, Manifest, find, find_undamaged, put
from ..folder.run_log import NAME as RUNS
from ..folder.tables import ATTACHMENTS
from ..plan.file_names import DAMAGED, HISTORY, MESSAGES, path_inside
from ..store.disk import Disk, make_folder, sync_folder

_STATE: Final = "store.json"
_EXPORT: Final = "export"


class _State(Struct, frozen=True):
    address: str
    owner: str
    base: str = ""
    """The digest of the version that `export` continues from; an empty text before the first."""
    next: str = ""
    """The digest of the version that was about to take its place."""
    generation: str = ""
    """Of the copy's manifest when it was that version."""
    is_fetching: bool = False
    """True while a version is fetched into `export`, which has nothing else then."""


class WorkingFolder:
    """The folder of one address, held by one process until `close()`.

    Raises `RequestInvalidError` for a folder of another address, and `InUseError` where another process has
    it.
    """

    def __init__(self, root: Path, address: str) -> None:
        make_folder(Disk(), root)
        self._root = root
        self._lock = FolderLock(root)
        try:
            self._state = self._read_state(str(parse_address(address)))
            for path in root.glob("staging-*"):  # which a run that was killed has left
                shutil.rmtree(path)
        except BaseException:
            self._lock.release()
            raise
        self.folder = root / _EXPORT

    def close(self) -> None:
        self._lock.release()

    @property
    def owner(self) -> str:
        """The id of this folder as a writer: a copy of the folder elsewhere has another one."""
        status = self._root.stat()
        text = f"{self._state.owner} {socket.gethostname()} {status.st_dev} {status.st_ino}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def is_current(self, version: Version) -> bool:
        """Return True if the copy is, or continues from, this version of the store."""
        if not version.number:
            return True
        is_there = (self.folder / JOURNAL).is_file() and not self._state.is_fetching
        return is_there and version.digest in (self._state.base, self._state.next)

    def note_next(self, version: Version) -> None:
        """Note that the copy is about to be a version; noted before that can be seen in the store."""
        self._write(structs.replace(self._state, next=version.digest))

    def note_base(self, version: Version) -> None:
        """Note that the copy is a version, which readers see."""
        is_finished = version.about.get("finished") is not None  # else the run continues in the copy
        generation = str(version.about.get("generation", "")) if is_finished else ""
        self._write(_State(self._state.address, self._state.owner, version.digest, "", generation))

    def mark_incomplete(self) -> None:
        """Note in the copy that data files may be in the store only, before the first is."""
        if not (path := self.folder / INCOMPLETE).exists():
            put(Disk(), path, f"{self._state.address}\n".encode())

    def begin_fetch(self) -> Path | None:
        """Let a newer version come into `export`, where what did not change may stay.

        Returns the new path of a copy that may hold what was never published; None if there is none.
        """
        former_copy, manifest = None, find_undamaged(self.folder)
        is_published = manifest is not None and manifest.generation == self._state.generation
        if self.folder.exists() and not self._state.is_fetching and not is_published:
            names = (self._root / f"{_EXPORT}.kept-{number}" for number in count(1))
            former_copy = next(path for path in names if not path.exists())
            self.folder.rename(former_copy)
        self._write(structs.replace(self._state, is_fetching=True))
        make_folder(Disk(), self.folder)
        self.mark_incomplete()
        for path in self.folder.glob(f"{JOURNAL}*"):
            path.unlink()
        return former_copy

    def end_fetch(self, version: Version, is_part: Callable[[str], bool]) -> None:
        """Note that all of a version is there, and remove what is no part of it."""
        for path in [path for path in self.folder.rglob("*") if path.is_file()]:
            name = path.relative_to(self.folder).as_posix()
            if not is_part(name) and not name.startswith((INCOMPLETE, f"{DAMAGED}/")):
                path.unlink()
        sync_folder(Disk(), self.folder)
        self.note_base(version)

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
            state = _State(address, token_hex(16))
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


ATTACHMENT_FILES: Final = f"{ATTACHMENTS}/files"
_LINKS: Final = f"{ATTACHMENTS}/{ATTACHMENT_JOURNAL}"
_CONTENT_NAME: Final = re.compile(r"[0-9a-f]{64}(?:\.[a-z0-9]{1,10})?", re.ASCII)


class Stage(NamedTuple):
    manifest: Manifest
    fixed: list[LocalFile]
    """The sealed files, which never change."""
    changing: list[LocalFile]
    """Copies of the journal, of the manifest and of what else a later version replaces."""
    attachments: list[LocalFile] | None = None
    """None while a run is writing: its end writes them."""


def stage_of_run(export: ExportFolder, folder: Path) -> Stage | None:
    """Seal what is committed, and return the state; called while the run commits nothing.

    None if nothing has changed yet, and where the run has ended.
    """
    manifest = find(export.folder)
    if manifest is None or manifest.finished is not None or manifest.generation != export.journal[GENERATION]:
        return None
    export.store.seal_all()
    return _stage(export.folder, export.journal, manifest, folder)


def stage_at_rest(export: Path, folder: Path) -> Stage:
    if (manifest := find(export)) is None:
        raise ChatRestError(f"{export / MANIFEST} is lost: export again")
    with Journal(export / JOURNAL) as journal:
        stage = _stage(export, journal, manifest, folder)
    paths = {RUNS: export / RUNS}
    for entry in manifest.tables:
        path = paths[entry.file] = path_inside(export, entry.file)
        if not path.is_file() or path.stat().st_size != entry.bytes:
            raise ChatRestError(f"{path} is not as {MANIFEST} says: export again")
    if (export / _LINKS).is_file():
        paths[_LINKS] = folder / "links"
        with AttachmentJournal(export / _LINKS) as links:
            links.write_snapshot(paths[_LINKS])
    changing = [*stage.changing, *_local_files(paths)]
    return stage._replace(changing=changing, attachments=_attachments(export))


def fixed_files(export: Path, journal: Journal) -> list[LocalFile]:
    """Return the sealed files of messages and older versions; a table changes."""
    return [
        LocalFile(file.name, export / file.name, file.size, file.sha256.hex())
        for file in journal.files("sealed")
        if file.sha256 and file.stem.startswith((f"{MESSAGES}/", HISTORY))
    ]


def _stage(export: Path, journal: Journal, manifest: Manifest, folder: Path) -> Stage:
    (folder / MANIFEST).write_bytes((export / MANIFEST).read_bytes())
    journal.write_snapshot(folder / JOURNAL)
    changing = _local_files({name: folder / name for name in (JOURNAL, MANIFEST)})
    return Stage(manifest, fixed_files(export, journal), changing)


def _local_files(paths: Mapping[str, Path]) -> list[LocalFile]:
    return [
        LocalFile(name, path, path.stat().st_size, file_sha256(path))
        for name, path in paths.items()
        if path.is_file()
    ]


def _attachments(export: Path) -> list[LocalFile]:
    names = [path.relative_to(export).as_posix() for path in sorted((export / ATTACHMENT_FILES).rglob("*"))]
    paths = {name: path_inside(export, name) for name in names if _CONTENT_NAME.fullmatch(Path(name).name)}
    return [LocalFile(name, path, path.stat().st_size, path.stem) for name, path in paths.items()]
