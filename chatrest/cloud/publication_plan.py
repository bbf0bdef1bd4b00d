"""The manifest of a published version, and the plan of the next one: what to send, what to delete. Pure.

Two objects describe a store:
- `published.json`, the manifest: the files of the version that readers see.
- `publishing.json`, the worklist: every object that a publication wrote or will write (`known`), and those
  that may be deleted (`deleting`). Readers ignore it.

The rules that keep a version whole:
- The name of an object holds the number of its publication and the beginning of its hash. Every publication
  has a number of its own, also one that fails, so a name is never used for other bytes.
- An object is in the worklist before it is sent, so whatever a crash leaves is known.
- An object is in `deleting` before it is deleted, and such a name is never used again.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, Final, final

import msgspec
from msgspec import Struct

from ..errors import RequestInvalidError
from .address import check_name
from .store_errors import ObjectStoreError

MANIFEST: Final = "published.json"
WORKLIST: Final = "publishing.json"
RESERVED: Final = frozenset({MANIFEST, WORKLIST, "writer.json"})
FORMAT: Final = 1
_HASH_DIGITS: Final = 16
_NUMBER: Final = re.compile(rf"-\d+-([0-9a-f]{{{_HASH_DIGITS}}})(?=\.|$)")
_KEEP_HASH: Final = r"-\1"


@final
class PublishedFile(Struct, frozen=True):
    """A file of a version."""

    name: str
    """Of the file, as the reader sees it."""
    stored_as: str
    """The name of the object."""
    size: int
    sha256: str


@final
class Manifest(Struct, frozen=True):
    """A version: its files are complete and unchanged as long as the manifest is the current one."""

    generation: int
    """The number of the publication that made it, larger than that of any before; 0 before the first."""
    files: list[PublishedFile]
    format: int = FORMAT

    @property
    def stored_names(self) -> frozenset[str]:
        """The names of the version's objects."""
        return frozenset(file.stored_as for file in self.files)


@final
class Worklist(Struct, frozen=True):
    """The objects of publications that are not finished."""

    number: int = 0
    """Of the last publication that sent anything."""
    known: list[str] = []
    deleting: list[str] = []
    format: int = FORMAT


@final
class LocalFile(Struct, frozen=True):
    """A file to be published."""

    name: str
    size: int
    sha256: str


@final
class PublicationPlan(Struct, frozen=True):
    """The next version and the work for it."""

    manifest: Manifest
    worklist: Worklist
    """To be written before anything is sent."""
    send: list[PublishedFile]
    """Objects that are not in the current version."""
    leftovers: frozenset[str]
    """Objects of `send` that a crashed publication may have sent."""
    is_current: bool
    """True if the current version has exactly these files, so that no new one is needed."""


EMPTY: Final = Manifest(0, [])


def plan_publication(files: Iterable[LocalFile], current: Manifest, worklist: Worklist) -> PublicationPlan:
    """Return the plan that makes `files` the next version after `current`.

    A file that is unchanged keeps its object, and one that a crashed publication sent may keep that.
    """
    number = max(current.generation, worklist.number) + 1
    unchanged = {(file.name, file.size, file.sha256): file for file in current.files}
    leftovers = _leftovers(current, worklist)
    entries: list[PublishedFile] = []
    send: list[PublishedFile] = []
    for file in sorted(files, key=lambda file: file.name):
        entry = unchanged.get((file.name, file.size, file.sha256))
        if entry is None:
            name = stored_name(file.name, number, file.sha256)
            name = leftovers.get(_without_number(name), name)
            entry = PublishedFile(file.name, name, file.size, file.sha256)
            send.append(entry)
        entries.append(entry)
    if current.generation and not send and len(entries) == len(current.files):
        return PublicationPlan(current, worklist, [], frozenset(), True)
    manifest = Manifest(number, entries)
    known = manifest.stored_names | current.stored_names | {*worklist.known}
    work = Worklist(number, sorted(known - {*worklist.deleting}), worklist.deleting)
    return PublicationPlan(manifest, work, send, frozenset(leftovers.values()), False)


def unreferenced(manifest: Manifest, worklist: Worklist) -> list[str]:
    """Return the objects that publications wrote and that the manifest, now in place, does not refer to."""
    return sorted({*worklist.known, *worklist.deleting} - manifest.stored_names)


def stored_name(name: str, generation: int, sha256: str) -> str:
    """Return the name of an object: `messages/a.ndjson.gz` → `messages/a-7-9f86d081884c7d65.ndjson.gz`."""
    path = PurePosixPath(name)
    stem, dot, suffixes = path.name.partition(".")
    return str(path.with_name(f"{stem}-{generation}-{sha256[:_HASH_DIGITS]}{dot}{suffixes}"))


def check_names(names: Iterable[str]) -> None:
    """Raise `RequestInvalidError` for a name that a store cannot have or that the publication uses itself."""
    for name in names:
        check_name(name)
        if name in RESERVED:
            raise RequestInvalidError(f"name = {name!r}: the name is reserved")


def encoded(value: Manifest | Worklist) -> bytes:
    """Return the content of the object."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def decode_manifest(data: bytes, target: str) -> Manifest:
    """Return the manifest in an object's content; `ObjectStoreError` if it is damaged."""
    manifest: Manifest = _decoded(data, Manifest, target)
    _check_stored([name for file in manifest.files for name in (file.name, file.stored_as)], target)
    return manifest


def decode_worklist(data: bytes, target: str) -> Worklist:
    """Return the worklist in an object's content; `ObjectStoreError` if it is damaged."""
    worklist: Worklist = _decoded(data, Worklist, target)
    _check_stored([*worklist.known, *worklist.deleting], target)
    return worklist


def _check_stored(names: list[str], target: str) -> None:
    try:
        check_names(names)
    except RequestInvalidError as error:
        raise ObjectStoreError(f"{target} is damaged: {error}") from None


def _leftovers(current: Manifest, worklist: Worklist) -> dict[str, str]:
    """Return the objects that a crashed publication may have sent, by their names without number.

    Those that may be under deletion are not among them.
    """
    names = {*worklist.known} - {*worklist.deleting} - current.stored_names
    return {_without_number(name): name for name in sorted(names)}


def _without_number(name: str) -> str:
    folder, _, last = name.rpartition("/")
    return f"{folder}/{_NUMBER.sub(_KEEP_HASH, last, count=1)}"


def _decoded(data: bytes, kind: Any, target: str) -> Any:
    try:
        value = msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = None
    if value is None or value.format != FORMAT:
        raise ObjectStoreError(f"{target} is damaged, or of another version of chatrest")
    return value
