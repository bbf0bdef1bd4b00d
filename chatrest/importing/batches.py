"""The lines of a file as batches: the records of a request, and notes of the lines between them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ..errors import RequestInvalidError
from ..parameters.checked import Body
from ..parameters.data_import import MOST_ENTRIES
from .entities import Kind, Reader, SkippedLine, read_object
from .input_files import LONGEST_LINE, Line, Position
from .result import INVALID, SKIPPED, LineNote
from .shown_records import read_line

MOST_LINES: Final = 1000
"""Lines of a batch, so that a file without any record is noted in steps, too."""


class Entity(NamedTuple):
    """A record to send."""

    key: str
    record: Body
    end: Position
    """The end of its line."""
    left_out: tuple[str, ...] = ()
    """What its line holds and no import takes, in words."""


class Batch(NamedTuple):
    """Consecutive lines: at most 50 records, no key twice, and notes of the other lines."""

    entities: tuple[Entity, ...]
    notes: tuple[LineNote, ...]
    end: Position

    def omissions(self) -> Counter[str]:
        """Return how often the lines hold something that no import takes."""
        counts = Counter(words for entity in self.entities for words in entity.left_out)
        counts.update(note.message for note in self.notes if note.is_skipped)
        return counts

    def halves(self) -> tuple["Batch", "Batch"]:
        """Return two batches with about half of the records each; there are two records at least."""
        middle = len(self.entities) // 2
        first, second = self.entities[:middle], self.entities[middle:]
        end = first[-1].end
        before = tuple(note for note in self.notes if note.line <= end.line)
        return Batch(first, before, end), Batch(second, self.notes[len(before) :], self.end)


def batches(file: str, kind: Kind, lines: Iterable[Line], read: Reader = read_line) -> Iterator[Batch]:
    """Yield the batches of a file, with the records that `read` makes of its lines.

    The same lines give the same batches.
    """
    entities: dict[str, Entity] = {}
    notes: list[LineNote] = []
    count, end = 0, None
    for line in lines:
        entry = _entry(file, kind, line, read)
        is_full = len(entities) == MOST_ENTRIES or count == MOST_LINES
        is_repeated = isinstance(entry, Entity) and entry.key in entities
        if end is not None and (is_full or is_repeated):
            yield Batch(tuple(entities.values()), tuple(notes), end)
            entities, notes, count = {}, [], 0
        count, end = count + 1, line.end
        if isinstance(entry, Entity):
            entities[entry.key] = entry
        elif entry is not None:
            notes.append(entry)
    if end is not None and count:
        yield Batch(tuple(entities.values()), tuple(notes), end)


def _entry(file: str, kind: Kind, line: Line, read: Reader) -> Entity | LineNote | None:
    """Return the record of a line, or a note of why it is none; None for an empty line."""
    number = line.end.line
    if line.raw is None:
        words = f"the line has more than {LONGEST_LINE:,} bytes"
        return LineNote(file=file, line=number, code=INVALID, message=words)
    if not line.raw.strip():
        return None
    try:
        key, record, left_out = read(kind, read_object(line.raw))
    except RequestInvalidError as error:
        return LineNote(file=file, line=number, code=INVALID, message=str(error))
    except SkippedLine as reason:
        return LineNote(file=file, line=number, code=SKIPPED, message=str(reason))
    return Entity(key, record, line.end, left_out)
