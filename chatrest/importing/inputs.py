"""The inputs of an import, in its order: files of lines, and the parts of exports.

| part of an export   | records                                                                        |
|---------------------|--------------------------------------------------------------------------------|
| users               | all users, active ones and those that are deactivated                          |
| groups              | all groups; one with a password gets a random one                              |
| members             | all members, with their scope and `joinedAt`                                   |
| messages            | those that an import takes, by their ids, in whichever files they are          |
| users (deactivated) | the same users again, with `deactivatedAt`: before, they could send nothing    |
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from functools import cached_property, partial
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final, NamedTuple

from .._cloud.address import is_address
from .._models.raw_json import write_value
from .._secrets import shown
from ..errors import RequestInvalidError
from ..export.read.exports import addresses_of
from ..export.read.facts import ExportFacts, facts_of
from ..export.read.reading import read_raw, read_table
from .entities import KINDS, Kind, Reader, kind_of, read_object
from .input_files import ImportLine, input_paths, number_records, read_lines
from .shown_records import read_active, read_again, read_line, read_shown

_BATCH: Final = 1000
_HIGHEST: Final = (1 << 63) - 1
SUFFIX: Final = ".import-journal"
DEFAULT_ROLE: Final = "default"
"""The role that every app has."""
_LINES_FOR_KIND: Final = 1000
_REASONS_SHOWN: Final = 3
_LEFT_OUT: Final = {
    "conversations": "conversations (their tags, pins and unread counts)",
    "bans": "bans of users from groups",
    "blocks": "blocked users",
}
"""Tables that no import takes, in words; the others are called by their names."""


class ImportInput(NamedTuple):
    """Lines of one kind."""

    name: str
    """In results and in the journal."""
    path: Path
    """The file, or the folder of the export; of one at an address, its name in the current folder."""
    kind: Kind
    lines: Callable[..., Iterator[ImportLine]]
    """Gives the lines after a position, once the bytes up to there and up to a second one are confirmed."""
    read: Reader
    is_last: bool = False
    """True for what comes after all kinds."""
    prepare: Callable[[], Iterator[object]] = tuple[object]().__iter__
    """Steps that are needed before the first line; each may read a file."""


class Inputs(NamedTuple):
    """All inputs of an import."""

    files: list[ImportInput]
    omissions: Counter[str]
    """What exports hold beside the records, and no import takes."""
    roles: frozenset[str]
    """Those of the users of exports, but for the one that every app has."""

    @property
    def names(self) -> list[tuple[str, Kind]]:
        """The files as the journal has them."""
        return [(each.name, each.kind) for each in self.files]

    def journal_path(self, journal: str | Path | None) -> Path:
        """Return the path of the journal, which may not be that of a file."""
        first = self.files[0].path
        path = first.with_name(first.name + SUFFIX) if journal is None else Path(journal)
        if path.resolve() in {each.path.resolve() for each in self.files}:
            raise RequestInvalidError(
                f"journal = {str(path)!r}: expected a path that is not one of the files to import"
            )
        return path


def read_inputs(
    files: str | PathLike[str] | Iterable[str | PathLike[str]],
    kind: Kind | None,
    stack: ExitStack,
    *,
    allow_incomplete: bool,
) -> Inputs:
    """Return the inputs, in the order in which they are imported; `stack` closes what they hold open."""
    if kind is not None and kind not in KINDS:
        raise RequestInvalidError(f"kind = {kind!r}: expected {', '.join(KINDS)}, or None")
    inputs: list[ImportInput] = []
    omissions: Counter[str] = Counter()
    roles: set[str] = set()
    paths: Any = [files] if isinstance(files, str | PathLike) else files
    for file in paths if isinstance(paths, Iterable) else [paths]:
        if not isinstance(file, str | PathLike):
            raise RequestInvalidError(f"files = {shown(files)}: expected a path, or a list of paths")
        if _is_export(file):
            export = _Export(file, kind, stack, allow_incomplete=allow_incomplete)
            inputs += export.parts()
            omissions.update(export.omissions() if kind is None else {})
            roles |= export.roles
        else:
            inputs += [
                ImportInput(
                    each.name, each, kind or _detected_kind(each), partial(read_lines, each), read_line
                )
                for each in input_paths(Path(file))
            ]
    if not inputs:
        raise RequestInvalidError("files: expected at least one file or folder")
    inputs.sort(key=lambda each: (each.is_last, KINDS.index(each.kind)))
    return Inputs(inputs, omissions, frozenset(roles))


def _is_export(file: str | PathLike[str]) -> bool:
    if isinstance(file, str) and is_address(file):
        return True
    return Path(file).is_dir() and any(each.name or each.open().is_begun for each in addresses_of(file))


def _detected_kind(path: Path) -> Kind:
    """Return the kind of the first record that shows one, within the first 1,000 lines."""
    fault = ""
    for line in read_lines(path):
        if line.end.line > _LINES_FOR_KIND:
            break
        try:
            kind = kind_of(read_object(line.raw or b"{}"))
        except RequestInvalidError as error:
            fault = fault or f" ({path.name}:{line.end.line}: {error})"
            continue
        if kind == "members" and path.name.startswith("bans."):
            break  # nothing in a banned user's record may tell it from that of a member
        if kind is not None:
            return kind
    raise RequestInvalidError(
        f"{path}: no record shows its kind{fault}; give the kind, which is one of {', '.join(KINDS)}"
    )


class _Export:
    """The export in a folder or at an address, or all of its parts, to be imported.

    All messages are read once, when they are sorted; of one at an address, a file at a time is on the disk,
    and a table whenever it is read. Raises `RequestInvalidError` for an export that is not complete, if
    `allow_incomplete` is not given, for one whose files are not those of its manifest, and for the exports of
    several apps.
    """

    def __init__(
        self, out: str | PathLike[str], kind: Kind | None, stack: ExitStack, *, allow_incomplete: bool
    ) -> None:
        self._out = out = fspath(out)
        self._messages = stack.enter_context(closing(MessageOrder(partial(read_raw, out))))
        self._path = Path(out.rstrip("/").rpartition("/")[2] if is_address(out) else out)
        self._rows = _checked_facts(out, allow_incomplete=allow_incomplete).tables
        kinds = [each for each in KINDS if each in self._rows or each == "messages"]
        if kind is not None and kind not in kinds:
            raise RequestInvalidError(
                f"kind = {kind!r}: the export in {out} has no such table: export it --with {kind}"
            )
        self._kinds = kinds if kind is None else [kind]

    def parts(self) -> Iterator[ImportInput]:
        """Yield the parts in the order in which they are imported."""
        for kind in self._kinds:
            if kind == "messages":
                part = self._part(kind, kind, self._messages.records, read_shown)
                yield part._replace(prepare=self._messages.fill)
            else:
                read = read_active if kind == "users" else read_shown
                yield self._part(kind, kind, partial(read_table, self._out, kind), read)
        if "users" in self._kinds:
            part = self._part("users (deactivated)", "users", self._deactivated, read_again)
            yield part._replace(is_last=True)

    def _part(
        self, name: str, kind: Kind, records: Callable[[], Iterable[bytes]], read: Reader
    ) -> ImportInput:
        name = f"{self._path.resolve().name}/{name}"
        return ImportInput(name, self._path, kind, partial(number_records, name, records), read)

    def omissions(self) -> dict[str, int]:
        """Return what the export holds beside the records, and no import takes."""
        counts = {_LEFT_OUT.get(name, name): rows for name, rows in self._rows.items() if name not in KINDS}
        counts["rights of roles (a missing role is made without them)"] = len(self.roles)
        return {what: count for what, count in counts.items() if count}

    @cached_property
    def roles(self) -> set[str]:
        """Return the roles of all users to import, but for the one that every app has."""
        users = read_table(self._out, "users") if "users" in self._kinds else ()
        roles = {_object(raw).get("role") for raw in users}
        return {role for role in roles if isinstance(role, str) and role} - {DEFAULT_ROLE}

    def _deactivated(self) -> Iterator[bytes]:
        users = read_table(self._out, "users")
        return (raw for raw in users if _object(raw).get("deactivatedAt"))  # 0 is never


def _checked_facts(out: str, *, allow_incomplete: bool) -> ExportFacts:
    facts = facts_of(out)
    if facts.missing_files:
        raise RequestInvalidError(
            f"{out}/{facts.missing_files[0]} is not as the manifest says: `chatrest verify {out}` shows what "
            "is wrong"
        )
    if "," in facts.app:
        raise RequestInvalidError(f"{out} holds exports of several apps ({facts.app}): import one of them")
    if facts.state == "damaged" or (facts.state != "complete" and not allow_incomplete):
        parts = [f"{each.export} is {each.state}" for each in facts.parts if each.state == "not begun"]
        reasons = "; ".join([*facts.reasons, *parts][:_REASONS_SHOWN]) or "it was interrupted"
        raise RequestInvalidError(
            f"the export in {out} is {facts.state} ({reasons}): run the export again, or allow one that is "
            "not complete with allow_incomplete (--incomplete)"
        )
    return facts


def _object(raw: bytes) -> dict[str, object]:
    try:
        return read_object(raw)
    except RequestInvalidError:  # it is named as a line that cannot be imported
        return {}


# ── messages in the order of their ids ──


class MessageOrder:
    """Messages in the order of their ids.

    A repeated `muid` is removed, so that the message gets another one: the service would refuse
    the second message.
    """

    def __init__(self, read: Callable[[], Iterable[bytes]]) -> None:
        """`read` gives all messages; it is called when they are first asked for."""
        self._read = read
        self._is_filled = False
        self._db = sqlite3.connect("", isolation_level=None, check_same_thread=False)

    def close(self) -> None:
        """Remove the database."""
        self._db.close()

    def records(self) -> Iterator[bytes]:
        """Yield the messages by their ids; those whose id is no number come last, by their time."""
        for _ in self.fill():
            pass
        sql = "SELECT raw FROM messages ORDER BY number IS NULL, number, sent_at, rowid"
        yield from (raw for (raw,) in self._db.execute(sql))

    def fill(self) -> Iterator[int]:
        """Read all messages, unless they were read before; yields their number, a thousand at a time."""
        if self._is_filled:
            return
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("CREATE TABLE messages(number INTEGER, sent_at INTEGER, raw BLOB NOT NULL)")
        self._db.execute("CREATE TABLE muids(muid BLOB PRIMARY KEY) WITHOUT ROWID")
        rows = map(self._row, self._read())
        self._db.execute("BEGIN")
        count = 0
        while batch := list(islice(rows, _BATCH)):
            self._db.executemany("INSERT INTO messages VALUES(?, ?, ?)", batch)
            yield (count := count + len(batch))
        self._db.execute("COMMIT")
        self._is_filled = True

    def _row(self, raw: bytes) -> tuple[int | None, int | None, bytes]:
        try:
            record = read_object(raw)
        except RequestInvalidError:  # it is named as a line that cannot be imported
            return None, None, raw
        if (muid := record.get("muid")) and self._is_known(str(muid)):
            raw = write_value({name: value for name, value in record.items() if name != "muid"})
        return _whole(record.get("id")), _whole(record.get("sentAt")), raw

    def _is_known(self, muid: str) -> bool:
        key = muid.encode(errors="surrogatepass")
        return self._db.execute("INSERT OR IGNORE INTO muids VALUES(?)", (key,)).rowcount == 0


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return value if type(value) is int and abs(value) <= _HIGHEST else None
