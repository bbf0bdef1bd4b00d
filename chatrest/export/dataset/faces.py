"""The avatars of users and the icons of groups, as files that the export's people and groups link to.

A message names who wrote it and who it was written to, each with the address of a face. So faces need no
table, and are of those alone who take part in the messages of this export, deleted users included. Where the
export has the tables `users` and `groups`, the faces are those of the tables, which are newer.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..._models.raw_json import REFUSED
from ..folder.export_folder import ExportFolder
from ..folder.manifest import table_entries
from ..folder.tables import find_table, read_table
from ..formats.stored_records import milliseconds
from .attachment_journal import Link, text_or_none


class _Entity(Struct, gc=False):
    uid: Any = None
    avatar: Any = None
    guid: Any = None
    icon: Any = None


class _Wrapper(Struct, gc=False):
    entity: _Entity | None = None


class _Entities(Struct, gc=False, rename={"for_": "for"}):
    sender: _Wrapper | None = None
    by: _Wrapper | None = None
    receiver: _Wrapper | None = None
    for_: _Wrapper | None = None


class _Data(Struct, gc=False):
    entities: _Entities | None = None


class _Message(Struct, gc=False, rename="camel"):
    data: _Data | None = None
    sent_at: Any = None


NEWEST: Final = 1 << 62
"""When the face of a table is seen: in the same run, and in each later one again."""
_MESSAGE: Final = msgspec.json.Decoder(_Message)
_ENTITY: Final = msgspec.json.Decoder(_Entity)


def add_faces(faces: dict[tuple[str, str], Link], raw: bytes) -> None:
    """Add who a message names, each with the newest face; that of who has none is an empty address."""
    for face in _faces_of(raw):
        known = faces.get(key := (face.kind, face.owner))
        if known is None or (known.url != "", known.seen_at) <= (face.url != "", face.seen_at):
            faces[key] = face


def _faces_of(raw: bytes) -> Iterator[Link]:
    with suppress(*REFUSED):  # a record of another shape names nobody
        message = _MESSAGE.decode(raw)
        entities = message.data and message.data.entities
        sent = message.sent_at if type(message.sent_at) is int else 0
        seen_at = min(max(milliseconds(sent), 0), NEWEST - 1)
        for each in (entities.sender, entities.by, entities.receiver, entities.for_) if entities else ():
            if each is not None and each.entity is not None:
                yield from _face(each.entity, seen_at)


def _face(entity: _Entity, seen_at: int) -> Iterator[Link]:
    kind, key, url = (
        ("user", entity.uid, entity.avatar) if entity.uid else ("group", entity.guid, entity.icon)
    )
    if owner := text_or_none(key):
        yield Link(owner, 0, text_or_none(url) or "", kind=kind, seen_at=seen_at)


def faces_of_tables(export: ExportFolder) -> Iterator[Link]:
    """Yield the faces of the tables `users` and `groups`, as far as the export has them."""
    for entry in table_entries(export.journal):
        if entry.table in ("users", "groups") and (path := find_table(export.folder, entry)) is not None:
            for raw in read_table(path, entry.table):
                with suppress(*REFUSED):
                    yield from _face(_ENTITY.decode(raw), NEWEST)
