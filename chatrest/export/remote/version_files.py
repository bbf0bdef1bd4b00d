"""The files of an export that a version has: at rest, and while a run is writing.

While a run is writing, a version is the state after a commit: the snapshot of the journal says how much of
each file counts. Files are linked at that moment, so that they can be sent while the run replaces them; what
is added to them meanwhile is behind the bytes that are sent.
"""

import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from ...cloud.publication_plan import LocalFile
from ...errors import ChatRestError, RequestInvalidError
from ..dataset.attachment_journal import NAME as ATTACHMENT_JOURNAL, AttachmentJournal
from ..dataset.tables import ATTACHMENTS
from ..file_names import DATABASE, SPOOL, path_inside
from ..journal import NAME as JOURNAL
from ..journal.journal import Journal
from ..journal.records import DataFile
from ..manifest import NAME as MANIFEST, Manifest, TableEntry, parse
from ..opening import file_path
from ..plan import Plan
from ..run_log import NAME as RUNS
from ..workspace import RemoteFiles
from .file_hashes import FileHashes
from .stored_files import SMALL, may_be_remote

_CONTENT_NAME: Final = re.compile(r"([0-9a-f]{64})(?:\.[a-z0-9]{1,10})?", re.ASCII)
"""The name of an attachment's file: the hash of its content."""


class StagedFile(NamedTuple):
    """A file of the next version."""

    name: str
    path: Path
    size: int
    sha256: str | None = None
    """None where it is not known yet."""
    may_be_remote: bool = False
    """True for a data file that the copy need not have once it is published."""


class Stage(NamedTuple):
    """The files of one moment."""

    manifest: Manifest
    files: list[StagedFile]
    remote: list[str]
    """The names of data files that are in the current version only."""


def stage_running(folder: Path, journal: Journal, staging: Path, remote: RemoteFiles) -> Stage | None:
    """Return the files of a run that is writing, called while it commits nothing; `staging` is empty.

    None where nothing has changed yet, where the run has ended, and for a database, which is whole only when
    it is closed. The files are links in `staging`, which is on the same disk. Files that the run does not
    write are not among them. Raises OSError where the disk has no links.
    """
    if not (folder / MANIFEST).exists():
        return None
    manifest = parse((folder / MANIFEST).read_bytes(), folder / MANIFEST)
    has_begun = manifest.finished is None and manifest.generation == journal["generation"]
    if not has_begun or Plan.parse(bytes(manifest.plan)).format == "sqlite":
        return None
    stage = _stage(folder, journal, staging, remote)
    files = []
    for number, file in enumerate(stage.files):
        if file.path.parent != staging:
            os.link(file.path, link := staging / f"link-{number}", follow_symlinks=False)
            file = file._replace(path=link)
        files.append(file)
    return stage._replace(files=files)


def stage_at_rest(folder: Path, staging: Path, remote: RemoteFiles) -> Stage:
    """Return the files of an export that nobody is writing; snapshots of its journals are in `staging`.

    Raises `InUseError` while a run is under way, and `ChatRestError` for an export that is damaged.
    """
    log = folder / f"{DATABASE}-wal"
    if log.is_file() and log.stat().st_size:
        raise RequestInvalidError(
            f"{log} holds rows that are not in {DATABASE} yet: close the program that uses the database"
        )
    with closing(Journal(folder / JOURNAL)) as journal:
        stage = _stage(folder, journal, staging, remote)
    attachments = path_inside(folder, ATTACHMENTS)
    for path in [folder / RUNS, *sorted((attachments / "files").rglob("*"))]:
        if path.is_file():
            match = _CONTENT_NAME.fullmatch(path.name)
            name = path.relative_to(folder).as_posix()
            path = path_inside(folder, name)
            stage.files.append(StagedFile(name, path, path.stat().st_size, match[1] if match else None))
    if (path := attachments / ATTACHMENT_JOURNAL).is_file():
        with AttachmentJournal(path) as links:
            links.write_snapshot(snapshot := staging / "attachments")
        name = f"{ATTACHMENTS}/{ATTACHMENT_JOURNAL}"
        stage.files.append(StagedFile(name, snapshot, snapshot.stat().st_size))
    return stage


def local_files(stage: Stage, hashes: FileHashes) -> list[LocalFile]:
    """Return the files with their hashes; reads those whose hash is not known."""
    files = []
    for file in stage.files:
        if file.path.stat().st_size < file.size:
            raise ChatRestError(f"{file.name} is shorter than the {file.size:,} bytes that were written")
        sha256 = file.sha256 or hashes.sha256(file.path, file.size)
        files.append(LocalFile(file.name, file.path, file.size, sha256))
    return files


def unchanged_data_files(stage: Stage, folder: Path) -> list[Path]:
    """Return the data files in the folder that are as they were staged, and that the copy need not have.

    Called while nobody writes. A file that was rewritten is another one, even of the same size.
    """
    paths = [(path_inside(folder, file.name), file) for file in stage.files if file.may_be_remote]
    return [path for path, file in paths if _has_size(path, file.size) and path.samefile(file.path)]


def _stage(folder: Path, journal: Journal, staging: Path, remote: RemoteFiles) -> Stage:
    content = (folder / MANIFEST).read_bytes()
    manifest = parse(content, folder / MANIFEST)
    journal.write_snapshot(staging / JOURNAL)
    (staging / MANIFEST).write_bytes(content)
    own = [StagedFile(name, staging / name, (staging / name).stat().st_size) for name in (JOURNAL, MANIFEST)]
    files = [file for file in journal.files() if file.size]
    names = [file.name for file in files if not file_path(folder, file.name).exists() and remote.has(file)]
    data = [_data_file(folder, file) for file in files if file.name not in {*names}]
    return Stage(manifest, [*own, *data, *_tables(folder, manifest)], names)


def _data_file(folder: Path, file: DataFile) -> StagedFile:
    path = file_path(folder, file.name)
    new = path_inside(folder, f"{SPOOL}/{file.number}.new")
    if file.state == "replacing" and new.exists():
        path = new
    may_drop = file.role == "part" and may_be_remote(file.name) and file.state != "replacing"
    may_drop = may_drop and (file.state == "whole" or file.size > SMALL)
    return StagedFile(file.name, path, file.size, file.digest.hex() if file.digest else None, may_drop)


def _tables(folder: Path, manifest: Manifest) -> Iterator[StagedFile]:
    """Yield the tables, also one that has not taken its place yet, as the run was killed."""
    for entry in manifest.tables:
        path = next((path for path in _table_paths(folder, entry) if _has_size(path, entry.bytes)), None)
        if path is None:
            raise ChatRestError(f"{folder / entry.file} is not as {MANIFEST} says: export again")
        yield StagedFile(entry.file, path, entry.bytes, entry.sha256)


def _table_paths(folder: Path, entry: TableEntry) -> tuple[Path, Path]:
    path = path_inside(folder, entry.file)
    return path.with_name(f"{path.name}.new"), path


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size
