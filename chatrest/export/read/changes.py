"""The new, changed and deleted messages of an export since a run.

The journal knows by run which ids are news; the records are in the export's files, older versions in its
history. So the result is the difference of two states: the export at the end of a run, and now.

| since the run, a message                  | kind       | before             | after         |
|-------------------------------------------|------------|--------------------|---------------|
| was added, and may have changed since     | `new`      |                    | current       |
| was shown again, after it was deleted     | `new`      |                    | current       |
| has changed, once or more                 | `changed`  | version then       | current       |
| was deleted by its author                 | `deleted`  | version then       |               |
| is not shown any more by any list         | `deleted`  | last stored        |               |
| was added, and was deleted                | `deleted`  | last stored        |               |
| changed and back, or deleted and restored | not at all |                    |               |

A message that its author deleted is still shown by the lists, as a record with `deletedAt`, without content.
It is reported in the first of these runs. So the position of a reader is not the run of the last change, but
`ExportChanges.run`: the newest run of the result, valid once all of it has been read.
"""

from collections import defaultdict
from collections.abc import Iterator
from os import PathLike
from typing import Final, Literal, TypeAlias, final

import msgspec
from msgspec import Struct

from ..._core.replies.one_record import parse
from ..._core.replies.rows import Row, row_of
from ..._models.messages import Message
from ..._storage import sql_in
from ..folder.changed_messages import is_deleted
from ..plan.id_set import IdSet
from ..plan.message_ids import key_of
from .exports import Position
from .news import ChangeKind, ExportNews, JournalNews, News

DeletionReason: TypeAlias = Literal["by_author", "not_shown"]
_SELECT_VERSIONS: Final = "SELECT version, id, CAST(raw AS BLOB) FROM versions WHERE id IN"


class ExportChange(Struct, frozen=True):
    """A message that is new, has changed, or is deleted."""

    run: int
    """The number of the run that found it: of several runs the first one."""
    kind: ChangeKind
    id: str
    raw_before: bytes | None
    """The record as it was, a line of JSON as the service sent it; None for a new message."""
    raw_after: bytes | None
    """The record as it is now; None for a deleted message."""
    reason: DeletionReason | None = None
    """Of a deleted message: its author (or a moderator) deleted it, or no list shows it any more."""
    part: str = ""
    """In a folder of exports the name of the one that has it, such as `part=03`, whose run `run` is."""

    @property
    def before(self) -> Message | None:
        """The earlier message; None if it is new."""
        return None if self.raw_before is None else parse(Message, self.raw_before)

    @property
    def after(self) -> Message | None:
        """The current message; None if it is deleted."""
        return None if self.raw_after is None else parse(Message, self.raw_after)

    def to_json(self) -> bytes:
        """Return it as JSON: `run`, `kind`, `id`, `reason`, and the records `before` and `after`, or null.

        Of a folder of exports it has the `part`, too.
        """
        members = (msgspec.json.encode(each) for each in (self.run, self.kind, self.id, self.reason))
        records = (b"null" if each is None else each for each in (self.raw_before, self.raw_after))
        part = b'"part":%b,' % msgspec.json.encode(self.part) if self.part else b""
        text = b'"run":%b,"kind":%b,"id":%b,"reason":%b,"before":%b,"after":%b' % (*members, *records)
        return b"{%b%b}" % (part, text)


@final
class ExportChanges(Iterator[ExportChange]):
    """An iterator over what is new, changed or deleted; see `changes`."""

    def __init__(self, changes: Iterator[ExportChange], run: Position) -> None:
        self._changes = changes
        self.run: Final = run
        """The newest run when the export was opened: after you have read all changes, continue with
        `after=run`. For a folder of exports it is a text, with the newest run of each."""

    def __next__(self) -> ExportChange:
        return next(self._changes)


def changes(out: str | PathLike[str], *, after: Position = 0) -> ExportChanges:
    """Return an iterator over what is new, changed or deleted since the run `after`, by run and kind.

    `out` is a folder, or the address of an object store. The number of a run is in its `Report`, and in
    `runs(out)`; a run that was killed has a number, too. With 0 all messages are new. After a loss of the
    journal, all messages are new in the next run. In a folder of exports, changes are ordered by export, and
    `after` is 0 or the `run` of an earlier result: a text with the run of each export. In an export that is
    not in that text, all messages are new.

    The next call continues with `after=result.run`, if all of the result was read. Each message is given
    once: with the oldest `before` since then, and the newest `after`. The changes of a run are given when it
    has ended, and those of a killed run when the next one has ended.

    Not a coroutine: it reads a disk, and blocks. It reads each file once for each run and kind that has
    messages in it. Memory is needed for sets of ids, and for each id that is a text. Nothing is changed.

    Raises `RequestInvalidError` at once for a wrong argument, and for a folder that is not an export;
    `ChatRestError` if the journal is damaged or lost, and during iteration if a file is damaged.
    """
    news = ExportNews(out, after)
    return ExportChanges(_changes_of(news), news.run)


def _changes_of(news: ExportNews) -> Iterator[ExportChange]:
    with news:
        for export_news in news.exports:
            yield from _changes_in(export_news)


def _changes_in(export_news: JournalNews) -> Iterator[ExportChange]:
    changed = IdSet.union(news.ids for news in export_news.news if news.kind == "changed")
    with export_news.loaded_versions(changed) as versions:
        for news in export_news.news:
            for batch in export_news.batches([news]):
                rows = list(map(row_of, batch.raws))
                older = defaultdict[str, list[bytes]](list)
                if news.kind == "changed":
                    for _, key, raw in sorted(sql_in(versions, _SELECT_VERSIONS, map(key_of, rows))):
                        older[key].append(raw)
                for row in rows:
                    versions_since = export_news.replaced_since(key_of(row), older.get(key_of(row), []))
                    yield from _change(news, row, versions_since, export_news.view.export)


def _change(news: News, row: Row, replaced: list[bytes], part: str) -> Iterator[ExportChange]:
    """Yield the change of a message, if it has one; `replaced` are the versions that it had since the run."""
    key, is_by_author, was_deleted = key_of(row), is_deleted(row.raw), False
    before = None if news.kind == "new" else row.raw
    if news.kind == "changed":
        before = replaced[0] if replaced else None  # the history may have lost it
        if before == row.raw:
            return
        was_deleted = before is not None and is_deleted(before)
    if is_by_author or news.kind == "deleted":
        reason: DeletionReason = "by_author" if is_by_author else "not_shown"
        if not was_deleted:
            yield ExportChange(news.run, "deleted", key, before or row.raw, None, reason, part)
    elif news.kind == "new" or was_deleted:
        yield ExportChange(news.run, "new", key, None, row.raw, part=part)
    else:
        yield ExportChange(news.run, "changed", key, before, row.raw, part=part)
