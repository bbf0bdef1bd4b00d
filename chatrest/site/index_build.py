"""Make the index of a site from the export's database: by SQL, and pages and threads by one pass in order.

A database that has not changed costs nothing; of one that has, all is made again, in one transaction.
"""

import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypedDict

import msgspec

from ..database import load
from ..database.finding import database_beside
from ..database.load import OnCount
from ..database.schema import STATE
from ..errors import RequestInvalidError
from ..times import Time
from .heads import entities_of, rank_of, record_of, token
from .index import MESSAGES, Choice, Index
from .pseudonyms import people_in
from .text import shown
from .zone import DAY, Zone

BYTES: Final = 280_000
"""The bytes of records after which a page ends."""
LONGEST: Final = 8_000
"""Bytes of a record that count: a longer text is shortened on its page."""
_MARKUP: Final = 250
_LONGEST_NAME: Final = 200
_NEWEST: Final = 20
"""Messages of somebody that are looked through for a name."""
_VERSION: Final = 13
_BATCH: Final = 2_000
_KNOWN: Final = 20_000
"""People that are kept in memory, of whom most messages name two that others have named."""
_TABLES: Final = (
    "posts", "conversations", "people", "files", "reactors", "pages", "days", "threads",
    "aliases", "state",
)  # fmt: skip
_SCHEMA: Final = """
CREATE TABLE posts(place INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, time INTEGER NOT NULL,
    rank INTEGER NOT NULL, sender INTEGER NOT NULL, parent INTEGER, flags INTEGER NOT NULL,
    sign INTEGER NOT NULL);
CREATE TABLE conversations(number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, app TEXT NOT NULL,
    name TEXT, title TEXT, guid TEXT, one INTEGER, other INTEGER, messages INTEGER, first INTEGER,
    last INTEGER, place INTEGER, newest INTEGER,
    members INTEGER NOT NULL DEFAULT 0);
CREATE TABLE people(number INTEGER PRIMARY KEY, uid TEXT UNIQUE NOT NULL, app TEXT NOT NULL,
    own TEXT NOT NULL, name TEXT, file TEXT, record INTEGER, messages INTEGER NOT NULL DEFAULT 0,
    first INTEGER, last INTEGER);
CREATE TABLE files(app TEXT, message INTEGER, position INTEGER, file TEXT NOT NULL,
    PRIMARY KEY(app, message, position)) WITHOUT ROWID;
CREATE TABLE reactors(app TEXT, message INTEGER, reaction TEXT, uid TEXT,
    PRIMARY KEY(app, message, reaction, uid)) WITHOUT ROWID;
CREATE TABLE pages(conversation INTEGER, page INTEGER, time INTEGER, rank INTEGER, messages INTEGER,
    last INTEGER, sign INTEGER, PRIMARY KEY(conversation, page)) WITHOUT ROWID;
CREATE TABLE days(conversation INTEGER, day INTEGER, page INTEGER, messages INTEGER,
    PRIMARY KEY(conversation, day)) WITHOUT ROWID;
CREATE TABLE threads(conversation INTEGER, page INTEGER, parent INTEGER, skipped INTEGER, replies INTEGER,
    PRIMARY KEY(conversation, page, parent)) WITHOUT ROWID;
CREATE TABLE aliases(name TEXT, person INTEGER, is_name INTEGER, app TEXT,
    PRIMARY KEY(name, person, is_name, app));
CREATE TABLE state(state TEXT NOT NULL)
"""
_KEY: Final = """CASE WHEN conversation_id <> '' OR ifnull(receiver, '') = '' THEN ifnull(conversation_id, '')
    WHEN receiver_type = 'group' THEN 'group_' || receiver
    ELSE min(ifnull(sender, ''), receiver) || '_user_' || max(ifnull(sender, ''), receiver) END"""
"""A conversation's id; of a message without one, that which the service would give."""


def _key(id: str, app: str = "m.app") -> str:
    return f"iif({app} = '', {id}, {app} || '/' || {id})"


_POSTS: Final = f"""
INSERT INTO conversations(id, app) SELECT {_key("id", "app")}, app FROM (
    SELECT conversation_id AS id, app, min(sent_at) AS first FROM chat.messages
        WHERE conversation_id > '' GROUP BY 1, 2
    UNION ALL SELECT {_KEY}, app, min(sent_at) FROM chat.messages
        WHERE conversation_id IS NULL OR conversation_id = '' GROUP BY 1, 2
) WHERE is_chosen(app, id) GROUP BY app, id ORDER BY min(first), app, id;
INSERT OR IGNORE INTO people(uid, app, own)
    SELECT {_key("ifnull(sender, '')", "app")}, app, ifnull(sender, '') FROM chat.messages
    GROUP BY sender, app ORDER BY min(sent_at), app, sender;
INSERT INTO posts SELECT m.place, c.number, ifnull(m.sent_at, 0), ifnull(m.number, rank(m.id)), p.number,
    CASE WHEN m.parent_id NOT IN ('', '0') THEN rank(m.parent_id) END, m.deleted_reason NOT NULL,
    sign(CAST(m.raw AS BLOB))
    FROM chat.messages m CROSS JOIN conversations c CROSS JOIN people p
    WHERE c.id = {_key(_KEY)} AND p.uid = {_key("ifnull(m.sender, '')")}
        AND (m.sent_at IS NULL OR m.sent_at BETWEEN :since AND :until);
CREATE INDEX by_place ON posts(conversation, time, rank, sign, flags, sender, parent);
CREATE INDEX by_sender ON posts(sender, time, rank, conversation)
"""  # noqa: S608
_OTHERS: Final = f"""
UPDATE conversations SET (messages, first, last, place, newest) = (
    SELECT count(*), ifnull(min(nullif(time, 0)), 0), max(time), min(place),
        (SELECT place FROM posts WHERE conversation = conversations.number
         ORDER BY time DESC, rank DESC LIMIT 1)
    FROM posts WHERE conversation = conversations.number);
DELETE FROM conversations WHERE messages = 0;
CREATE TEMP TABLE parties AS SELECT c.number, m.app, sender, receiver, receiver_type IS 'group' AS is_group
    FROM conversations c JOIN chat.messages m ON m.place = c.newest WHERE receiver <> '';
INSERT OR IGNORE INTO people(uid, app, own) SELECT {_key("receiver")}, app, receiver
    FROM parties m WHERE NOT is_group ORDER BY 1;
UPDATE conversations SET guid = receiver FROM parties
    WHERE is_group AND parties.number = conversations.number;
UPDATE conversations SET one = a.number, other = b.number
    FROM parties m JOIN people a ON a.uid = {_key("ifnull(sender, '')")}
        JOIN people b ON b.uid = {_key("receiver")}
    WHERE NOT is_group AND m.number = conversations.number;
DROP TABLE temp.parties
"""  # noqa: S608
_USERS: Final = """
DELETE FROM posts WHERE conversation NOT IN (
    SELECT p.conversation FROM posts p JOIN people w ON w.number = p.sender WHERE is_user(w.app, w.own)
    UNION SELECT c.number FROM conversations c JOIN people w ON w.number IN (c.one, c.other)
        WHERE is_user(w.app, w.own)
    UNION SELECT c.number FROM conversations c JOIN chat.members m ON m.guid = c.guid AND m.app = c.app
        WHERE is_user(m.app, m.uid));
DELETE FROM conversations WHERE number NOT IN (SELECT conversation FROM posts)
"""
_REST: Final = f"""
DELETE FROM people WHERE number NOT IN (SELECT sender FROM posts)
    AND number NOT IN (SELECT one FROM conversations WHERE one NOT NULL)
    AND number NOT IN (SELECT other FROM conversations WHERE other NOT NULL);
UPDATE people SET (messages, first, last) = (SELECT count(*), min(time), max(time) FROM posts
    WHERE sender = people.number);
UPDATE people SET name = u.name, record = u.rowid FROM chat.users u
    WHERE {_key("u.uid", "u.app")} = people.uid;
UPDATE conversations SET title = g.name FROM chat.groups g
    WHERE g.guid = conversations.guid AND g.app = conversations.app;
UPDATE conversations SET members = m.members
    FROM (SELECT guid, app, count(*) AS members FROM chat.members GROUP BY guid, app) m
    WHERE m.guid = conversations.guid AND m.app = conversations.app;
CREATE INDEX by_rank ON posts(rank);
INSERT OR REPLACE INTO files SELECT app, rank(message_id), position, file FROM chat.attachments a
    WHERE state = 'stored' AND file <> '' AND EXISTS (SELECT 1 FROM posts p
        JOIN conversations c ON c.number = p.conversation WHERE p.rank = rank(message_id) AND c.app = a.app);
INSERT OR IGNORE INTO reactors SELECT app, rank(message_id), reaction, uid FROM chat.reactions r
    WHERE reaction > '' AND uid > '' AND EXISTS (SELECT 1 FROM posts p
        JOIN conversations c ON c.number = p.conversation WHERE p.rank = rank(message_id) AND c.app = r.app);
CREATE INDEX by_parent ON posts(parent, time, rank) WHERE parent NOT NULL;
CREATE INDEX by_last ON conversations(last DESC, id);
CREATE INDEX by_messages ON people(messages DESC, uid);
CREATE INDEX pages_by_place ON pages(conversation, time, rank)
"""  # noqa: S608
_PSEUDONYMS: Final = (
    "INSERT OR IGNORE INTO aliases SELECT own, number, 0, app FROM people WHERE own <> ''",
    "INSERT OR IGNORE INTO aliases SELECT name, number, 1, app FROM people WHERE name <> '' AND name <> own",
    "INSERT OR IGNORE INTO aliases SELECT uid, 0, 0, app FROM chat.users",
    "INSERT OR IGNORE INTO aliases SELECT uid, 0, 0, app FROM reactors",
    "INSERT OR IGNORE INTO aliases SELECT name, 0, 1, app FROM chat.users WHERE name > ''",
)
_ALIAS: Final = """
INSERT OR IGNORE INTO aliases
SELECT ?1, ifnull((SELECT number FROM people WHERE uid = ?2), 0), ?3, ?4 WHERE ?1 <> ''
"""
"""Of a name with its uid, by which it is known whose it is."""
_SAME_NAMES: Final = """
UPDATE people SET name = name || ' (' || own || ')' WHERE own NOT IN ('', name) AND (app, name) IN (
    SELECT app, name FROM people WHERE name <> '' GROUP BY app, name HAVING count(*) > 1)
"""
"""Who has the name of another one is shown with the uid, too."""
_ORDERED: Final = "SELECT conversation, time, rank, sign, flags FROM posts ORDER BY conversation, time, rank"
_PARENTS: Final = """
SELECT conversation, parent, count(*) FROM posts WHERE parent NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
"""
_UNSEEN: Final = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters that are nothing but space."""
_BLANK: Final = (
    "UPDATE people SET name = '' WHERE name <> '' AND NOT is_seen(name)",
    "UPDATE conversations SET title = '' WHERE title <> '' AND NOT is_seen(title)",
)
"""Names of spaces, in whose place an id is shown."""
_NAMES: Final = (
    ("conversations", "name, title", """
SELECT c.number, c.id, c.app, iif(c.guid IS NULL, NULL, ifnull(nullif(c.title, ''), c.guid)),
    ifnull(nullif(a.name, ''), a.own), ifnull(nullif(b.name, ''), b.own),
    ifnull(nullif(c.id, ''), '(no conversation)')
FROM conversations c LEFT JOIN people a ON a.number = c.one LEFT JOIN people b ON b.number = c.other
ORDER BY c.first, c.id"""),
    ("people", "file, name", "SELECT number, uid, app, NULL, name, NULL, own FROM people ORDER BY number"),
)  # fmt: skip
"""The names of files and titles, and what they are made of."""


class SiteOptions(TypedDict, total=False):
    """The options of what is written for people: which messages, in which zone, and what is hidden."""

    conversations: Iterable[str]
    """Only those of these ids."""
    users: Iterable[str]
    """Only conversations that one of these uids takes part in."""
    since: Time | None
    """Only messages sent from then on, and those without a time; `since` and `until` as `read` takes them.

    A date is a day of `timezone`, as is a text without a zone.
    """
    until: Time | None
    title: str | None
    timezone: str
    """The name of the zone of all days and times, such as `Europe/Berlin`."""
    redact: bool
    """Hide e-mail addresses and numbers of phones, cards and accounts, in the names of files, too."""
    patterns: Iterable[str]
    """Regular expressions of what `redact` hides, too; it is implied."""
    pseudonyms: bool
    """Names such as `Person 1` in the place of people's names and uids, in texts, too."""


def choice_of(options: SiteOptions) -> Choice:
    """Return the part of an export that is chosen; raises `RequestInvalidError` for a wrong value."""

    zone = Zone(options.get("timezone", "UTC"))
    since = None if (time := options.get("since")) is None else zone.moment("since", time, end=False)
    until = None if (time := options.get("until")) is None else zone.moment("until", time, end=True)
    if since is not None and until is not None and until < since:
        raise RequestInvalidError(
            f"until = {options['until']}: the window ends before it begins: expected a time after since = "
            f"{options['since']}",
            name="until",
        )
    if unknown := options.keys() - SiteOptions.__optional_keys__:
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    for name in ("conversations", "users", "patterns"):
        if isinstance(text := options.get(name, ()), str):
            raise RequestInvalidError(f"{name} = {text!r}: expected a list of texts", name=name)
    hidden = tuple(options.get("patterns", ()))
    for pattern in hidden:
        try:
            re.compile(pattern)
        except re.error as error:
            raise RequestInvalidError(
                f"patterns = {pattern!r}: {error}; expected a regular expression", name="patterns"
            ) from None
    return Choice(
        frozenset(options.get("conversations", ())), frozenset(options.get("users", ())),
        options.get("redact", False) or bool(hidden),
        since, until, zone.name, options.get("pseudonyms", False), hidden,
    )  # fmt: skip


def database_of(out: str | PathLike[str], folder: Path) -> Path:
    """Return the path of the export's database: beside it, or where that cannot be in `folder`."""
    beside = database_beside(out)
    if beside is None or not (beside.exists() or os.access(beside.parent, os.W_OK)):
        return folder / "chat.sqlite"
    return beside


def bring_up_to_date(
    index: Index,
    out: str | PathLike[str],
    database: Path,
    on_count: OnCount,
) -> None:
    """Load what is new in the export in `out`, and make the index of it.

    From then on the index shows this state. Raises as `load`; sqlite3.Error for a damaged index.
    """
    load(out, database, progress=on_count)
    index.attach(database)
    while True:
        index.db.execute("BEGIN")
        if _is_made(index):
            index.use_pseudonyms()
            return
        index.db.execute("ROLLBACK")
        _make(index)


def _state(index: Index) -> str:
    rows = index.db.execute(f"SELECT name, value FROM chat.{STATE} ORDER BY name").fetchall()  # noqa: S608
    choice = [sorted(each) if isinstance(each, frozenset) else each for each in index.choice]
    [path] = [path for _, name, path in index.db.execute("PRAGMA database_list") if name == "chat"]
    return msgspec.json.encode([_VERSION, path, choice, rows]).decode()


def _is_made(index: Index) -> bool:
    has_state = index.db.execute("SELECT 1 FROM main.sqlite_master WHERE name = 'state'").fetchall()
    return (
        index.db.execute("SELECT state FROM state").fetchall() == [(_state(index),)] if has_state else False
    )


def _make(index: Index) -> None:
    db, choice = index.db, index.choice
    functions: tuple[tuple[str, int, Any], ...] = (
        ("rank", 1, rank_of), ("sign", 1, _sign), ("casefold", 1, str.casefold), ("is_seen", 1, _is_seen),
        ("is_user", 2, lambda *key: _is_in(choice.users, *key)),
        ("is_chosen", 2, lambda *key: not choice.conversations or _is_in(choice.conversations, *key)),
    )  # fmt: skip
    for name, arguments, function in functions:
        db.create_function(name, arguments, function, deterministic=True)
    db.execute("BEGIN IMMEDIATE")
    try:
        for table in _TABLES:
            db.execute(f"DROP TABLE IF EXISTS main.{table}")  # never of the database that is attached
        since, until = choice.since or 0, (1 << 62) if choice.until is None else choice.until
        for sql in f"{_SCHEMA};{_POSTS};{_OTHERS};{_USERS if choice.users else ''};{_REST}".split(";"):
            db.execute(sql, {"since": since, "until": until} if ":since" in sql else {})
        _find_names(index)
        for sql in _BLANK:
            db.execute(sql)
        if choice.pseudonyms:
            for sql in _PSEUDONYMS:
                db.execute(sql)
            db.executemany(_ALIAS, _people_in_records(index))
            db.execute("UPDATE people SET name = 'Person ' || number, record = NULL")
            index.use_pseudonyms()
        else:
            db.execute(_SAME_NAMES)
        _name_all(index)
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
    """Return a record's length and checksum: another number where it has changed."""
    return (len(raw) << 32 | zlib.crc32(raw)) if raw else 0


# ── names ──


def _find_names(index: Index) -> None:
    people = (
        "SELECT number, own, (SELECT min(c.number) FROM conversations c WHERE people.number IN (one, other))"
        " FROM people WHERE name IS NULL"
    )
    for number, uid, conversation in index.db.execute(people).fetchall():
        name = _name_in(index, uid, "sender = ?", number) or _name_in(
            index, uid, "conversation = ?", conversation
        )
        index.db.execute("UPDATE people SET name = ? WHERE number = ?", (name, number))
    groups = "SELECT number, guid FROM conversations WHERE guid NOT NULL AND title IS NULL"
    for number, guid in index.db.execute(groups).fetchall():
        name = _name_in(index, guid, "conversation = ?", number)
        index.db.execute("UPDATE conversations SET title = ? WHERE number = ?", (name, number))


def _name_in(index: Index, key: str, where: str, number: int) -> str:
    sql = f"SELECT place FROM posts WHERE {where} ORDER BY time DESC, rank DESC LIMIT {_NEWEST}"  # noqa: S608
    for (place,) in index.db.execute(sql, (number,)).fetchall():
        rows = index.db.execute("SELECT CAST(raw AS BLOB) FROM chat.messages WHERE place = ?", (place,))
        for entity in entities_of(rows.fetchone()[0] or b"{}"):
            if entity.name and key in (entity.uid, entity.guid):
                return entity.name
    return ""


def _people_in_records(index: Index) -> Iterator[tuple[str, str, bool, str]]:
    """Yield (text, uid, is a name, app) of all who are named in messages: not all of them are in a table."""
    rows = index.db.execute("SELECT app, CAST(raw AS BLOB) FROM posts JOIN chat.messages USING(place)")
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


def _name_all(index: Index) -> None:
    for table, columns, select in _NAMES:
        rows, place = index.db.execute(select), count(1)
        file, title = columns.split(", ")
        while batch := rows.fetchmany(_BATCH):
            named = [
                (str(next(place)) if index.choice.hides else token(key), _title(index, *names), number)
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
    names = {name if is_hidden else index.hide(_name(name), app) for name in (person, other_person) if name}
    people = " & ".join(sorted(names, key=str.casefold))
    return shown(index.hide(_name(group or ""), app) or people or index.hide(id, app))


def _is_seen(name: str) -> bool:
    """Return True for a name of which anything is seen: other than spaces, and letters of no width."""
    return any(each.isprintable() and not each.isspace() and each not in _UNSEEN for each in name)


def _name(name: str) -> str:
    return shown(name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…")


# ── pages ──


def _pages(index: Index) -> Iterator[list[int]]:
    """Yield the pages of all conversations, and store their days."""
    page, day, size = [0, 0, 0, 0, 0, 0, 0], [0, -1, 0, 0], 0
    local = Zone(index.choice.timezone).local
    for conversation, time, rank, sign, flags in index.db.execute(_ORDERED):
        own = min(sign >> 32, LONGEST) + _MARKUP
        is_other = conversation != page[0]
        size += own
        if is_other or page[4] >= MESSAGES or size > BYTES:
            if page[0]:
                yield page
            page, size = [conversation, 1 if is_other else page[1] + 1, time, rank, 0, 0, 0], own
        page[4] += 1
        page[5] = time
        page[6] = hash((page[6], sign, flags))
        date = local(time) // DAY if time else -1
        if is_other or date != day[1]:
            _store_day(index, day)
            day = [conversation, date, page[1], 0]
        day[3] += 1
    if page[0]:
        yield page
    _store_day(index, day)


def _store_day(index: Index, day: list[int]) -> None:
    if day[0]:
        index.db.execute("INSERT INTO days VALUES(?, ?, ?, ?)", day)


def _threads(index: Index) -> Iterator[tuple[int, ...]]:
    """Yield threads with their pages: some on a page, or one on some pages."""
    last, page, room = 0, 0, 0
    for conversation, parent, replies in index.db.execute(_PARENTS):
        if conversation != last:
            last, page, room = conversation, 0, 0
        for skipped in range(0, replies, MESSAGES):
            part = min(replies - skipped, MESSAGES)
            if part + 1 > room:
                page, room = page + 1, MESSAGES + 1
            room -= part + 1
            yield conversation, page, parent, skipped, part


def check_chosen(out: object, index: Index, choice: Choice) -> None:
    """Raise `RequestInvalidError` where no message is of the conversations and users that are chosen."""
    if (choice.conversations or choice.users) and not index.count("posts"):
        raise RequestInvalidError(
            f"{out}: no message is of {_chosen_words(choice)}: expected conversations or users of the export"
        )


def _chosen_words(choice: Choice) -> str:
    """Return the chosen conversations and users, such as `conversation 'group_den' or user 'ann'`."""
    conversations = [f"conversation {each!r}" for each in sorted(choice.conversations)]
    return " or ".join([*conversations, *(f"user {uid!r}" for uid in sorted(choice.users))])
