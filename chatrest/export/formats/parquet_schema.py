"""The schema of the Parquet files: columns for queries, and each record as it was served in one of them.

The README has a table of the columns ("Columns of Parquet files").

A member that is absent, or not of its documented type, is null; a record of any shape has a row. In a record
that is not valid UTF-8, `raw` has U+FFFD for each wrong byte. The metadata of a file has the version of this
schema under `chatrest.schema_version`.
"""

from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

VERSION: Final = 2
VERSION_KEY: Final = b"chatrest.schema_version"

TEXTS: Final = (
    "conversation_id", "parent_id", "sender", "receiver", "receiver_type", "category", "type",
)  # fmt: skip
TIMES: Final = ("sent_at", "updated_at", "edited_at", "deleted_at", "delivered_at", "read_at")
NAMES: Final = ("edited_by", "deleted_by", "muid")
CALL_TEXTS: Final = (
    "session_id", "type", "status", "sender", "receiver", "receiver_type", "conversation_id", "by_uid",
    "for_uid",
)  # fmt: skip
CALL_TIMES: Final = ("initiated_at", "joined_at", "started_at")


def _texts(*names: str) -> list[tuple[str, Any]]:
    return [(name, pa.string()) for name in names]


TIME: Final = pa.timestamp("ms", "UTC")
ATTACHMENTS: Final = pa.list_(
    pa.struct([*_texts("url", "name", "mime_type", "extension"), ("size", pa.int64())])
)
REACTIONS: Final = pa.list_(pa.struct([*_texts("reaction"), ("count", pa.int64())]))
MENTIONS: Final = pa.list_(pa.struct(_texts("uid", "name")))
CALL: Final = pa.struct([*_texts(*CALL_TEXTS), *((name, TIME) for name in CALL_TIMES)])

SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("number", pa.int64()),
        *_texts(*TEXTS, "action", "text"),
        ("tags", pa.list_(pa.string())),
        *((name, TIME) for name in TIMES),
        *_texts(*NAMES),
        ("attachments", ATTACHMENTS),
        ("reactions", REACTIONS),
        ("mentions", MENTIONS),
        ("call", CALL),
        ("source_name", pa.string()),
        pa.field("raw", pa.string(), nullable=False),
        ("raw_bytes", pa.binary()),
    ],
    metadata={VERSION_KEY: str(VERSION).encode()},
)
REPEATING: Final = [
    "conversation_id", "parent_id", "sender", "receiver", "receiver_type", "category", "type", "action",
    "edited_by", "deleted_by", "source_name",
]  # fmt: skip
"""Columns that hold the same few values again and again."""
ORDERED: Final = ["number", *TIMES]
"""Columns by whose least and greatest values a reader can pass row groups by."""
