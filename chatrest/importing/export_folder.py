"""An export as the input of an import: its tables of users, groups and members, and its messages.

| part                | records                                                                        |
|---------------------|--------------------------------------------------------------------------------|
| users               | all users, active ones and those that are deactivated                          |
| groups              | all groups; one with a password gets a random one                              |
| members             | all members, with their scope and `joinedAt`                                   |
| messages            | those that an import takes, by their ids, in whichever files they are          |
| users (deactivated) | the same users once more, with `deactivatedAt`: before, they could send nothing |
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, final

from ..errors import ChatRestError, RequestInvalidError
from ..export.dataset.snapshot import find_table
from ..export.dataset.tables import read_table
from ..export.file_names import path_inside
from ..export.manifest import NAME as MANIFEST, Manifest, read
from ..export.reading import read_raw
from .entities import Kind, Reader, read_object
from .input_files import Input, number_records
from .message_order import MessageOrder
from .shown_records import read_active, read_again, read_shown

_TABLES: Final[tuple[Kind, ...]] = ("users", "groups", "members")
_REASONS_SHOWN: Final = 3
DEFAULT_ROLE: Final = "default"
"""The role that every app has."""


@final
class ExportFolder:
    """The export in a folder, to be imported; `close` removes what was sorted.

    Reads all messages once when they are sorted. Raises `RequestInvalidError` for an export that is not
    complete, if `allow_incomplete` is not given, and for one whose files are not those of its manifest.
    """

    def __init__(self, folder: Path, *, allow_incomplete: bool) -> None:
        self._folder = folder
        manifest = _manifest_of(folder, allow_incomplete=allow_incomplete)
        _check_sizes(folder, manifest)
        self._tables = _tables_of(folder, manifest)
        self._conversations = sum(entry.rows for entry in manifest.tables if entry.table == "conversations")
        self._order: MessageOrder | None = None

    def close(self) -> None:
        """Remove what was sorted."""
        if self._order is not None:
            self._order.close()

    def parts(self) -> Iterator[Input]:
        """Yield the parts in the order in which they are imported."""
        for kind in _TABLES:
            if kind in self._tables:
                yield self._part(
                    kind, kind, self._table(kind), read_active if kind == "users" else read_shown
                )
        yield self._part("messages", "messages", self._messages, read_shown)
        if "users" in self._tables:
            name = "users (deactivated)"
            yield self._part(name, "users", self._deactivated, read_again, is_last=True)

    def _part(
        self,
        name: str,
        kind: Kind,
        records: Callable[[], Iterable[bytes]],
        read: Reader,
        *,
        is_last: bool = False,
    ) -> Input:
        name = f"{self._folder.resolve().name}/{name}"
        return Input(name, self._folder, kind, partial(number_records, name, records), read, is_last)

    def omissions(self) -> dict[str, int]:
        """Return what the export holds beside the records, and no import takes."""
        counts = {
            "conversations (their tags, pins and unread counts)": self._conversations,
            "rights of roles (a missing role is made without them)": len(self.roles() - {DEFAULT_ROLE}),
        }
        return {what: count for what, count in counts.items() if count}

    def roles(self) -> set[str]:
        """Return the roles of all users."""
        records = map(_object, self._table("users")()) if "users" in self._tables else ()
        return {role for record in records if isinstance(role := record.get("role"), str) and role}

    def _table(self, kind: Kind) -> Callable[[], Iterable[bytes]]:
        return lambda: read_table(self._tables[kind], kind)

    def _messages(self) -> Iterator[bytes]:
        if self._order is None:
            self._order = MessageOrder(read_raw(self._folder))
        return self._order.records()

    def _deactivated(self) -> Iterator[bytes]:
        return (raw for raw in self._table("users")() if _object(raw).get("deactivatedAt"))  # 0 is never


def _check_sizes(folder: Path, manifest: Manifest) -> None:
    """Refuse files of messages that are not as the manifest says, by their sizes."""
    for entry in manifest.files:
        path = path_inside(folder, entry.name)
        if not path.is_file() or path.stat().st_size != entry.bytes:
            raise _changed(path, folder)


def _manifest_of(folder: Path, *, allow_incomplete: bool) -> Manifest:
    try:
        manifest = read(folder / MANIFEST)
    except RequestInvalidError:
        raise
    except ChatRestError as error:
        raise RequestInvalidError(str(error)) from None
    if not manifest.complete and not allow_incomplete:
        reasons = "; ".join(manifest.reasons[:_REASONS_SHOWN]) or "it is being written, or was interrupted"
        raise RequestInvalidError(
            f"the export in {folder} is not complete ({reasons}): run the export again, or allow it with "
            "allow_incomplete (--incomplete)"
        )
    return manifest


def _tables_of(folder: Path, manifest: Manifest) -> dict[Kind, Path]:
    paths: dict[Kind, Path] = {}
    entries = {entry.table: entry for entry in manifest.tables}
    for kind in _TABLES:
        if kind in entries:
            path = find_table(folder, entries[kind])
            if path is None:
                raise _changed(folder / entries[kind].file, folder)
            paths[kind] = path
    return paths


def _changed(path: Path, folder: Path) -> RequestInvalidError:
    return RequestInvalidError(
        f"{path} is not as the manifest says: `chatrest verify {folder}` tells what is wrong"
    )


def _object(raw: bytes) -> dict[str, object]:
    try:
        return read_object(raw)
    except RequestInvalidError:  # it is named as a line that cannot be imported
        return {}
