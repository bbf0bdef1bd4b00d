"""The views of an export's database: frequent questions, answered without knowing how messages are stored.

| view             | answers                                                                  |
|------------------|--------------------------------------------------------------------------|
| chat             | what was said: messages with times that can be read                      |
| conversations    | where, how much, from when to when, and the last word                    |
| senders          | who, how much, in how many conversations                                 |
| messages_per_day | how much a day                                                           |
| calls            | each call message: action, session, kind, status, times                  |
| attachments      | each file of each message                                                |
| edits            | what was said before, and what is said now                               |
| records          | anything else: `messages`, with `json` for SQLite's JSON functions       |

Columns that end in `_utc` are times as text, whichever unit the service tells them in. A record that is no
JSON, or whose texts are not Unicode, is a row of the views as well; what only its JSON says is null there.
"""

from typing import Final

from ..file_names import MILLISECONDS


def _utc(column: str, function: str = "datetime") -> str:
    seconds = f"CASE WHEN {column} >= {MILLISECONDS} THEN {column} / 1000 ELSE {column} END"
    return f"CASE typeof({column}) WHEN 'integer' THEN {function}({seconds}, 'unixepoch') END"


_CALL: Final = "$.data.entities.on.entity"
VIEWS: Final = f"""
CREATE VIEW records AS
SELECT *, CASE WHEN is_unicode AND json_valid(raw) THEN raw END AS json FROM messages;

CREATE VIEW chat AS
SELECT id, {_utc("sent_at")} AS sent_utc, conversation_id, sender, receiver, receiver_type, category, type,
    text, parent_id, {_utc("edited_at")} AS edited_utc, {_utc("deleted_at")} AS deleted_utc
FROM messages;

CREATE VIEW conversations AS
SELECT talk.conversation_id, messages, {_utc("first_at")} AS first_utc, {_utc("last_at")} AS last_utc,
    last.id AS last_id, last.sender AS last_sender, last.text AS last_text
FROM (
    SELECT conversation_id, count(*) AS messages, min(sent_at) AS first_at, max(sent_at) AS last_at,
        (SELECT place FROM messages AS newer WHERE newer.conversation_id = messages.conversation_id
         ORDER BY sent_at DESC, number DESC LIMIT 1) AS place
    FROM messages WHERE conversation_id IS NOT NULL GROUP BY conversation_id
) AS talk JOIN messages AS last ON last.place = talk.place;

CREATE VIEW senders AS
SELECT sender, messages, conversations, {_utc("first_at")} AS first_utc, {_utc("last_at")} AS last_utc
FROM (
    SELECT sender, count(*) AS messages, count(DISTINCT conversation_id) AS conversations,
        min(sent_at) AS first_at, max(sent_at) AS last_at
    FROM messages WHERE sender IS NOT NULL GROUP BY sender
);

CREATE VIEW messages_per_day AS
SELECT {_utc("sent_at", "date")} AS day, count(*) AS messages, count(DISTINCT sender) AS senders,
    count(DISTINCT conversation_id) AS conversations
FROM messages GROUP BY day;

CREATE VIEW calls AS
SELECT id, {_utc("sent_at")} AS sent_utc, conversation_id, sender, receiver, receiver_type, action,
    session_id, kind, status, {_utc("initiated_at")} AS initiated_utc, {_utc("joined_at")} AS joined_utc,
    {_utc("started_at")} AS started_utc
FROM (
    SELECT id, sent_at, conversation_id, sender, receiver, receiver_type,
        json_extract(json, '$.data.action') AS action,
        json_extract(json, '{_CALL}.sessionid') AS session_id,
        json_extract(json, '{_CALL}.type') AS kind,
        json_extract(json, '{_CALL}.status') AS status,
        json_extract(json, '{_CALL}.initiatedAt') AS initiated_at,
        json_extract(json, '{_CALL}.joinedAt') AS joined_at,
        json_extract(json, '{_CALL}.startedAt') AS started_at
    FROM records WHERE category = 'call'
);

CREATE VIEW attachments AS
SELECT id, {_utc("sent_at")} AS sent_utc, conversation_id, sender, message_type, attachment,
    json_extract(file, '$.name') AS name, json_extract(file, '$.mimeType') AS mime_type,
    json_extract(file, '$.extension') AS extension, json_extract(file, '$.size') AS size,
    json_extract(file, '$.url') AS url
FROM (
    SELECT records.id, records.sent_at, records.conversation_id, records.sender,
        records.type AS message_type, each.key + 1 AS attachment,
        CASE each.type WHEN 'object' THEN each.value END AS file
    FROM records, json_each(records.json, '$.data.attachments') AS each
    WHERE typeof(each.key) = 'integer'
);

CREATE VIEW edits AS
SELECT messages.id, {_utc("messages.sent_at")} AS sent_utc, conversation_id, sender, old.version,
    datetime(old.kept_at, 'unixepoch') AS noticed_utc, old.text AS before,
    CASE WHEN next.version IS NULL THEN messages.text ELSE next.text END AS after,
    {_utc("deleted_at")} AS deleted_utc
FROM versions AS old JOIN messages ON messages.id = old.id
    LEFT JOIN versions AS next ON next.version = (
        SELECT min(version) FROM versions AS later WHERE later.id = old.id AND later.version > old.version
    );
"""  # noqa: S608
"""The statements that make them."""
