"""The tables of what users and the app do with messages after they are stored.

A message itself is in `messages`, `records` and `positions`, and nothing here costs a message that nobody has
touched: a row stands for something that somebody did.
"""

from typing import Final

MESSAGE_TABLES: Final = """
CREATE TABLE changes(id INTEGER PRIMARY KEY, updated_at INTEGER, edited_at INTEGER);
CREATE TABLE quotes(id INTEGER PRIMARY KEY);
CREATE TABLE reactions(id INTEGER PRIMARY KEY AUTOINCREMENT, message INTEGER, reaction TEXT, uid TEXT,
    reacted_at INTEGER, UNIQUE(message, reaction, uid));
CREATE TABLE pins(id INTEGER PRIMARY KEY, conversation TEXT);
CREATE INDEX pins_of_conversation ON pins(conversation);
CREATE TABLE saves(uid TEXT, id INTEGER, saved_at INTEGER, PRIMARY KEY(uid, id)) WITHOUT ROWID;
CREATE TABLE subscriptions(uid TEXT, id INTEGER, PRIMARY KEY(uid, id)) WITHOUT ROWID;
CREATE TABLE interactions(id INTEGER, uid TEXT, element TEXT, interacted_at INTEGER,
    PRIMARY KEY(id, uid, element)) WITHOUT ROWID;
CREATE TABLE conversations(conversation TEXT PRIMARY KEY, kind TEXT, sender TEXT, receiver TEXT,
    created_at INTEGER) WITHOUT ROWID;
CREATE INDEX conversations_of_sender ON conversations(sender);
CREATE INDEX conversations_of_receiver ON conversations(receiver);
CREATE TABLE views(uid TEXT, conversation TEXT, read_id INTEGER NOT NULL DEFAULT 0,
    delivered_id INTEGER NOT NULL DEFAULT 0, reset_id INTEGER NOT NULL DEFAULT 0, kept_at INTEGER, tags TEXT,
    pinned_at INTEGER, PRIMARY KEY(uid, conversation)) WITHOUT ROWID;
CREATE TABLE app_pins(number INTEGER PRIMARY KEY, kind TEXT, party TEXT, pinned_at INTEGER,
    UNIQUE(kind, party));
CREATE TABLE calls(session TEXT PRIMARY KEY, initiated_at INTEGER, type TEXT, mode TEXT, status TEXT,
    participants INTEGER, started_at INTEGER, ended_at INTEGER, receiver_type TEXT, recorded INTEGER,
    transcribed INTEGER, uids TEXT, record BLOB) WITHOUT ROWID;
CREATE TABLE transcriptions(tid TEXT PRIMARY KEY, session TEXT, start_time INTEGER, record BLOB) WITHOUT
ROWID;
"""
