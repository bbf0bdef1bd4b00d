"""`compact`: merge the small files that daily runs leave into larger ones."""

import sqlite3
import time
from pathlib import Path
from typing import Final

from ..errors import RequestInvalidError
from .archive import Archive, RemoteFiles
from .disk import Disk
from .manifest import VERSION, Manifest, find, write_finished, write_unfinished
from .report import Report

_MERGING: Final = "its files are being merged, or that was interrupted"


def compact_folder(folder: Path, *, disk: Disk | None = None, remote: RemoteFiles | None = None) -> int:
    """Merge the small files of the export in a folder; described at `chatrest.export.compact`."""
    manifest = _finished(folder)
    try:
        with Archive(folder, app_id=manifest.app_id, disk=disk, remote=remote) as archive:
            if missing := len(archive.missing()):
                raise RequestInvalidError(
                    f"{folder} lacks {missing:,} messages that were on disk: export into it again first"
                )
            place = archive.folder, archive.disk, archive.journal
            archive.before_change = lambda: write_unfinished(
                *place, manifest.started, _MERGING, is_merging=True
            )
            gone = archive.compact()
            if gone or manifest.version != VERSION:
                write_finished(*place, _report(manifest))
    except sqlite3.Error as error:  # a disk that is full says it this way, too
        raise OSError(f"{folder}: {error}") from error
    return gone


def _finished(folder: Path) -> Manifest:
    manifest = find(folder) if folder.is_dir() else None
    if manifest is None:
        raise RequestInvalidError(f"folder '{folder}' is not an export: it has no manifest.json")
    if manifest.finished is None and not manifest.is_merging:
        raise RequestInvalidError(
            f"the last run of the export in '{folder}' did not come to its end: export into it again first"
        )
    return manifest


def _report(manifest: Manifest) -> Report:
    """Return the result of the last run, for the manifest: a merge changes nothing of it."""
    is_whole = manifest.finished is not None
    return Report(
        complete=manifest.complete,
        reasons=manifest.reasons if is_whole else ["merging its files was interrupted: export into it again"],
        until=None if manifest.until is None else int(manifest.until),
        messages=manifest.messages,
        started=manifest.started,
        finished=manifest.finished or int(time.time()),
    )
