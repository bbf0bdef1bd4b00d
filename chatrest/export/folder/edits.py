"""Brings messages up to date at once whose edit or deletion an increment has read.

The service shows both by another message: `category` is `action`, `data.action` is `edited` or
`deleted`, and `data.entities.on.entity` is the message as it was then. Such a record is a hint, which is kept
in the journal, and compared with what is on disk when all lists are read:

| the record, beside the message on disk                              | then                              |
|---------------------------------------------------------------------|-----------------------------------|
| there is no such message on disk                                    | nothing                           |
| is of another conversation, sender, receiver or time: a lie         | nothing                           |
| is older, or says the same                                          | nothing                           |
| is newer, and has all members that are on disk                      | it takes the place of the older   |
| is newer and lacks some, or is of the same time and says other things | the service is asked for it by id |

What it answers is compared in the same way, but may lack members, and need not be newer. The older version
goes to the history in any case.
"""

from typing import Any, Final, Literal, TypeAlias

import msgspec

from ..._core.replies.rows import Row, row_of
from ..._core.send import AsRows
from ..._models.raw_json import REFUSED
from ..._resources.messages import Messages
from ..._threads import for_each, in_thread
from ...errors import ChatRestError, NotFoundError, RequestInvalidError
from ...session import AsyncSession
from .export_folder import ExportFolder

MAX_ASKED: Final = 1_000
"""Messages that a run asks for by their ids; the next run continues."""
_AT_ONCE: Final = 16
_BATCH: Final = 5_000
_IDENTITY: Final = (
    "id", "conversationId", "sender", "receiver", "receiverType", "category", "parentId", "sentAt",
)  # fmt: skip
_TIMES: Final = ("updatedAt", "editedAt", "deletedAt")
_Verdict: TypeAlias = Literal["newer", "nothing", "ask"]


async def apply_edits(session: AsyncSession, export: ExportFolder) -> int:
    """Note the messages that have changed, as edits and deletions say; return how many.

    They take their places when the export is finished. Costs the reading of the files that hold them, and
    a request for each record that is not complete, `MAX_ASKED` at most.
    """
    count, asked = await in_thread(lambda: _compare_all(export))
    answers, settled = list[Row](), list[str]()
    messages = Messages(AsRows(session.sender))

    async def ask(key: str) -> None:
        try:
            listing: Any = await messages.get(key)  # a page of one row
        except (NotFoundError, RequestInvalidError):
            settled.append(key)  # it is gone, which a recheck finds
        except ChatRestError:
            pass  # the next run asks again
        else:
            settled.append(key)
            answers.extend(row for row in listing.items if row.id == key)

    await for_each(asked[:MAX_ASKED], ask, _AT_ONCE)
    if settled:
        count += await in_thread(lambda: _take_answers(export, answers, settled))
    return count


def _compare_all(export: ExportFolder) -> tuple[int, list[str]]:
    """Compare all that is noted; return how many messages have changed, and the ids to be asked for."""
    count, asked, after = 0, list[str](), ""
    while ids := export.journal.edits.ids(after, _BATCH):
        shown = export.journal.edits.shown(ids)
        stored, newer, left = export.stored(ids), list[Row](), list[str]()
        for key in ids:
            verdicts = {row.raw: _verdict(stored.get(key), row) for row in map(row_of, shown[key])}
            if candidates := [row_of(raw) for raw, verdict in verdicts.items() if verdict == "newer"]:
                newer.append(max(candidates, key=lambda row: _stamp_of(_members(row))))
            elif "ask" in verdicts.values():
                left.append(key)
        export.note_edited(newer, set(ids).difference(left))
        count, asked, after = count + len(newer), [*asked, *left], ids[-1]
    return count, asked


def _take_answers(export: ExportFolder, answers: list[Row], settled: list[str]) -> int:
    stored = export.stored([row.id for row in answers])
    newer = [row for row in answers if _verdict(stored.get(row.id), row, is_answer=True) == "newer"]
    export.note_edited(newer, settled)
    return len(newer)


def _verdict(stored: Row | None, shown: Row, *, is_answer: bool = False) -> _Verdict:
    old, new = _members(stored), _members(shown)
    common = old.keys() & new.keys()
    if not old or any(old[name] != new[name] for name in _IDENTITY if name in common):
        return "nothing"
    if "id" not in common or _stamp_of(new) < _stamp_of(old):
        return "nothing"
    is_newer = _stamp_of(new) > _stamp_of(old)
    if not is_newer and all(old[name] == new[name] for name in common):
        return "nothing"
    is_complete = is_newer and old.keys() <= new.keys()
    return "newer" if is_answer or is_complete else "ask"


def _stamp_of(members: dict[str, Any]) -> tuple[int, int]:
    """Return the time at which a record was changed last, and how many of its times say so."""
    times = [members[name] for name in _TIMES if type(members.get(name)) is int]
    return max(times, default=0), len(times)


def _members(row: Row | None) -> dict[str, Any]:
    try:
        members = msgspec.json.decode(row.raw) if row is not None else {}
    except REFUSED:
        return {}
    return members if isinstance(members, dict) else {}
