"""The run of an import: batches are sent one after another, and each is in the journal before and after.

A batch may be sent a second time in two cases: its request was under way when the process ended, or its reply
was lost or cannot be read. This adds nothing: a message whose `muid` was used is refused, and a user, group
or member that exists is changed to the same, or refused as existing. Such refusals of a repeated batch count
as imported before.

One request at a time keeps the order: messages get their ids in the order of the file. The same lines
give the same batches in every run.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from .._parameters.data_import import MAX_ENTRIES
from .._parameters.roles import NewRole
from .._secrets import scrub
from .._threads import in_thread
from ..errors import (
    ApiError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    OutcomeUnknownError,
    ReplyUnreadableError,
    RequestInvalidError,
    ServerError,
)
from ..session import AsyncSession
from .import_journal import (
    INVALID,
    NO_OUTCOME,
    SKIPPED,
    ImportJournal,
    ImportResult,
    LineNote,
    list_omissions,
)  # fmt: skip
from .import_records import ImportRecord, Kind, SkippedLine, read_object, record_of
from .input_files import Files, InputFile, input_files, journal_path
from .input_lines import MAX_LINE, ImportLine, LinePosition, read_lines

T = TypeVar("T")
Replies: TypeAlias = Mapping[str, Any]
"""What the service says of each record, by its key: an outcome with `success`, or an error."""

MAX_LINES: Final = 1000
"""Lines of a batch, so that a file without any record is noted in steps, too."""
ATTEMPTS: Final = 5
"""Requests for a batch whose replies are lost, before the error is raised."""
_FIRST_PAUSE: Final = 1.0
"""Seconds before the second request for a batch; each further pause is twice as long."""
_TOO_LARGE: Final = 413
_NOT_FOUND: Final = frozenset({"ERR_UID_NOT_FOUND", "ERR_GUID_NOT_FOUND", "ERR_ROLE_NOT_FOUND"})
_MIN_SERVER_ERROR: Final = 500
"""A refusal with this status or a higher one may be sent after some of the records were applied."""
_DEFAULT_ROLE: Final = "default"


class ImportProgress(Struct, frozen=True, kw_only=True):
    """The progress of a run, after every batch."""

    file: str
    kind: Kind
    line: int
    """The settled lines of this file."""
    imported: int
    """Records of this run, of all files."""
    refused: int
    """Lines of this run, of all files."""


OnProgress: TypeAlias = Callable[[ImportProgress], object]


async def run(
    session: AsyncSession,
    files: Files,
    *,
    kind: Kind | None = None,
    journal: str | Path | None = None,
    progress: OnProgress | None = None,
) -> ImportResult:
    """Import files of JSON lines, or continue an import that was interrupted; return the state of all runs.

    A line is a record that somebody has written, or one that the service has shown, such as a line of an
    export: it has a member that only the service writes, and what no import takes of it is dropped, and
    counted in the result. In any other line an unknown member is a mistake. Roles of shown users that the app
    does not have are made. `kind` is detected from the first record of each file if it is not given. The
    files are imported in the order of `KINDS`. `journal` is a path, by default that of the first file with
    `.import-journal`. One request for 50 records; waits for rate limits as long as it takes.

    The result has the lines that were refused, and the counts of what was dropped. Raises
    `RequestInvalidError` for a wrong argument, a changed file or a journal of another import, and the errors
    of the service that are not about a record (`ServerError`, `AuthenticationError` …); after any error and
    any kill the same call continues.
    """
    inputs = await in_thread(partial(input_files, files, kind))
    path = journal_path(inputs, journal)
    app = f"{session.app.app_id} at {session.app.chat_url}"
    with closing(ImportJournal(path, app, [(file.name, file.kind) for file in inputs])) as import_journal:
        bulk = session.with_options(priority="bulk", on_behalf_of=None)
        importer = _Importer(bulk, import_journal, _Ledger(import_journal, progress))
        for number, file in enumerate(inputs):
            await importer.import_file(number, file)
        return _result(import_journal)


def check(files: Files, *, kind: Kind | None = None, progress: OnProgress | None = None) -> ImportResult:
    """Validate every line of the files, without network; arguments, result and errors as those of `run`."""
    inputs = input_files(files, kind)
    names = [(file.name, file.kind) for file in inputs]
    with closing(ImportJournal(Path(":memory:"), "", names)) as import_journal:
        ledger = _Ledger(import_journal, progress)
        for number, file in enumerate(inputs):
            for batch in batches(file.name, file.kind, read_lines(file.path)):
                ledger.finish(number, file, batch, ())
        return _result(import_journal, dry_run=True)


def _result(journal: ImportJournal, *, dry_run: bool = False) -> ImportResult:
    omissions = list_omissions(journal.omissions())
    files, refused = journal.results(), journal.refused()
    return ImportResult(files=files, refused=refused, dry_run=dry_run, not_carried=omissions)


class _Importer:
    def __init__(self, session: AsyncSession, journal: ImportJournal, ledger: "_Ledger") -> None:
        self._session = session
        data = session.data_import
        self._imports: Mapping[Kind, Any] = {
            "users": data.import_users, "groups": data.import_groups, "members": data.import_members,
            "messages": data.import_messages, "bans": data.import_members,
        }  # fmt: skip
        self._journal = journal
        self._ledger = ledger
        self._uncertain_until = 0
        """Records up to this line of the file may have been applied by a request whose reply was lost."""
        self._roles: set[str] | None = None
        """Those of the app, and those that it refuses to make."""

    async def import_file(self, number: int, file: InputFile) -> None:
        state = self._journal.state(number)
        self._uncertain_until = state.begun.line
        lines = read_lines(file.path, state.settled, state.begun)
        async for batch in _in_threads(batches(file.name, file.kind, lines)):
            refused = list[LineNote]()
            if batch.records:
                await self._make_roles({record.role for record in batch.records} - {"", _DEFAULT_ROLE})
                self._journal.begin(number, batch.end)
                refused = await self._send(file, batch.records)
            self._ledger.finish(number, file, batch, refused)

    async def _make_roles(self, roles: set[str]) -> None:
        if not roles:
            return
        if self._roles is None:
            self._roles = {role.role async for role in self._session.roles.list()}
        for role in sorted(roles - self._roles):
            self._roles.add(role)
            try:
                await self._session.roles.create(NewRole(role=role, name=role))
            except (AuthenticationError, ServerError):
                raise
            except (ApiError, RequestInvalidError):
                pass

    async def _send(self, file: InputFile, records: Sequence[ImportRecord]) -> list[LineNote]:
        """Send records in one request, or in halves if it is refused; return notes of the refused ones."""
        replies: Replies
        try:
            replies = await self._request(file.kind, records)
        except (ApiError, RequestInvalidError) as error:
            if isinstance(error, ApiError):
                if not _is_about_records(error):
                    raise
                if error.status >= _MIN_SERVER_ERROR:
                    self._note_uncertain(records)
            if len(records) > 1:
                middle = len(records) // 2
                refused = await self._send(file, records[:middle])
                return refused + await self._send(file, records[middle:])
            replies = {records[0].key: error}
        return [*self._refusals(file, records, replies)]

    async def _request(self, kind: Kind, records: Sequence[ImportRecord]) -> Replies:
        """Return the replies by key; a request whose reply is lost, or cannot be read, is sent again."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._imports[kind]([each.record for each in records])  # type: ignore[no-any-return]
            except (OutcomeUnknownError, ReplyUnreadableError):
                if attempt == ATTEMPTS:
                    raise
                self._note_uncertain(records)
            await self._session.sender.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
        raise AssertionError

    def _note_uncertain(self, records: Sequence[ImportRecord]) -> None:
        self._uncertain_until = max(self._uncertain_until, records[-1].end.line)

    def _refusals(
        self, file: InputFile, records: Sequence[ImportRecord], replies: Replies
    ) -> Iterator[LineNote]:
        """Yield notes of the refused records, without the app's key, which the service may repeat."""
        secrets = (self._session.app.api_key,)
        for record in records:
            reply, line = replies.get(record.key), record.end.line
            code, message = _code_and_message(reply)
            # It was refused as it exists; that a group is full is another conflict.
            exists = "_ALREADY_" in code or code in ("ERR_SAME_SCOPE", "status 409")
            was_imported = exists and line <= self._uncertain_until
            if getattr(reply, "success", None) is not True and not was_imported:
                code, message = scrub(code, secrets), scrub(message, secrets)
                yield LineNote(file=file.name, line=line, key=record.key, code=code, message=message)


class LineBatch(NamedTuple):
    """Consecutive lines: the records of a request, no key twice, and notes of the others."""

    records: tuple[ImportRecord, ...]
    notes: tuple[LineNote, ...]
    end: LinePosition


def batches(file: str, kind: Kind, lines: Iterable[ImportLine]) -> Iterator[LineBatch]:
    records: dict[str, ImportRecord] = {}
    notes: list[LineNote] = []
    count, end = 0, None
    for line in lines:
        entry = _read_entry(file, kind, line)
        is_full = len(records) == MAX_ENTRIES or count == MAX_LINES
        if end is not None and (is_full or (isinstance(entry, ImportRecord) and entry.key in records)):
            yield LineBatch(tuple(records.values()), tuple(notes), end)
            records, notes, count = {}, [], 0
        count, end = count + 1, line.end
        if isinstance(entry, ImportRecord):
            records[entry.key] = entry
        elif entry is not None:
            notes.append(entry)
    if end is not None:
        yield LineBatch(tuple(records.values()), tuple(notes), end)


def _read_entry(file: str, kind: Kind, line: ImportLine) -> ImportRecord | LineNote | None:
    try:
        if line.raw is None:
            raise RequestInvalidError(f"the line has more than {MAX_LINE:,} bytes")
        if not line.raw.strip():
            return None
        return record_of(kind, read_object(line.raw))._replace(end=line.end)
    except (RequestInvalidError, SkippedLine) as reason:
        code = SKIPPED if isinstance(reason, SkippedLine) else INVALID
        return LineNote(file=file, line=line.end.line, code=code, message=str(reason))


async def _in_threads(items: Iterator[T]) -> AsyncIterator[T]:
    while (item := await in_thread(partial(next, items, None))) is not None:
        yield item


class _Ledger:
    """The settled batches of a run: every batch goes to the journal, and then to the listener."""

    def __init__(self, journal: ImportJournal, listener: OnProgress | None) -> None:
        self._journal = journal
        self._listener = listener
        self._imported = self._refused = 0

    def finish(self, number: int, file: InputFile, batch: LineBatch, refused: Sequence[LineNote]) -> None:
        notes, imported = [*batch.notes, *refused], len(batch.records) - len(refused)
        omissions = Counter(note.message for note in notes if note.is_skipped)
        for record in batch.records:
            omissions.update(record.omissions)
        self._journal.finish(number, batch.end, notes, omissions, imported=imported)
        self._imported += imported
        self._refused += sum(not note.is_skipped for note in notes)
        if self._listener is not None:
            progress = ImportProgress(
                file=file.name, kind=file.kind, line=batch.end.line, imported=self._imported,
                refused=self._refused,
            )  # fmt: skip
            self._listener(progress)


def _is_about_records(error: ApiError) -> bool:
    """Return True for an error that other records might not get; after any other one the import stops."""
    is_refusal = isinstance(error, BadRequestError | ConflictError) or error.code in _NOT_FOUND
    return is_refusal or error.status == _TOO_LARGE


def _code_and_message(reply: Any) -> tuple[str, str]:
    if reply is None:
        return NO_OUTCOME, "the reply does not mention this record"
    if isinstance(reply, RequestInvalidError):
        return INVALID, str(reply)
    if isinstance(reply, ApiError):
        return reply.code or f"status {reply.status}", reply.message
    error = reply.error if isinstance(reply.error, dict) else {}
    code = error.get("code")
    words = error.get("message") or reply.message or reply.error
    return (code if isinstance(code, str) and code else "refused"), words if isinstance(words, str) else ""
