"""Make the index of a site from the export's database: by SQL, and pages and threads by one pass in order.

A database that has not changed costs nothing; of one that has, all is made again, in one transaction.
"""

import os
import zlib
from collections.abc import Collection, Iterator
from functools import cache
from hashlib import blake2b
from itertools import chain, count
from os import PathLike
from pathlib import Path
from typing import Any, Final
from unicodedata import bidirectional

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from ..database import load
from ..database.load import OnCount
from ..database.message_rows import database_beside
from ..database.schema import STATE
from ..export.seal.sealing import version
from . import index_schema as schema
from .contents import object_of, rank_of, record_of, text_of, token, visible
from .index import Index
from .pseudonyms import people_in
from .zone import Zone

MESSAGES: Final = 250
"""The most messages of a page."""
BYTES: Final = 280_000
"""The bytes of records after which a page ends."""
LONGEST: Final = 8_000
"""Bytes of a record that count: a longer text is shortened on its page."""
_MARKUP: Final = 250
_MAX_NAME: Final = 200
_NEWEST: Final = 20
"""Messages of somebody that are looked through for a name."""
_CODE: Final = ("site", "site/templates", "database", "_models")
"""The folders of all that decides how records are shown, and what of them is hidden."""
_BATCH: Final = 2_000
_KNOWN: Final = 20_000
"""People that are kept in memory, of whom most messages name two that others have named."""
_INVISIBLE: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters that are nothing but space."""


def database_of(out: str | PathLike[str], folder: Path) -> Path:
    """Return the path of the export's database: beside it, or where that cannot be in `folder`."""
    beside = database_beside(out)
    if beside is None or not (beside.exists() or os.access(beside.parent, os.W_OK)):
        return folder / "chat.sqlite"
    return beside


def update_index(index: Index, out: str | PathLike[str], database: Path, on_count: OnCount) -> None:
    """Load what is new in the export in `out`, and make the index of it.

    From then on the index shows this state. Raises as `load`; sqlite3.Error for a damaged index.
    """
    load(out, database, progress=on_count)
    index.attach(database)
    while True:
        index.db.execute("BEGIN")
        if _is_current(index):
            index.use_pseudonyms()
            return
        index.db.execute("ROLLBACK")
        _build(index)


@cache
def code_hash() -> str:
    """Return a hash of the code and templates: an index or page of another version is made again."""
    digest, package = blake2b(version().encode(), digest_size=16), Path(__file__).parents[1]
    for path in sorted(chain.from_iterable((package / folder).glob("*.*") for folder in _CODE)):
        if path.suffix in (".py", ".html", ".css", ".js"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _state(index: Index) -> str:
    rows = index.db.execute(f"SELECT name, value FROM chat.{STATE} ORDER BY name").fetchall()  # noqa: S608
    choice = [sorted(each) if isinstance(each, frozenset) else each for each in index.choice]
    [path] = [path for _, name, path in index.db.execute("PRAGMA database_list") if name == "chat"]
    return msgspec.json.encode([code_hash(), path, choice, rows]).decode()


def _is_current(index: Index) -> bool:
    has_state = index.db.execute("SELECT 1 FROM main.sqlite_master WHERE name = 'state'").fetchall()
    return bool(has_state) and index.db.execute("SELECT state FROM state").fetchall() == [(_state(index),)]


def _build(index: Index) -> None:
    db, choice = index.db, index.choice
    functions: tuple[tuple[str, int, Any], ...] = (
        ("rank", 1, rank_of), ("sign", 1, _sign), ("is_visible", 1, _is_visible),
        ("is_user", 2, lambda *key: _is_in(choice.users, *key)),
        ("is_chosen", 2, lambda *key: not choice.conversations or _is_in(choice.conversations, *key)),
    )  # fmt: skip
    for name, arguments, function in functions:
        db.create_function(name, arguments, function, deterministic=True)
    db.execute("BEGIN IMMEDIATE")
    try:
        for table in schema.TABLES:
            db.execute(f"DROP TABLE IF EXISTS main.{table}")  # never of the database that is attached
        since, until = choice.since or 0, (1 << 62) if choice.until is None else choice.until
        filter_users = schema.KEEP_USERS if choice.users else ""
        steps = [schema.SCHEMA, schema.ADD_POSTS, schema.FILL_CONVERSATIONS, filter_users]
        steps.append(schema.FILL_NAMES_AND_TABLES)
        for sql in ";".join(steps).split(";"):
            db.execute(sql, {"since": since, "until": until} if ":since" in sql else {})
        _find_names(index)
        for sql in schema.CLEAR_BLANK_NAMES:
            db.execute(sql)
        if choice.pseudonyms:
            for sql in schema.ADD_PSEUDONYMS:
                db.execute(sql)
            db.executemany(schema.ADD_ALIAS, _people_in_records(index))
            db.execute("UPDATE people SET name = 'Person ' || number, record = NULL")
            index.use_pseudonyms()
        else:
            db.execute(schema.ADD_UID_TO_SAME_NAMES)
        _set_titles(index)
        db.executemany("INSERT INTO pages VALUES(?, ?, ?, ?, ?, ?, ?)", _pages(index))
        db.executemany("INSERT INTO threads VALUES(?, ?, ?, ?, ?)", _threads(index))
        db.execute("INSERT INTO state VALUES(?)", (_state(index),))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _is_in(ids: Collection[str], app: str, id: str) -> bool:
    return id in ids or (bool(app) and f"{app}/{id}" in ids)


def _sign(raw: bytes | None) -> int:
    """Return a record's length and CRC-32: almost surely another number where it has changed."""
    return (len(raw) << 32 | zlib.crc32(raw)) if raw else 0


# ── names ──


def _find_names(index: Index) -> None:
    people = (
        "SELECT number, own, (SELECT min(c.number) FROM conversations c WHERE people.number IN (one, other))"
        " FROM people WHERE name IS NULL"
    )
    for number, uid, conversation in index.db.execute(people).fetchall():
        name = _name_in(index, uid, "sender = ?", number)
        name = name or _name_in(index, uid, "conversation = ?", conversation)
        index.db.execute("UPDATE people SET name = ? WHERE number = ?", (name, number))
    groups = "SELECT number, guid FROM conversations WHERE guid NOT NULL AND title IS NULL"
    for number, guid in index.db.execute(groups).fetchall():
        name = _name_in(index, guid, "conversation = ?", number)
        index.db.execute("UPDATE conversations SET title = ? WHERE number = ?", (name, number))


def _name_in(index: Index, key: str, where: str, number: int) -> str:
    sql = f"SELECT row FROM posts WHERE {where} ORDER BY time DESC, rank DESC LIMIT {_NEWEST}"  # noqa: S608
    for (message_row,) in index.db.execute(sql, (number,)).fetchall():
        rows = index.db.execute("SELECT CAST(raw AS BLOB) FROM chat.messages WHERE place = ?", (message_row,))
        data = object_of(record_of(rows.fetchone()[0] or b"{}").get("data"))
        entities = object_of(data.get("entities"))
        for role in ("sender", "by", "receiver"):
            entity = object_of(object_of(entities.get(role)).get("entity"))
            if key in (entity.get("uid"), entity.get("guid")) and (name := text_of(entity.get("name"))):
                return name
    return ""


def _people_in_records(index: Index) -> Iterator[tuple[str, str, bool, str]]:
    """Yield (text, uid, is a name, app) of all who are named in messages: not all of them are in a table."""
    rows = index.db.execute("SELECT app, CAST(raw AS BLOB) FROM posts JOIN chat.messages ON place = row")
    known = set[tuple[str, str, str]]()
    for app, raw in rows:
        for uid, name in people_in(record_of(raw or b"{}")):
            if (app, uid, name) in known:
                continue
            if len(known) == _KNOWN:
                known.clear()
            known.add((app, uid, name))
            key = f"{app}/{uid}" if app else uid
            yield uid, key, False, app
            if name != uid:
                yield name, key, True, app


def _set_titles(index: Index) -> None:
    for table, columns, select in schema.SELECT_TITLES:
        rows, numbers = index.db.execute(select), count(1)
        file, title = columns.split(", ")
        while batch := rows.fetchmany(_BATCH):
            named = [
                (str(next(numbers)) if index.choice.hides else token(key), _title(index, *names), number)
                for number, key, *names in batch
            ]
            index.db.executemany(f"UPDATE {table} SET {file} = ?, {title} = ? WHERE number = ?", named)  # noqa: S608


def _title(
    index: Index, app: str, group: str | None, person: str | None, other_person: str | None, id: str
) -> str:
    """Return the title of a conversation, by the name of its group or the names of its people.

    Names that are pseudonyms already are not hidden again.
    """
    is_hidden = index.choice.pseudonyms
    names = {
        name if is_hidden else index.redaction.hide(_shortened(name), app)
        for name in (person, other_person)
        if name
    }
    people = " & ".join(map(_isolated, sorted(names, key=str.casefold)))
    hide = index.redaction.hide
    return people if people and not group else _isolated(hide(_shortened(group or ""), app) or hide(id, app))


def _isolated(name: str) -> str:
    """Return a harmless name. Isolate one with letters from right to left, so it turns nothing beside it."""
    name = visible(name)
    is_turned = not name.isascii() and any(bidirectional(letter) in ("R", "AL") for letter in name)
    return f"\u2068{name}\u2069" if is_turned else name


def _is_visible(name: str) -> bool:
    """Return True for a name of which anything is seen: other than spaces, and letters of no width."""
    return any(each.isprintable() and not each.isspace() and each not in _INVISIBLE for each in name)


def _shortened(name: str) -> str:
    return visible(name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…")


# ── pages ──


class _PageRow(Struct):
    conversation: int
    page: int
    time: int
    rank: int
    messages: int = 0
    last: int = 0
    sign: int = 0


class _DayRow(Struct):
    conversation: int
    day: int
    page: int
    messages: int = 0


def _pages(index: Index) -> Iterator[tuple[int, ...]]:
    """Yield the pages of all conversations, and store their days."""
    page, day, size = _PageRow(0, 0, 0, 0), _DayRow(0, -1, 0), 0
    day_number = Zone(index.choice.timezone).day_number
    for conversation, time, rank, sign, flags in index.db.execute(schema.SELECT_ORDERED):
        message_size = min(sign >> 32, LONGEST) + _MARKUP
        is_other = conversation != page.conversation
        size += message_size
        if is_other or page.messages >= MESSAGES or size > BYTES:
            if page.conversation:
                yield astuple(page)
            page, size = _PageRow(conversation, 1 if is_other else page.page + 1, time, rank), message_size
        page.messages += 1
        page.last = time
        page.sign = hash((page.sign, sign, flags))
        date = day_number(time)
        if is_other or date != day.day:
            _store_day(index, day)
            day = _DayRow(conversation, date, page.page)
        day.messages += 1
    if page.conversation:
        yield astuple(page)
    _store_day(index, day)


def _store_day(index: Index, day: _DayRow) -> None:
    if day.conversation:
        index.db.execute("INSERT INTO days VALUES(?, ?, ?, ?)", astuple(day))


def _threads(index: Index) -> Iterator[tuple[int, ...]]:
    """Yield threads with their pages: some on a page, or one on some pages."""
    last, page, room = 0, 0, 0
    for conversation, parent, replies in index.db.execute(schema.SELECT_PARENTS):
        if conversation != last:
            last, page, room = conversation, 0, 0
        for skipped in range(0, replies, MESSAGES):
            part = min(replies - skipped, MESSAGES)
            if part + 1 > room:
                page, room = page + 1, MESSAGES + 1
            room -= part + 1
            yield conversation, page, parent, skipped, part
