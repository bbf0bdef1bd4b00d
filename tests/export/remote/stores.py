"""The contents of a bucket, listed without our readers, and runs that wait for their publications."""

import threading
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest

from chatrest._cloud.lease import LEASE
from chatrest._cloud.publication import MANIFEST, Version
from chatrest._cloud.store import ObjectStore
from chatrest.export.fetch import page_queue
from chatrest.export.folder.export_folder import ExportFolder
from chatrest.export.folder.fetched_page import FetchedPage
from chatrest.export.folder.page_commit import CommitStats
from tests.support.export_runs import ids_of, manifest_of


async def named(store: ObjectStore, version: Version) -> set[str]:
    """The objects that a version names: those of the files that change, and what its own manifest names."""
    objects = {file.name: file.object for file in version.files}
    with TemporaryDirectory() as folder:
        await store.download(objects["manifest.json"], Path(folder, "manifest.json"))
        return {*objects.values(), *(entry.name for entry in manifest_of(Path(folder)).files)}


async def ids_in_bucket(store: ObjectStore) -> list[str]:
    with TemporaryDirectory() as folder:
        for name in [info.name async for info in store.list("messages")]:
            await store.download(name, Path(folder, name))
        return ids_of(Path(folder))


async def assert_bucket(store: ObjectStore, ids: list[str], beside: str | tuple[str, ...] = "-") -> None:
    """Assert that a bucket holds what its manifest names, the lease, what is `beside`; each id once."""
    version = msgspec.json.decode((await store.get(MANIFEST)).data, type=Version)
    there = {info.name async for info in store.list()} - {MANIFEST, LEASE}
    assert {name for name in there if not name.startswith(beside)} == await named(store, version)
    assert await ids_in_bucket(store) == ids


class Publications:
    """From now on each commit has one page, and returns after two more calls of `note`, or of `end`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._noted, self._is_over, self._changed = 0, False, threading.Condition()
        commit = ExportFolder.commit

        def commit_and_wait(folder: ExportFolder, pages: Iterable[FetchedPage]) -> CommitStats:
            stats = commit(folder, pages)
            with self._changed:
                number = self._noted
                assert self._changed.wait_for(lambda: self._is_over or self._noted > number + 1, timeout=120)
            return stats

        monkeypatch.setattr(page_queue, "MAX_PAGES", 1)
        monkeypatch.setattr(ExportFolder, "commit", commit_and_wait)

    def note(self) -> None:
        """Say that a publication is over, or begins."""
        with self._changed:
            self._noted += 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let no commit wait any more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
