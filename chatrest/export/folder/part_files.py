"""The files that the parts of an export have in common, and those that they leave one another.

All of them are small, written whole, and read whole. Those of an object store are `remote.part_objects`.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..._threads import in_thread
from ...errors import ChatRestError, RequestInvalidError
from ..plan.parts import (
    FOREIGN,
    NAME,
    STAMP,
    STATE,
    Foreign,
    NightFindings,
    NightUsers,
    PartOwnership,
    Parts,
    PartState,
    digits,
    part_name,
    unpacked,
)
from ..store.disk import Disk, make_folder
from .folder_access import FolderLock, refuse_others
from .journal import NAME as JOURNAL
from .manifest import NAME as MANIFEST, put


class StampedFile(NamedTuple):
    """A file, and what shows it from any other content under the same name."""

    data: bytes
    stamp: str


class PartFiles:
    """The files below the folder of an export of parts.

    A file has one writer at a time: who has the lock of its part, or of the folder.
    """

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self._folder = folder
        self._disk = disk or Disk()

    @property
    def place(self) -> str:
        return str(self._folder)

    async def read(self, name: str) -> StampedFile | None:

        def read() -> StampedFile | None:
            try:
                data = (self._folder / name).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None
            return StampedFile(data, _stamp(data))

        return await in_thread(read)

    async def write(self, name: str, data: bytes, former: StampedFile | None) -> bool:
        """Write a file in the place of `former`, None for none; False where it is another one by now."""

        def write() -> None:
            path = self._folder / name
            make_folder(self._disk, path.parent)
            put(self._disk, path, data)

        await in_thread(write)
        return True

    async def stamps(self, folder: str) -> dict[str, str]:

        def read() -> dict[str, str]:
            stamps = dict[str, str]()
            for path in (self._folder / folder).glob("*.ids"):
                with path.open("rb") as file:
                    stamps[path.name] = _stamp(file.read(STAMP))
            return stamps

        return await in_thread(read)

    async def remove(self, name: str) -> None:
        await in_thread(partial(self._disk.remove, self._folder / name))

    async def lost(self, names: list[str]) -> list[str]:
        """Return the files that were written, and are not there any more."""
        return await in_thread(lambda: [name for name in names if not (self._folder / name).exists()])

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold the right to write `parts.json` and the files of the nights.

        Raises `InUseError` or `LeaseHeldError` where another process has it.
        """
        await in_thread(partial(make_folder, self._disk, self._folder))
        lock = await in_thread(partial(FolderLock, self._folder), FolderLock.release)
        try:
            yield
        finally:
            lock.release()

    async def is_held(self, part: str = "") -> bool:
        """Return whether somebody seems to be running a part, or to begin a night: taking it would wait."""
        return False  # the lock of a folder answers at once

    async def check_free(self) -> None:
        """Refuse a place that holds one export, or something else, with `RequestInvalidError`."""
        folder = self._folder

        def check() -> None:
            if not folder.exists():
                return
            if not folder.is_dir():
                raise RequestInvalidError(f"'{folder}' is not a folder: choose another path")
            if any((folder / name).exists() for name in (JOURNAL, MANIFEST)):
                raise one_export_error(f"folder '{folder}'")
            refuse_others(folder, lambda name: name.startswith((NAME, "users", "news")))

        await in_thread(check)


def _stamp(data: bytes) -> str:
    return data[:STAMP].decode("latin-1")


def one_export_error(place: str) -> RequestInvalidError:
    return RequestInvalidError(
        f"{place} holds an export that is not of parts: expected no parts (--parts, --part, --claim) for it, "
        "or another place"
    )


async def find_parts(files: PartFiles) -> tuple[Parts, StampedFile] | None:
    """Return `parts.json`, None where there is none; raises as `Parts.parse`."""
    stored = await files.read(NAME)
    return None if stored is None else (Parts.parse(stored.data, f"{files.place}/{NAME}"), stored)


async def read_news(files: PartFiles, parts: Parts, night: int) -> NightFindings:
    """Return what a night has found; `ChatRestError` where its file is lost or damaged."""
    name = parts.nights[night].news
    return unpacked(await _data(files, name), NightFindings, f"{files.place}/{name}")


async def read_users(files: PartFiles, parts: Parts) -> list[NightUsers]:
    """Return the users of each night that has listed new ones, and no others: some ten bytes a user.

    Raises `ChatRestError` where a file is lost or damaged.
    """
    return [
        unpacked(await _data(files, name), NightUsers, f"{files.place}/{name}") if name else NightUsers()
        for name in (night.users for night in parts.nights)
    ]


def ownership(parts: Parts, nights: Iterable[Iterable[str]]) -> PartOwnership:
    """Return which part writes a message, for the users that each night has listed."""
    rule = PartOwnership(parts.plan, parts.parts)
    for uids in nights:
        rule.add_night(uids)
    return rule


async def read_state(files: PartFiles, parts: Parts, number: int) -> PartState:
    """Return how far a part is; one that was never read to its end is at the night -1."""
    name = f"{part_name(number, parts.parts)}/{STATE}"
    stored = await files.read(name)
    return PartState() if stored is None else PartState.parse(stored.data, f"{files.place}/{name}")


async def stamps_for(files: PartFiles, parts: Parts, number: int) -> dict[str, str]:
    return await files.stamps(f"{part_name(number, parts.parts)}/{FOREIGN}")


async def is_settled(files: PartFiles, parts: Parts, number: int, state: PartState) -> bool:
    """Return whether a part has taken in all that others have left there."""
    return (await stamps_for(files, parts, number)).items() <= state.taken.items()


def foreign_name(parts: Parts, owner: int, number: int) -> str:
    return f"{part_name(owner, parts.parts)}/{FOREIGN}/{digits(number, parts.parts)}.ids"


async def add_foreign(files: PartFiles, name: str, foreign: Foreign) -> None:
    """Add ids and messages to those that were left before.

    Nothing is ever taken out of such a file: a process that has lost its lease does no harm here.
    """
    while True:
        former = await files.read(name)
        try:
            merged = foreign if former is None else foreign.merged(Foreign.parse(former.data, name))
        except ChatRestError:  # damaged: all of it is written again
            merged = foreign
        data = merged.encoded()
        if (former is not None and former.data == data) or await files.write(name, data, former):
            return


async def _data(files: PartFiles, name: str) -> bytes:
    stored = await files.read(name)
    if stored is None:
        raise ChatRestError(f"{files.place}/{name} is lost: restore it from a backup, as {NAME} names it")
    return stored.data
