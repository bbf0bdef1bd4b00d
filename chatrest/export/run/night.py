"""A night of an export of parts: what all parts need to know, asked once and written down.

The first process that finds a night due lists the users, and asks for the app's newest messages and for all
new ones; the others wait for it. Nothing of a night is changed afterwards.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, islice
from os import PathLike
from typing import Final, NamedTuple

from msgspec import structs

from ..._cloud.store_errors import LeaseHeldError
from ..._core.replies.rows import Row, row_of
from ..._core.requests.arguments import check
from ..._storage import InUseError
from ..._texts import plural
from ...errors import ChatRestError, RequestInvalidError
from ...session import AsyncSession
from ..fetch.app_list import MAX_RUNS, MIN_SOURCES, AppListReader, newest_of_app
from ..fetch.page_check import PARTIES, Window, falls
from ..fetch.source_list import in_order, listed_users
from ..folder.part_files import (
    PartFiles,
    StampedFile,
    find_parts,
    is_settled,
    ownership,
    read_news,
    read_state,
    read_users,
)
from ..plan.export_plan import Plan, difference
from ..plan.message_ids import number
from ..plan.ownership import Source
from ..plan.parts import MAX_PARTS, NAME, Night, NightFindings, NightUsers, PartOwnership, Parts, packed
from ..plan.report import Phase, Progress
from ..read.exports import part_files
from ..store.disk import Disk

PAUSE: Final = 1.0
"""Seconds before it is asked again whether a part, or a night, that another process has is free."""
_LATELY: Final = 20
"""Users of the first nights of whom one may be drawn, beside those who had new messages lately."""
HELD: Final = (InUseError, LeaseHeldError)


class OpenNight(NamedTuple):
    parts: Parts
    users: list[NightUsers]
    """The users of each night."""
    findings: NightFindings
    rule: PartOwnership


async def has_parts(out: str | PathLike[str]) -> bool:
    return await part_files(out).read(NAME) is not None


async def prepare(
    session: AsyncSession,
    out: str | PathLike[str],
    plan: Plan | None = None,
    *,
    parts: int | None = None,
    part: int | None = None,
    progress: Progress | None = None,
    disk: Disk | None = None,
) -> Parts:
    """Begin a night where one is due, and return what `parts.json` says then.

    One is due where no part of the newest one is left to be run, or for the run of one `part` where that was
    read. Costs the list of users, and a few requests. Processes that begin at once wait for the first.
    Raises `RequestInvalidError` for what is no export of parts, or one of another number, plan or app.
    """
    files, shown = part_files(out, disk), progress or Progress()
    fits = parts is None or (type(parts) is int and 0 < parts <= MAX_PARTS)
    check(fits, "parts", parts, f"a whole number from 1 to {MAX_PARTS:,}, or None")
    fits = plan is None or not plan.everything
    check(fits, "everything", True, "other sources, as the app's own list has no parts")
    while True:
        stored = await find_parts(files)
        if stored is None and parts is None:
            await files.check_free()
            raise RequestInvalidError(
                f"{files.place} is not an export of parts: it has no {NAME}: expected parts=P (--parts P)"
            )
        if stored is not None:
            _check_same(files, stored[0], plan, parts, part, session.app.app_id)
            if not await _is_due(files, stored[0], part):
                return stored[0]
        elif part is not None and parts is not None:
            check_part(part, parts)
        if not await files.is_held():
            with suppress(*HELD):
                async with files.turn():
                    again = await find_parts(files)
                    if (again and again[0]) == (stored and stored[0]):
                        shown.enter(Phase.BEGINNING)
                        return await _begin(session, files, stored, plan, parts or 0, session.sender.now())
                continue
        shown.enter(Phase.WAITING_FOR_PROCESS, "which lists the users")
        await asyncio.sleep(PAUSE)


def check_part(part: object, parts: int) -> None:
    check(type(part) is int and 0 <= part < parts, "part", part, f"a number from 0 to {parts - 1}")


def _check_same(
    files: PartFiles, stored: Parts, plan: Plan | None, parts: int | None, part: int | None, app_id: str
) -> None:
    place = files.place
    if stored.app_id != app_id:
        raise RequestInvalidError(
            f"{place} holds an export of the app {stored.app_id!r}, and not of {app_id!r}"
        )
    if parts is not None and parts != stored.parts:
        raise RequestInvalidError(
            f"{place} is an export of {plural(stored.parts, 'part')}, and not of {parts}: their number never "
            "changes; expected no number, or another folder"
        )
    old, new = ("", "") if plan is None else difference(stored.plan, stored.plan.continued(plan))
    if old or new:
        raise RequestInvalidError(
            f"{place} was exported with {old}, and this plan has {new}: the plan of an export of parts never "
            "changes; expected no plan at all, or another folder"
        )
    if part is not None:
        check_part(part, stored.parts)


async def _is_due(files: PartFiles, parts: Parts, part: int | None) -> bool:
    if not parts.nights:
        return True
    if part is not None:
        return (await read_state(files, parts, part)).night >= parts.night
    return not await left_parts(files, parts)


async def left_parts(files: PartFiles, parts: Parts, *, is_read: bool = False) -> list[int]:
    """Return the parts whose lists are to be read in the newest night; where all are read, those that were
    left something that they have not taken in. With `is_read` these alone.
    """
    states = [await read_state(files, parts, number) for number in range(parts.parts)]
    if unread := [number for number, state in enumerate(states) if state.night < parts.night]:
        return [] if is_read else unread
    return [
        number for number, state in enumerate(states) if not await is_settled(files, parts, number, state)
    ]


async def _begin(
    session: AsyncSession, files: PartFiles, stored: tuple[Parts, StampedFile] | None, plan: Plan | None,
    number_of_parts: int, now: int,
) -> Parts:  # fmt: skip
    """Ask what all parts need to know, and write it down; called by one process at a time."""
    if stored is None:
        await files.check_free()
        parts = Parts(parts=number_of_parts, app_id=session.app.app_id, plan=plan or Plan())
    else:
        parts = stored[0]
    night_number, uids = len(parts.nights), await read_users(files, parts)
    former = await read_news(files, parts, night_number - 1) if night_number else None
    rule, known_uids = ownership(parts, uids), set(chain(*uids))
    session = session.with_options(priority="bulk")
    is_backwards = former is not None and former.goes_backwards and len(former.newest) > 1
    findings = await newest_of_app(session, is_backwards=is_backwards)
    listed, fault = dict.fromkeys(parts.plan.users), ""
    if parts.plan.all_users:
        sources, error = await listed_users(session)
        listed |= {source.names[0]: None for source in sources}
        fault = "" if error is None else str(error)
    new = [uid for uid in listed if uid not in known_uids]
    rule.add_night(new)
    count = len(known_uids) + len(new) + len(parts.plan.groups) + len(parts.plan.pairs)
    if former is not None:
        findings = await _with_rows(session, parts.plan, rule, former, findings, known_uids, count)
    if findings.newest and parts.plan.all_users and not count:
        fault = "the service lists no users, although the app has messages"
    # Where the list was not read to its end, nobody is known to be gone.
    gone = [] if fault else sorted(known_uids - listed.keys())
    findings = structs.replace(findings, gone=gone, fault=fault)
    night = Night(
        now, f"news/{night_number:04}.msgpack.gz", f"users/{night_number:04}.msgpack.gz" if new else ""
    )
    await put(files, night.news, packed(findings))
    if night.users:
        await put(files, night.users, packed(NightUsers.of(new, parts.parts)))
    parts = structs.replace(parts, nights=(*parts.nights, night))
    if not await files.write(NAME, parts.encoded(), None if stored is None else stored[1]):
        raise ChatRestError(f"{files.place}/{NAME}: another process has begun a night; run it again")
    return parts


async def _with_rows(
    session: AsyncSession, plan: Plan, rule: PartOwnership, former: NightFindings, findings: NightFindings,
    uids: Iterable[str], sources: int,
) -> NightFindings:  # fmt: skip
    """Add what is new since the last night, if the app's own list is to be believed (`fetch/app_list`).

    `uids` are users of earlier nights, and `sources` is the number of all sources.
    """
    after, until, rows = _until(former), _until(findings), list[Row]()
    if after is None or until is None or until < after or plan.until is not None:
        return findings
    if former.believed >= MAX_RUNS or (until > after and sources < MIN_SOURCES):
        return findings
    window = Window(*plan.window).in_unit_of(max(row_of(raw).sent_at for raw in findings.newest))
    app_list = AppListReader(session, plan, window, rule.claimants, after, until)
    lately = [source for raw in former.rows for source in rule.claimants(*PARTIES(row_of(raw)))]
    lately += [Source("user", (uid,)) for uid in islice(uids, _LATELY)]

    async def take(page: list[Row]) -> None:
        rows.extend(page)

    silent = dict.fromkeys([*lately, *plan.sources]) if sources >= MIN_SOURCES else None
    if not await app_list.read(sources // 2, take, silent):
        return findings
    new = [row.raw for row in rows]
    return structs.replace(findings, after=after, believed=former.believed + 1, rows=new)


def _until(findings: NightFindings) -> int | None:
    rows = in_order([row_of(raw) for raw in findings.newest])
    return number(rows[0].id) if findings.goes_backwards and rows and falls(rows) else None


async def put(files: PartFiles, name: str, data: bytes) -> None:
    """Write a file of a night, over what a process has left there that was killed before the night began."""
    while not await files.write(name, data, await files.read(name)):
        pass


async def open_night(files: PartFiles, parts: Parts) -> OpenNight:
    """Return the newest night. Costs the reading of the users of all nights."""
    users = await read_users(files, parts)
    findings, rule = await read_news(files, parts, parts.night), ownership(parts, users)
    rule.gone = frozenset(findings.gone)
    return OpenNight(parts, users, findings, rule)
