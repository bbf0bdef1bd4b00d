"""Simulated crashes of an export: at any call of the disk or the journal, and with a power failure.

The folder is copied at the moment of the crash and restored afterwards, so that later cleanup has no effect.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any, BinaryIO

import pytest

from chatrest import AsyncSession, _storage as storage
from chatrest.export import Plan, Report
from chatrest.export.folder.export_folder import RemoteFiles
from chatrest.export.folder.journal import NAME
from chatrest.export.run.folder_run import ExportOptions, export_folder
from chatrest.export.store.disk import Disk

every = False
"""True if each instant is tried; `python -m benchmarks.kills` sets it."""


def instants(first: int, step: int) -> Iterator[int]:
    """The instants at which a test lets its process die, without end."""
    yield from count(1) if every else count(first, step)


class ProcessDeath(BaseException):
    """The simulated crash of the process."""


class Fate:
    """A crash at call number `at` of the disk or the journal.

    A call that changes no file has no number: a crash there leaves the folder as one at the next call does.
    At that moment the folder is copied to `grave`, so that cleanup, such as closing and rollback, does not
    change the files that the next process finds. All later calls raise `ProcessDeath`.
    """

    UNNUMBERED: tuple[str, ...] = ("sync", "BEGIN IMMEDIATE")

    def __init__(self, out: Path, at: int, *, seed: int = 0) -> None:
        self.out, self.at = out, at
        self.grave = out.with_name(out.name + ".grave")
        self.count = 0
        self.dead = False
        self.dice = Random(f"{seed}/{at}")
        self.asked: list[str] = []

    def step(self, name: str, last_words: Callable[[], object] | None = None) -> None:
        if self.dead:
            raise ProcessDeath
        self.asked.append(name)
        if name in self.UNNUMBERED:
            return
        self.count += 1
        if self.count == self.at:
            self.dead = True
            if last_words is not None:
                last_words()
            self.bury()
            raise ProcessDeath(f"at {name}")

    def bury(self) -> None:
        if self.out.exists():
            shutil.copytree(self.out, self.grave)

    def close(self) -> None:
        """Let go of what it holds."""

    def rise(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        if self.grave.exists():
            self.grave.rename(self.out)


class DyingDisk(Disk):
    """A disk on which any call may crash the process; the last write may be partial."""

    def __init__(self, fate: Fate) -> None:
        self.fate = fate

    def write(self, file: int, at: int, data: bytes) -> int:
        torn = data[: self.fate.dice.randrange(len(data) + 1)]
        self.fate.step("write", lambda: os.pwrite(file, torn, at))
        return super().write(file, at, data)

    def sync(self, file: int) -> None:
        self.fate.step("sync")
        super().sync(file)

    def replace(self, old: Path, new: Path) -> None:
        self.fate.step("replace")
        super().replace(old, new)

    def remove(self, path: Path) -> None:
        self.fate.step("remove")
        super().remove(path)


class ForgetfulFate(Fate):
    """A power failure: bytes, names and renames that were not synced are lost.

    In every other case names and sizes are kept, as on some file systems, and bytes not synced are zeros. The
    files of SQLite stay as they are: with `synchronous=FULL` a commit is on the disk.
    """

    UNNUMBERED = ("BEGIN IMMEDIATE",)

    def __init__(self, out: Path, at: int, *, seed: int = 0) -> None:
        super().__init__(out, at, seed=seed)
        self.bytes: dict[int, bytes] = {}
        self.held: list[BinaryIO] = []
        """The files of these bytes, kept open: the number of one that is removed is not given to another."""
        self.names: dict[Path, int | None] = {}
        """The files and folders whose names are on the disk, below the export's; None for a folder."""
        for path in self._all_paths():
            if path.is_file():
                self.hold(path)
        self.see_all_names()

    def _all_paths(self) -> list[Path]:
        return list(self.out.rglob("*")) if self.out.exists() else []

    def see_all_names(self) -> None:
        self.names = {}
        for folder in [self.out, *filter(Path.is_dir, self._all_paths())]:
            self.see_names(folder)

    def see_names(self, folder: Path) -> None:
        base = folder.relative_to(self.out)
        self.names = {name: inode for name, inode in self.names.items() if name.parent != base}
        for path in folder.iterdir() if folder.exists() else ():
            self.names[base / path.name] = None if path.is_dir() else path.stat().st_ino

    def synced(self, file: int) -> None:
        path = Path(f"/proc/self/fd/{file}").readlink()
        if path.is_dir():
            if path.is_relative_to(self.out):
                self.see_names(path)
        else:
            self.hold(path)

    def hold(self, path: Path) -> None:
        inode = path.stat().st_ino
        if inode not in self.bytes:
            self.held.append(path.open("rb"))
        self.bytes[inode] = path.read_bytes()

    def close(self) -> None:
        for file in self.held:
            file.close()

    def bury(self) -> None:
        self.grave.mkdir()
        keeps_sizes = self.at // 2 % 2 == 1
        if keeps_sizes:
            self.see_all_names()
        for name, inode in self.names.items():
            is_there = all(folder in self.names for folder in name.parents[:-1])
            if inode is not None and is_there and not name.name.startswith(NAME):
                data = self.bytes.get(inode, b"")
                size = (self.out / name).stat().st_size if keeps_sizes else len(data)
                (self.grave / name).parent.mkdir(parents=True, exist_ok=True)
                (self.grave / name).write_bytes(data[:size].ljust(size, b"\0"))
        for path in self.out.glob(f"{NAME}*"):
            shutil.copy(path, self.grave / path.name)


class ForgetfulDisk(DyingDisk):
    fate: ForgetfulFate

    def sync(self, file: int) -> None:
        super().sync(file)
        self.fate.synced(file)


class _DyingConnection:
    """An SQLite connection on which any statement may crash the process.

    Only statements that can change the disk count: a crash inside a transaction equals one before its end.
    """

    def __init__(self, db: sqlite3.Connection, fate: Fate) -> None:
        self._db, self._fate = db, fate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> Any:
        self._step(sql)
        return self._db.execute(sql, *values)

    def executemany(self, sql: str, *values: Any) -> Any:
        self._step(sql)
        return self._db.executemany(sql, *values)

    def executescript(self, sql: str) -> Any:
        self._fate.step("script")
        return self._db.executescript(sql)

    def _step(self, sql: str) -> None:
        if self._fate.dead or sql == "COMMIT" or not (self._db.in_transaction or sql.startswith("SELECT")):
            self._fate.step(sql[:20])


def wrap_connections(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, wrap: Callable[[sqlite3.Connection], Any]
) -> None:
    """Wrap all databases that a module opens from now on."""

    def connect(*args: Any, **options: Any) -> Any:
        return wrap(sqlite3.connect(*args, **options))

    own = {name: getattr(sqlite3, name) for name in dir(sqlite3) if not name.startswith("_")}
    monkeypatch.setattr(module, "sqlite3", SimpleNamespace(**own | {"connect": connect}))


def dying_journal(monkeypatch: pytest.MonkeyPatch, fate: Fate, module: ModuleType = storage) -> None:
    """Let all journals that are opened from now on, or the databases of a module, crash with `fate`."""
    wrap_connections(monkeypatch, module, lambda db: _DyingConnection(db, fate))


async def dies(
    session: AsyncSession,
    fate: Fate,
    plan: Plan | None,
    monkeypatch: pytest.MonkeyPatch,
    *,
    statements: bool = True,
    remote: RemoteFiles | None = None,
    **options: Any,
) -> Report | None:
    """Export until the crash of `fate`, and return None; return the report if there was none."""
    disk = ForgetfulDisk(fate) if isinstance(fate, ForgetfulFate) else DyingDisk(fate)
    with monkeypatch.context() as patched:
        if statements:
            dying_journal(patched, fate)
        try:
            report = await export_folder(
                session, fate.out, plan, ExportOptions(**options), disk=disk, remote=remote
            )
        except ProcessDeath:
            fate.rise()
            return None
        finally:
            fate.close()
    assert not fate.dead
    return report
