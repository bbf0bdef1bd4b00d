"""Runs of an export, which may be of parts: each part is run, and then again where others left it something.

```
night.prepare (users, new messages) → run_part for each part → run_part again for what was left
```

No part talks to another one. Whoever runs a part has its lock, or its lease; who finds that all parts are
read runs again those that were left something meanwhile: a run that reads no list, and costs no request where
nothing is missing. A process that is killed leaves its part to the next one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from os import PathLike
from typing import TypeAlias

from msgspec import structs

from ..._threads import for_each
from ...errors import RequestInvalidError
from ...session import AsyncSession
from ..fetch.part_run import PartRun
from ..fetch.source_list import sent_by
from ..folder.part_files import PartFiles, find_parts, is_settled, read_state
from ..plan.export_plan import Plan
from ..plan.parts import NAME, STATE, Parts, PartState, part_name
from ..plan.report import Phase, Progress, Report, report_of_parts, report_of_runs, sums
from ..read.exports import Position, part_files, position_of
from ..store.disk import Disk
from . import night as nights
from .folder_run import DEFAULTS, ExportOptions, export_folder, journal_root, place_in, run_at
from .night import HELD, OpenNight, check_part, left_parts, open_night, prepare, put

RunLeft: TypeAlias = Callable[
    [Parts, Callable[[], Awaitable[list[int]]]], Awaitable[Mapping[int, Sequence[Report]]]
]
"""Runs what is left of a night elsewhere, until nothing is; gives the reports of each part by its number."""


async def run_part(
    session: AsyncSession,
    out: str | PathLike[str],
    number: int,
    options: ExportOptions = DEFAULTS,
    *,
    night: OpenNight | None = None,
    journal: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    disk: Disk | None = None,
) -> Report:
    """Run one part of an export that was prepared, and return its report.

    `night` is the newest one, which is read where it is not given. `journal` is the folder of the working
    copies, for an address. Tables are read by the first part, reactions by that of their messages. Raises
    `InUseError` or `LeaseHeldError` where another process runs the part, and as `export`.
    """
    files = part_files(out, disk)
    if night is None:
        if (stored := await find_parts(files)) is None:
            raise RequestInvalidError(f"{files.place} is not an export of parts: it has no {NAME}")
        night = await open_night(files, stored[0])
    parts = night.parts
    check_part(number, parts.parts)
    name, shown = part_name(number, parts.parts), progress or Progress()
    root = journal_root(out, journal)
    state = await read_state(files, parts, number)
    options = structs.replace(
        options,
        tables=[table for table in options.tables if number == 0 or table == "reactions"],
        # Where its night was read, it is run again for what others have left it.
        recheck=None if state.night >= parts.night else options.recheck,
    )
    part = PartRun(files, parts, number, night.users, night.findings, night.rule, state)
    run = partial(
        export_folder, session, plan=night.rule.plan_of(parts.plan, number), options=options, part=part,
        progress=shown, disk=disk,
    )  # fmt: skip
    report = await run_at(place_in(out, name), None if root is None else root / name, shown, run)
    state = PartState(
        night=max(state.night, parts.night),
        complete=report.complete,
        messages=report.messages,
        sources=report.sources,
        run=int(report.run),
        taken=part.taken,
    )
    await put(files, f"{name}/{STATE}", state.encoded())
    return report


async def export_parts(
    session: AsyncSession,
    out: str | PathLike[str],
    plan: Plan | None = None,
    options: ExportOptions = DEFAULTS,
    *,
    parts: int | None = None,
    part: int | None = None,
    claim: bool = False,
    run_left: RunLeft | None = None,
    journal: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    disk: Disk | None = None,
) -> Report:
    """Run an export of parts, or a part of it, as `export` says; with `run_left` all of it."""
    options.check(session, plan)
    if options.only or options.change_plan:
        argument = "only" if options.only else "change_plan"
        raise RequestInvalidError(
            f"{out} is an export of parts, whose plan never changes and is read completely: expected no "
            f"{argument}=True, or another folder",
            arguments=(argument,),
        )
    shown = progress or Progress()
    started, sent, files = session.sender.now(), sent_by(session), part_files(out, disk)
    sent_elsewhere = 0
    prepared = await prepare(session, out, plan, parts=parts, part=part, progress=shown, disk=disk)
    night = None if run_left is not None else await open_night(files, prepared)

    async def run(number: int) -> Report:
        return await run_part(
            session, out, number, options, night=night, journal=journal, progress=shown, disk=disk
        )

    async def wait(seconds: float) -> None:
        shown.enter(Phase.WAITING_FOR_PROCESS, "which reads a part")
        await asyncio.sleep(seconds)

    async def run_free(number: int) -> Report | None:
        if await files.is_held(part_name(number, prepared.parts)):
            return None
        state = await read_state(files, prepared, number)
        if state.night == prepared.night and await is_settled(files, prepared, number, state):
            return None
        with suppress(*HELD):
            return await run(number)
        return None

    if part is not None:
        first = await run(part)
        # Who finds that all parts are read runs again those that were left something.
        again = await run_rounds(partial(left_parts, files, prepared, is_read=True), run_free, sleep=None)
        report = report_of_runs([first, *again.get(part, [])])
        report.part = part_name(part, prepared.parts)
    else:
        left = partial(left_parts, files, prepared)
        if run_left is not None:
            ran = await run_left(prepared, left)
            sent_elsewhere = sum(report.requests for each in ran.values() for report in each)
        elif claim:  # each process begins elsewhere
            begin = int(session.sender.dice() * prepared.parts)
            ran = await run_rounds(left, run_free, begin=begin, sleep=wait)
        else:
            ran = await run_rounds(left, run)
        reports = {number: report_of_runs(each) for number, each in ran.items()}
        states = [await read_state(files, prepared, number) for number in range(prepared.parts)]
        report = _merged(prepared, states, reports)
    report.run = await _run_position(files, prepared)
    report.started, report.finished = started, session.sender.now()
    report.requests = sent_by(session) - sent + sent_elsewhere
    shown.enter(Phase.DONE)
    return report


async def run_rounds(
    left: Callable[[], Awaitable[list[int]]],
    run: Callable[[int], Awaitable[Report | None]],
    *,
    begin: int = 0,
    at_once: int = 1,
    sleep: Callable[[float], Awaitable[object]] | None = asyncio.sleep,
    pause: float | None = None,
) -> dict[int, list[Report]]:
    """Run what is `left` of parts until nothing is, and return the reports of each part, in their order.

    `run` gives None for a part that another process has: these are waited for, or without `sleep` left to it.
    `begin` is the number of the part to begin with.
    """
    reports, has_run = dict[int, list[Report]](), True

    async def run_one(number: int) -> None:
        nonlocal has_run
        if (report := await run(number)) is not None:
            reports.setdefault(number, []).append(report)
            has_run = True

    while numbers := await left():
        if not has_run:
            if sleep is None:
                break
            await sleep(nights.PAUSE if pause is None else pause)
        has_run = False
        await for_each(sorted(numbers, key=lambda number: (number < begin, number)), run_one, at_once)
    return reports


async def _run_position(files: PartFiles, parts: Parts) -> Position:
    states = {name: await read_state(files, parts, number) for number, name in enumerate(parts.names)}
    return position_of({name: state.run for name, state in states.items()})


def _merged(parts: Parts, states: Sequence[PartState], reports: Mapping[int, Report]) -> Report:
    """Return the report of all parts: its messages and sources are of the whole export, and the rest of what
    this run has done, and not what other processes have.
    """
    report = report_of_parts({parts.names[number]: reports[number] for number in sorted(reports)})
    report.reasons += [
        f"{parts.names[number]} is not complete; `runs.jsonl` there says why"
        for number, state in enumerate(states)
        if not state.complete and number not in reports
    ]
    report.complete = all(state.complete for state in states)
    return structs.replace(report, **sums(states, ("messages", "sources")))
