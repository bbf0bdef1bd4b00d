"""The local files of which a version of the export is made: its state at one moment.

What changes is copied to a folder, as a run may go on writing while the files are sent.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ..._cloud.publication import LocalFile
from ..._cloud.transfer import file_sha256
from ...errors import ChatRestError
from ..dataset.attachment_journal import NAME as ATTACHMENT_JOURNAL, AttachmentJournal
from ..folder.export_folder import ExportFolder
from ..folder.journal import GENERATION, NAME as JOURNAL, Journal
from ..folder.manifest import NAME as MANIFEST, Manifest, find
from ..folder.run_log import NAME as RUNS
from ..folder.tables import ATTACHMENTS
from ..plan.file_names import HISTORY, MESSAGES, path_inside

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
    if manifest is None or manifest.finished is not None:
        return None
    if manifest.generation != export.journal[GENERATION]:
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
