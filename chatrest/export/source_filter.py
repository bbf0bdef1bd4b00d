"""The rows of a page that a source was asked for: what a service shows beside them is not filed there.

| the service ignored …                       | then                                                       |
|---------------------------------------------|------------------------------------------------------------|
| the acting user: a message of two others    | `ActingUserIgnoredError`, nothing of the page is kept      |
| the user, the group or the thread           | the rows are left out; the source fails once it is read    |
| a filter of the plan, such as `types`       | the rows are left out, and the run has a warning           |

The seconds at the edges of a window are no fault: they are asked for, and left out by `Window.within`.
"""

from typing import Final, final

from ..core.replies.expectation import ON_BEHALF_OF, Expectation
from ..core.replies.rows import Row
from ..errors import ActingUserIgnoredError, ChatRestError
from ..parameters.messages import MessageQuery
from ..secrets import shown
from .ownership import Source

_PARTIES: Final = frozenset({"uid", "guid", "message_id", "conversation_id"})
"""The names of what says whose list is asked for; all others are filters."""


@final
class SourceFilter:
    """Leaves out what the sources of a run were not asked for, and notes it."""

    def __init__(self, query: MessageQuery) -> None:
        self._query = query
        self._expectations: dict[Source, Expectation] = {}
        self._faults: dict[Source, str] = {}
        self._ignored: set[str] = set()

    def fitting(self, source: Source, rows: list[Row]) -> list[Row]:
        """Return the rows that a source was asked for; raises `ActingUserIgnoredError`."""
        if source.kind == "pair" and rows and all(row.sender == row.receiver for row in rows):
            raise ActingUserIgnoredError(_fault(source, rows[0]))  # the acting user's notes to itself
        misfits = self._expectation(source).mismatches(rows)
        if not misfits:
            return rows
        for index, name in misfits.items():
            if name == ON_BEHALF_OF or (source.kind == "pair" and name in _PARTIES):
                raise ActingUserIgnoredError(_fault(source, rows[index]))
            if name in _PARTIES:
                self._faults.setdefault(source, _fault(source, rows[index]))
            else:
                self._ignored.add(name)
        return [row for index, row in enumerate(rows) if index not in misfits]

    def fault(self, source: Source) -> ChatRestError | None:
        """Return the error of a source whose list showed messages of others; None where it did not."""
        fault = self._faults.get(source)
        return None if fault is None else ChatRestError(fault)

    def warnings(self) -> list[str]:
        """Return what the service ignored, a sentence for each filter."""
        return [
            f"the service ignored the filter {name}: messages that do not fit it were left out"
            for name in sorted(self._ignored)
        ]

    def _expectation(self, source: Source) -> Expectation:
        if source not in self._expectations:
            uid, other = (*source.names, None, None)[:2]
            self._expectations[source] = Expectation.of_messages(
                uid=uid if source.kind in ("user", "pair") else None,
                guid=uid if source.kind == "group" else None,
                acting_user=other if source.kind == "pair" else None,
                query=self._query,
            )
        return self._expectations[source]


def _fault(source: Source, row: Row) -> str:
    """Return why a row does not belong to a source."""
    return (
        f"the service showed a message that does not belong to the list of {source}: {shown(row.id)}, "
        f"from {shown(row.sender)} to the {row.receiver_type or 'receiver'} {shown(row.receiver)}; "
        "it is not stored there"
    )
