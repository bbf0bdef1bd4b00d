"""The SQL of the index of a site: its tables, and how they are filled from the export's database `chat`.

The functions `rank`, `sign`, `is_user`, `is_chosen` and `is_visible` are those of `index_build`.
"""

from typing import Final

TABLES: Final = (
    "posts", "conversations", "people", "files", "reactors", "pages", "days", "threads",
    "aliases", "state",
)  # fmt: skip
SCHEMA: Final = """
CREATE TABLE posts(row INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, time INTEGER NOT NULL,
    rank INTEGER NOT NULL, sender INTEGER NOT NULL, parent INTEGER, flags INTEGER NOT NULL,
    sign INTEGER NOT NULL);
CREATE TABLE conversations(number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, app TEXT NOT NULL,
    name TEXT, title TEXT, guid TEXT, one INTEGER, other INTEGER, messages INTEGER, first INTEGER,
    last INTEGER, first_row INTEGER, newest INTEGER,
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


ADD_POSTS: Final = f"""
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
CREATE INDEX by_time ON posts(conversation, time, rank, sign, flags, sender, parent);
CREATE INDEX by_sender ON posts(sender, time, rank, conversation)
"""  # noqa: S608
FILL_CONVERSATIONS: Final = f"""
UPDATE conversations SET (messages, first, last, first_row, newest) = (
    SELECT count(*), ifnull(min(nullif(time, 0)), 0), max(time), min(row),
        (SELECT row FROM posts WHERE conversation = conversations.number
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
KEEP_USERS: Final = """
DELETE FROM posts WHERE conversation NOT IN (
    SELECT p.conversation FROM posts p JOIN people w ON w.number = p.sender WHERE is_user(w.app, w.own)
    UNION SELECT c.number FROM conversations c JOIN people w ON w.number IN (c.one, c.other)
        WHERE is_user(w.app, w.own)
    UNION SELECT c.number FROM conversations c JOIN chat.members m ON m.guid = c.guid AND m.app = c.app
        WHERE is_user(m.app, m.uid));
DELETE FROM conversations WHERE number NOT IN (SELECT conversation FROM posts)
"""
FILL_NAMES_AND_TABLES: Final = f"""
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
CREATE INDEX pages_by_time ON pages(conversation, time, rank)
"""  # noqa: S608
ADD_PSEUDONYMS: Final = (
    "INSERT OR IGNORE INTO aliases SELECT own, number, 0, app FROM people WHERE own <> ''",
    "INSERT OR IGNORE INTO aliases SELECT name, number, 1, app FROM people WHERE name <> '' AND name <> own",
    "INSERT OR IGNORE INTO aliases SELECT uid, 0, 0, app FROM chat.users",
    "INSERT OR IGNORE INTO aliases SELECT uid, 0, 0, app FROM reactors",
    "INSERT OR IGNORE INTO aliases SELECT name, 0, 1, app FROM chat.users WHERE name > ''",
)
ADD_ALIAS: Final = """
INSERT OR IGNORE INTO aliases
SELECT ?1, ifnull((SELECT number FROM people WHERE uid = ?2), 0), ?3, ?4 WHERE ?1 <> ''
"""
"""Of a name with its uid, by which it is known whose it is."""
ADD_UID_TO_SAME_NAMES: Final = """
UPDATE people SET name = name || ' (' || own || ')' WHERE own NOT IN ('', name) AND (app, name) IN (
    SELECT app, name FROM people WHERE name <> '' GROUP BY app, name HAVING count(*) > 1)
"""
"""Who has the name of another one is shown with the uid, too."""
SELECT_ORDERED: Final = (
    "SELECT conversation, time, rank, sign, flags FROM posts ORDER BY conversation, time, rank"
)
SELECT_PARENTS: Final = """
SELECT conversation, parent, count(*) FROM posts WHERE parent NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
"""
CLEAR_BLANK_NAMES: Final = (
    "UPDATE people SET name = '' WHERE name <> '' AND NOT is_visible(name)",
    "UPDATE conversations SET title = '' WHERE title <> '' AND NOT is_visible(title)",
)
"""Names of spaces, in whose place an id is shown."""
SELECT_TITLES: Final = (
    ("conversations", "name, title", """
SELECT c.number, c.id, c.app, iif(c.guid IS NULL, NULL, ifnull(nullif(c.title, ''), c.guid)),
    ifnull(nullif(a.name, ''), a.own), ifnull(nullif(b.name, ''), b.own),
    ifnull(nullif(c.id, ''), '(no conversation)')
FROM conversations c LEFT JOIN people a ON a.number = c.one LEFT JOIN people b ON b.number = c.other
ORDER BY c.first, c.id"""),
    ("people", "file, name", "SELECT number, uid, app, NULL, name, NULL, own FROM people ORDER BY number"),
)  # fmt: skip
"""The names of files and titles, and what they are made of."""
