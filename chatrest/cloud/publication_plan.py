"""The manifest of a published version, and the plan of the next one: what to send, what to delete. Pure.

`manifest.json` has the files of the version that readers see, `publishing.json` the objects of a publication
that may have ended before its manifest, or before its deletions. The rules that keep a version whole:
- The name of an object holds the number of its version and the beginning of its hash, so that a name is never
  used for other bytes; its folder and suffixes stay, for readers of the dataset.
- A version that is being sent has a number above that of the manifest. A writer deletes objects of numbers
  up to that of the manifest that it has written, so even one that lost its lease unawares deletes nothing of
  its successor's.
- An object is in `publishing.json` before it is sent, or before the manifest ceases to refer to it: so
  whatever a crash leaves is known.
- An upload that a writer began while it had the lease may end after its successor has cleaned up. Such an
  object is recognised in a folder of the version's files by its name, which has the hash that is recorded
  with it. No other object is ever deleted.
"""

import hashlib
import re
from collections.abc import Container, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final, final

import msgspec
from msgspec import Struct

from ..errors import RequestInvalidError
from .address import check_name
from .store_errors import ObjectStoreError

MANIFEST: Final = "manifest.json"
WORKLIST: Final = "publishing.json"
RESERVED: Final = frozenset({MANIFEST, WORKLIST, "writer.json"})
"""The objects that are no files of a version."""
FORMAT: Final = 1
_HASH_DIGITS: Final = 16
_NUMBER: Final = re.compile(rf"-(\d+)-[0-9a-f]{{{_HASH_DIGITS}}}(?:\.[^/]*)?\Z")


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
class Version(Struct, frozen=True):
    """The content of the manifest: its files are whole and unchanged as long as it is the current one."""

    number: int
    """Larger than that of any version before; 0 before the first."""
    files: list[PublishedFile]
    complete: bool = True
    """False for a version of work that is not finished."""
    about: dict[str, int | str | bool | None] = {}
    """Facts for people and monitors."""
    format: int = FORMAT

    @property
    def stored_names(self) -> frozenset[str]:
        """The names of the version's objects."""
        return frozenset(file.stored_as for file in self.files)

    def encoded(self) -> bytes:
        """Return the content of the object."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"

    @property
    def digest(self) -> str:
        """A SHA-256 that no other version of any store has."""
        return hashlib.sha256(self.encoded()).hexdigest()


@final
class LocalFile(Struct, frozen=True):
    """A file to be published."""

    name: str
    path: Path
    size: int
    """Bytes of it that are published, from its start: it may grow meanwhile."""
    sha256: str
    """Of these bytes."""


@final
class PublicationPlan(Struct, frozen=True):
    """The next version and the work for it."""

    version: Version
    send: list[tuple[PublishedFile, LocalFile]]
    """Objects that are not in the current version, and their files."""
    is_current: bool
    """True if the current version is exactly this one, so that no new one is needed."""


EMPTY: Final = Version(0, [])


def plan_publication(
    files: Iterable[LocalFile],
    current: Version,
    *,
    kept: Iterable[str] = (),
    damaged: Container[str] = (),
    complete: bool = True,
    about: Mapping[str, int | str | bool | None] | None = None,
) -> PublicationPlan:
    """Return the plan that makes `files` the next version after `current`.

    A file that is unchanged keeps its object, unless that is `damaged`; those that are `kept`, by name, are
    taken over from `current`.
    """
    number = current.number + 1
    known = {file.name: file for file in current.files}
    entries = {name: known[name] for name in kept if name in known}
    known = {name: file for name, file in known.items() if file.stored_as not in damaged}
    send: list[tuple[PublishedFile, LocalFile]] = []
    for file in files:
        entry = known.get(file.name)
        if entry is None or (entry.size, entry.sha256) != (file.size, file.sha256):
            stored_as = stored_name(file.name, number, file.sha256)
            entry = PublishedFile(file.name, stored_as, file.size, file.sha256)
            send.append((entry, file))
        entries[file.name] = entry
    version = Version(number, [entries[name] for name in sorted(entries)], complete, dict(about or {}))
    is_current = current.number > 0 and msgspec.structs.replace(version, number=current.number) == current
    return PublicationPlan(current if is_current else version, send, is_current)


def worklist(plan: PublicationPlan, former: Version, leftovers: Iterable[str]) -> list[str]:
    """Return the objects that the publication of `plan` may send, and those it supersedes."""
    new = {entry.stored_as for entry, _ in plan.send}
    return sorted(new | {*leftovers} | (former.stored_names - plan.version.stored_names))


def unreferenced(version: Version, stored: Iterable[str]) -> list[str]:
    """Return the objects among `stored` that no reader needs any more.

    `version` is the current one; objects of publications after it are left alone.
    """
    names = version.stored_names
    numbered = ((name, _NUMBER.search(name)) for name in stored if name not in names)
    return sorted(name for name, match in numbered if match and int(match[1]) <= version.number)


def orphans(version: Version, stored: Iterable[str], leftovers: Container[str]) -> list[str]:
    """Return the objects among `stored` that nothing refers to, in the folders of the version's files."""
    folders = {file.stored_as.partition("/")[0] for file in version.files if "/" in file.stored_as}
    names = [name for name in stored if name not in leftovers and name.partition("/")[0] in folders]
    return unreferenced(version, names)


def is_named_by(name: str, sha256: str) -> bool:
    """Return True for an object's name that has the beginning of this hash."""
    return is_numbered(name) and f"-{sha256[:_HASH_DIGITS]}" in PurePosixPath(name).name


def leftovers(names: Iterable[str], stored: Container[str], version: Version) -> list[str]:
    """Return the objects of a worklist that may be there: the list of a store shows what it has by now.

    Those of a publication that has not replaced the manifest are kept: its last upload may not have ended.
    """
    numbers = ((name, _NUMBER.search(name)) for name in names)
    return [name for name, match in numbers if name in stored or (match and int(match[1]) > version.number)]


def is_numbered(name: str) -> bool:
    """Return True for the name of an object that a publication has written, or is writing."""
    return _NUMBER.search(name) is not None


def stored_name(name: str, number: int, sha256: str) -> str:
    """Return the name of an object: `messages/a.ndjson.gz` → `messages/a-7-9f86d081884c7d65.ndjson.gz`."""
    path = PurePosixPath(name)
    stem, dot, suffixes = path.name.partition(".")
    return str(path.with_name(f"{stem}-{number}-{sha256[:_HASH_DIGITS]}{dot}{suffixes}"))


def decode_version(data: bytes, target: str) -> Version:
    """Return the version in an object's content; `ObjectStoreError` names `target` if it is damaged."""
    try:
        version = msgspec.json.decode(data, type=Version)
        for file in version.files:
            check_name(file.name)
            check_name(file.stored_as)
    except (msgspec.DecodeError, UnicodeDecodeError, RequestInvalidError):
        version = None
    if version is None or version.format != FORMAT:
        raise ObjectStoreError(f"{target} is damaged, or no manifest of a published version")
    return version
