"""The run of an import: batches are sent one after another, and each is in the journal before and after.

A batch may be sent a second time in two cases: its request was under way when the process ended, or its reply
was lost or cannot be read. This adds nothing: a message whose `muid` was used is refused, and a user, group
or member that exists is changed to the same, or refused as existing. Such refusals of a repeated batch count
as imported before.

One request at a time keeps the order: messages get their ids in the order of the file.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from .._parameters.data_import import MOST_ENTRIES
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
from .entities import ImportRecord, Kind, Reader, SkippedLine, read_object
from .import_journal import ImportJournal
from .input_files import LONGEST_LINE, ImportLine, LinePosition
from .inputs import ImportInput, Inputs, read_inputs
from .result import INVALID, NO_OUTCOME, SKIPPED, ImportResult, LineNote, list_omissions
from .shown_records import read_line

T = TypeVar("T")
Replies: TypeAlias = Mapping[str, Any]
"""By the keys of the records: an outcome with `success`, or an error."""

MOST_LINES: Final = 1000
"""Lines of a batch, so that a file without any record is noted in steps, too."""
ATTEMPTS: Final = 5
"""Requests for a batch whose replies are lost, before the error is raised."""
_FIRST_PAUSE: Final = 1.0
_TOO_LARGE: Final = 413
_NOT_FOUND: Final = frozenset({"ERR_UID_NOT_FOUND", "ERR_GUID_NOT_FOUND", "ERR_ROLE_NOT_FOUND"})
_FAILED: Final = 500
"""And above: a code that refuses with such a status may come after a part was applied."""


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
Files: TypeAlias = str | PathLike[str] | Iterable[str | PathLike[str]]
"""A path, or several of them."""


async def run(
    session: AsyncSession,
    files: Files,
    *,
    kind: Kind | None = None,
    journal: str | Path | None = None,
    progress: OnProgress | None = None,
    allow_incomplete: bool = False,
) -> ImportResult:
    """Import files of JSON lines, or continue an import that was interrupted; return the state of all runs.

    An export, in a folder or at the address of an object store such as `s3://bucket/prefix`, also one of
    parts, stands for its users, groups and members, and for its messages, the oldest first, in any format;
    one that is not complete is refused, if `allow_incomplete` is not given. Of one at an address a file at a
    time is on the local disk, beside the sorted messages. Roles of its users that the app does not have are
    made. Any other folder stands for the `.ndjson` files in it and in its `messages`. `kind` is detected from
    the first record of each file if it is not given, and of an export only the records of that kind are
    imported. They are imported in the order of `KINDS`. `journal` is a path, by default that of the first
    file or export with `.import-journal`; of an export at an address the last part of that, in the current
    folder. One request for 50 records; waits for rate limits as long as it takes.

    A record of an export, or one with a member that only the service writes (see `shown_records`), may have
    members that no import takes: they are dropped. In any other line an unknown member is a mistake.

    The result has the lines that were refused, and the counts of what was dropped. Raises
    `RequestInvalidError` for a wrong argument, a changed file or a journal of another import,
    `ObjectStoreError` where a store fails, and the errors of the service that are not about a record
    (`ServerError`, `AuthenticationError` …); after any error and any kill the same call continues.
    """
    with ExitStack() as stack:
        inputs = await in_thread(partial(read_inputs, files, kind, stack, allow_incomplete=allow_incomplete))
        app = f"{session.app.app_id} at {session.app.chat_url}"
        held = stack.enter_context(closing(ImportJournal(inputs.journal_path(journal), app, inputs.names)))
        bulk = session.with_options(priority="bulk", on_behalf_of=None)
        await _make_missing_roles(bulk, inputs.roles)
        importer = _Importer(bulk, held, _Ledger(held, progress))
        for number, each in enumerate(inputs.files):
            await importer.import_file(number, each)
        return _result(held, inputs)


def check(
    files: Files,
    *,
    kind: Kind | None = None,
    progress: OnProgress | None = None,
    allow_incomplete: bool = False,
) -> ImportResult:
    """Validate every line of the files, without network; arguments, result and errors as those of `run`."""
    with ExitStack() as stack:
        inputs = read_inputs(files, kind, stack, allow_incomplete=allow_incomplete)
        held = stack.enter_context(closing(ImportJournal(Path(":memory:"), "", inputs.names)))
        ledger = _Ledger(held, progress)
        for number, each in enumerate(inputs.files):
            for batch in batches(each.name, each.kind, each.lines(), each.read):
                ledger.finish(number, each, batch, _Outcomes(each, imported=len(batch.records)))
        return _result(held, inputs, dry_run=True)


def _result(held: ImportJournal, inputs: Inputs, *, dry_run: bool = False) -> ImportResult:
    omissions = list_omissions(inputs.omissions + held.omissions())
    return ImportResult(files=held.results(), refused=held.refused(), dry_run=dry_run, not_carried=omissions)


async def _make_missing_roles(session: AsyncSession, roles: frozenset[str]) -> None:
    """Make those of `roles` that the app does not have, with the service's defaults for their rights.

    Costs a request for the list, and one for each missing role; none where all users have the default role.
    A role that the service refuses to make is left out: its users are refused one by one, and named.
    """
    if not roles:
        return
    known = {role.role async for role in session.roles.list()}
    for role in sorted(roles - known):
        try:
            await session.roles.create(NewRole(role=role, name=role))
        except (AuthenticationError, ServerError):
            raise
        except (ApiError, RequestInvalidError):
            continue


# ── the lines of a file as batches ──


class LineBatch(NamedTuple):
    """Consecutive lines: the records of a request, no key twice, and notes of the others."""

    records: tuple[ImportRecord, ...]
    notes: tuple[LineNote, ...]
    end: LinePosition


def batches(
    file: str, kind: Kind, lines: Iterable[ImportLine], read: Reader = read_line
) -> Iterator[LineBatch]:
    """Yield the batches of a file, with the records that `read` makes of its lines.

    The same lines give the same batches.
    """
    records: dict[str, ImportRecord] = {}
    notes: list[LineNote] = []
    count, end = 0, None
    for line in lines:
        entry = _entry(file, kind, line, read)
        is_full = len(records) == MOST_ENTRIES or count == MOST_LINES
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


def _entry(file: str, kind: Kind, line: ImportLine, read: Reader) -> ImportRecord | LineNote | None:
    """Return the record of a line, or a note of what is wrong; None for an empty line."""
    try:
        if line.raw is None:
            raise RequestInvalidError(f"the line has more than {LONGEST_LINE:,} bytes")
        if not line.raw.strip():
            return None
        return read(kind, read_object(line.raw))._replace(end=line.end)
    except (RequestInvalidError, SkippedLine) as reason:
        code = SKIPPED if isinstance(reason, SkippedLine) else INVALID
        return LineNote(file=file, line=line.end.line, code=code, message=str(reason))


# ── a run ──


class _Importer:
    """One run of an import."""

    def __init__(self, session: AsyncSession, journal: ImportJournal, ledger: "_Ledger") -> None:
        self._session = session
        data = session.data_import
        self._imports: Mapping[Kind, Any] = {
            "users": data.import_users, "groups": data.import_groups, "members": data.import_members,
            "messages": data.import_messages,
        }  # fmt: skip
        self._journal = journal
        self._ledger = ledger
        self._sent_to = 0
        """Records up to this line of the file may have been applied by a request whose reply was lost."""

    async def import_file(self, number: int, each: ImportInput) -> None:
        """Import what is left of a file."""
        state = self._journal.state(number)
        self._sent_to = state.open.line
        async for _ in _in_threads(each.prepare()):
            pass
        lines = each.lines(state.settled, state.open)
        async for batch in _in_threads(batches(each.name, each.kind, lines, each.read)):
            outcomes = _Outcomes(each, (self._session.app.api_key,))
            if batch.records:
                self._journal.begin(number, batch.end)
                await self._send(each.kind, batch.records, outcomes)
            self._ledger.finish(number, each, batch, outcomes)

    async def _send(self, kind: Kind, records: Sequence[ImportRecord], outcomes: "_Outcomes") -> None:
        """Send a request; one that is refused is sent in halves: one record may be the cause."""
        replies: Replies
        try:
            replies = await self._replies(kind, records)
        except (ApiError, RequestInvalidError) as error:
            if isinstance(error, ApiError):
                if not _is_about_records(error):
                    raise
                if error.status >= _FAILED:
                    self._may_be_applied(records)
            if len(records) > 1:
                middle = len(records) // 2
                await self._send(kind, records[:middle], outcomes)
                await self._send(kind, records[middle:], outcomes)
                return
            replies = {records[0].key: error}
        outcomes.add(records, replies, self._sent_to)

    async def _replies(self, kind: Kind, records: Sequence[ImportRecord]) -> Replies:
        """Return the replies by key; a request whose reply is lost, or cannot be read, is sent again."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._imports[kind]([each.record for each in records])  # type: ignore[no-any-return]
            except (OutcomeUnknownError, ReplyUnreadableError):
                if attempt == ATTEMPTS:
                    raise
                self._may_be_applied(records)
            await self._session.sender.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
        raise AssertionError

    def _may_be_applied(self, records: Sequence[ImportRecord]) -> None:
        self._sent_to = max(self._sent_to, records[-1].end.line)


async def _in_threads(items: Iterator[T]) -> AsyncIterator[T]:
    """Yield items, each made in a thread: a file may have to be read, or downloaded, for it."""
    while (item := await in_thread(partial(next, items, None))) is not None:
        yield item


class _Outcomes:
    """The outcomes of a batch, from the replies for its records.

    `secrets` are hidden in what it notes: the service's words may repeat them.
    """

    def __init__(self, file: ImportInput, secrets: tuple[str, ...] = (), imported: int = 0) -> None:
        self._file = file
        self._secrets = secrets
        self.imported = imported
        self.notes: list[LineNote] = []

    def add(self, records: Iterable[ImportRecord], replies: Replies, sent_to: int) -> None:
        """Add what the replies say of each record; up to the line `sent_to` it may have been sent before."""
        for record in records:
            reply, line = replies.get(record.key), record.end.line
            code, message = _reason(reply)
            is_there = line <= sent_to and _says_it_exists(code)
            if getattr(reply, "success", None) is True or is_there:
                self.imported += 1
            else:
                code, message = scrub(code, self._secrets), scrub(message, self._secrets)
                note = LineNote(file=self._file.name, line=line, key=record.key, code=code, message=message)
                self.notes.append(note)


class _Ledger:
    """The settled batches of a run: every batch goes to the journal, and then to the listener."""

    def __init__(self, journal: ImportJournal, listener: OnProgress | None) -> None:
        self._journal = journal
        self._listener = listener
        self._imported = self._refused = 0

    def finish(self, number: int, each: ImportInput, batch: LineBatch, outcomes: _Outcomes) -> None:
        """Note the outcomes of a batch of the file with this number."""
        notes = [*batch.notes, *outcomes.notes]
        skipped = {note.line: note.message for note in notes if note.is_skipped}
        omissions = Counter(skipped.values())
        for record in batch.records:
            omissions.update(() if record.end.line in skipped else record.left_out)
        self._journal.finish(number, batch.end, notes, omissions, imported=outcomes.imported)
        self._imported += outcomes.imported
        self._refused += sum(not note.is_skipped for note in notes)
        if self._listener is not None:
            line, done, refused = batch.end.line, self._imported, self._refused
            progress = ImportProgress(
                file=each.name, kind=each.kind, line=line, imported=done, refused=refused
            )
            self._listener(progress)


def _is_about_records(error: ApiError) -> bool:
    """Return True for an error that other records might not get; after any other one the import stops."""
    is_refusal = isinstance(error, BadRequestError | ConflictError) or error.code in _NOT_FOUND
    return is_refusal or error.status == _TOO_LARGE


def _says_it_exists(code: str) -> bool:
    """Return True for the refusal of a record that is there; a full group is a conflict, too, and is not."""
    return "_ALREADY_" in code or code in ("ERR_SAME_SCOPE", "status 409")


def _reason(reply: Any) -> tuple[str, str]:
    """Return the code and the message of a reply that is no success."""
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
