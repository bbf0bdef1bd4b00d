"""The lines of a file in batches: the records of one request, and notes of the lines that are not sent.

A file of its own because it sends nothing: the same lines give the same batches in every run.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from .._parameters.data_import import MAX_ENTRIES
from ..errors import RequestInvalidError
from .import_records import ImportRecord, Kind, SkippedLine, read_object, record_of
from .import_result import INVALID, SKIPPED, LineNote
from .input_lines import MAX_LINE, ImportLine, LinePosition

MAX_LINES: Final = 1000
"""Lines of a batch, so that a file without any record is noted in steps, too."""


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
    """Return the record of a line, or a note of what is wrong; None for an empty line."""
    try:
        if line.raw is None:
            raise RequestInvalidError(f"the line has more than {MAX_LINE:,} bytes")
        if not line.raw.strip():
            return None
        return record_of(kind, read_object(line.raw))._replace(end=line.end)
    except (RequestInvalidError, SkippedLine) as reason:
        code = SKIPPED if isinstance(reason, SkippedLine) else INVALID
        return LineNote(file=file, line=line.end.line, code=code, message=str(reason))
