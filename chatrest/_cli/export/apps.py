"""`export OUT --apps FILE`: export many apps in one run, with one summary.

Standard error has a line when an app begins and when it ends, and one of all of them that is live, or written
every minute. The exit status is the largest of those that single exports would have.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from ..._texts import duration, plural
from ...app import headers_from_env
from ...errors import AuthenticationError, ExportIncompleteError, RequestInvalidError
from .. import streams
from ..environment import can_continue, continuation, error_text, option_names, proxy, run
from ..streams import ProgressLine, regularly
from .status import failure_lines, skipped_words, state_words

if TYPE_CHECKING:
    from ...export import Plan
    from ...export.plan.app_file import AppExport
    from ...export.run.export import AppResult

_MAX_FAILURES: Final = 5


def export_apps(
    out: str, apps: str, plan: "Plan | None", options: Mapping[str, Any],
    *, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    from ...export.plan.app_file import read_apps

    exports = read_apps(apps)
    for each in exports:
        streams.hide(each.app.api_key)
    began = time.monotonic()
    try:
        results = run(_run(exports, out, plan, options, quiet=quiet))
    except (KeyboardInterrupt, asyncio.CancelledError) as end:
        given = {"--apps": apps, "--journal": options.get("journal")}
        end.add_note(continuation("export", [out], given))
        raise
    reports = [each.report for each in results if each.report is not None]
    failures = {_name(each): failure for each in results if (failure := _failure(each)) is not None}
    totals = {
        "complete": len(reports) == len(results) and all(each.complete for each in reports),
        "messages": sum(each.messages for each in reports),
        "written": sum(each.written for each in reports),
        "requests": sum(each.progress.requests for each in results),
        "seconds": time.monotonic() - began,
    }
    members = {
        "export": out,
        "apps": [_members(each, failures.get(_name(each))) for each in results],
        **totals,
    }
    lines = streams.fact_lines(_facts(results, out, totals))
    streams.write_result(members, lines, as_json=as_json, quiet=quiet)
    for app_run in results:
        for line in _warnings(app_run):
            streams.warn(f"{_name(app_run)}: {line}")
    if failures:
        raise _error_of(failures, len(results))


async def _run(
    exports: "list[AppExport]", out: str, plan: "Plan | None", options: Mapping[str, Any],
    *, quiet: bool,
) -> "list[AppResult]":  # fmt: skip
    from ...export.run.export import export_apps as run_apps

    runs: dict[str, AppResult] = {}

    def watch(app_run: "AppResult") -> None:
        runs[app_run.app_id] = app_run
        if not quiet:
            streams.warn(f"{_name(app_run)}: {_state(app_run)}")

    def update() -> None:
        running = [each for each in runs.values() if each.report is None and each.error is None]
        ended = f"{len(runs) - len(running):,} of {plural(len(exports), 'app')} ended"
        written = f"{sum(each.progress.written for each in runs.values()):,} new messages"
        troubles = [f"; {_name(each)}: {each.progress.trouble}" for each in running if each.progress.trouble]
        text = f"{ended}, {len(running):,} running, {written}{''.join(troubles)}"
        line.show(text, is_wrong=bool(troubles))

    given: Any = {**options, "headers": headers_from_env(), "watch": watch}
    with ProgressLine(quiet=quiet) as line:
        async with regularly(update):
            return await run_apps(exports, out, plan, proxy=proxy(), **given)


def _name(app_run: "AppResult") -> str:
    return app_run.export.name or app_run.app_id


def _failure(app_run: "AppResult") -> Exception | None:
    try:
        app_run.check()
    except Exception as error:
        return error
    return None


def _members(app_run: "AppResult", failure: Exception | None) -> dict[str, Any]:
    report = app_run.report
    result = {} if report is None else structs.asdict(report) | {"reasons": report.all_reasons}
    return {
        "app": app_run.app_id,
        "folder": str(app_run.folder),
        "complete": False,
        **result,
        "error": None if app_run.error is None else streams.without_keys(str(app_run.error)),
        "status": 0 if failure is None else 2 if isinstance(failure, RequestInvalidError) else 1,
    }


def _facts(results: "list[AppResult]", out: str, totals: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    reports = [each.report for each in results if each.report is not None]
    words = f"{sum(each.complete for each in reports):,} of {plural(len(results), 'app')} complete"
    if any(each.only for each in reports):
        words = f"a part of the plan of {plural(len(reports), 'app')}"
    yield "export", f"{out}, {words}"
    for each in results:
        yield _name(each), _state(each)
        yield "  skipped", "" if each.report is None else skipped_words(each.report)
    yield "messages", f"{totals['messages']:,}, {totals['written']:,} of them new"
    limited = sum(each.progress.limited for each in results)
    yield "requests", f"{totals['requests']:,}, {limited:,} answered 429"
    yield "time", duration(totals["seconds"])


def _state(app_run: "AppResult") -> str:
    report = app_run.report
    if report is None:
        return "running" if app_run.error is None else "failed"
    return f"{state_words(report)}: {report.messages:,} messages, {report.written:,} of them new"


def _error_of(failures: Mapping[str, Exception], count: int) -> Exception:
    text = f"{len(failures):,} of {count:,} apps are not complete: {', '.join(failures)}"
    if any(isinstance(each, RequestInvalidError) for each in failures.values()):
        return RequestInvalidError(text)
    error = ExportIncompleteError(text)
    error.can_continue = any(map(can_continue, failures.values()))
    # A refused key is refused again, until its variable has another one.
    if any(can_continue(each) and not isinstance(each, AuthenticationError) for each in failures.values()):
        error.add_note("run the same command again")
    return error


def _warnings(app_run: "AppResult") -> Iterator[str]:
    report, key = app_run.report, app_run.export.key_env
    if report is not None:
        yield from report.warnings
        yield from report.reasons
        yield from failure_lines(report, _MAX_FAILURES, str(app_run.folder))
    elif app_run.error is not None:
        is_key = isinstance(app_run.error, AuthenticationError) and key
        text = error_text(app_run.error, option_names()).removesuffix(".")
        yield f"{text}; set {key} to a valid key" if is_key else text
