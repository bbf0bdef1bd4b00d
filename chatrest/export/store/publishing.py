"""The plan for an object store: it holds the same files under the same names, and a manifest of them.

1. The files whose names are missing there are put; a name has one content for ever, so none is put again.
2. One conditional put replaces the manifest: from here on readers see the new state.
3. What no manifest names any more is deleted, and only what was listed, and is a name of ours.

A kill after any step leaves the last manifest with all of its files; the next publication lists, and goes on.
A late upload of a writer that lost its lease has a name of its own run, and is deleted by the third step.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from ...errors import ChatRestError
from .journal import StoreFile

MANIFEST: Final = "manifest.json"


class PublishedName(NamedTuple):
    """A file as the manifest has it."""

    name: str
    bytes: int
    sha256: str


class PublishPlan(NamedTuple):
    """What is done to an object store, in this order."""

    put: list[StoreFile]
    manifest: bytes
    delete: list[str]


def publish_plan(
    files: Iterable[StoreFile],
    listed: Mapping[str, int],
    kinds: Collection[str],
    members: Mapping[str, object],
) -> PublishPlan:
    """Return what brings an object store up to date with the sealed files.

    `listed` are the sizes of what lies there, by name; `kinds` the first parts of the names that are ours;
    `members` what else the manifest says. Raises `ChatRestError` where another content lies under a name.
    """
    sealed = {file.name: file for file in files if file.state == "sealed"}
    wrong = [name for name, file in sealed.items() if listed.get(name, file.size) != file.size]
    if wrong:
        raise ChatRestError(f"the object {wrong[0]} has another size than the file of this name: delete it")
    names = [
        PublishedName(file.name, file.size, file.sha256.hex() if file.sha256 else "")
        for file in sealed.values()
    ]
    manifest = msgspec.json.encode({**members, "files": [name._asdict() for name in names]})
    return PublishPlan(
        put=[file for name, file in sealed.items() if name not in listed],
        manifest=manifest,
        delete=sorted(name for name in listed if name not in sealed and _is_of(name, kinds)),
    )


def _is_of(name: str, kinds: Collection[str]) -> bool:
    return any(name.startswith((f"{kind}/", f"{kind}-", f"{kind}.")) for kind in kinds)
