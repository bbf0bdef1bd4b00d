"""`export OUT --apps FILE`: export many apps in one run, with one summary.

Standard error has a line when an app begins and when it ends, and one for all of them every minute. The exit
status is the largest of those that single exports would have.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from ..._core.environment import headers_from_env
from ..._texts import duration, plural
from ...errors import AuthenticationError, ExportIncompleteError, RequestInvalidError
from .. import streams
from ..environment import all_apps, proxy
from ..process import can_continue, continuation, run

if TYPE_CHECKING:
    from ...export import Failure, Plan, Report
    from ...export.plan.app_file import AppExport
    from ...export.run.apps import AppResult


LOG_INTERVAL: Final = 60.0
"""Seconds between two lines about all apps."""
_MOST_FAILURES: Final = 5
"""Failed sources of an app that are printed."""


def export_apps(
    out: str, apps: str, plan: "Plan | None", options: Mapping[str, Any], reports: "list[Report | Failure]",
    *, dask: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Export the apps of the file `apps`, print a summary, and end the command with the worst status.

    What has become of each is added to `reports`.
    """
    exports = all_apps(apps)
    began = time.monotonic()
    try:
        results = run(_run(exports, out, plan, options, dask, quiet=quiet))
    except (KeyboardInterrupt, asyncio.CancelledError) as end:
        given = {"--apps": apps, "--journal": options.get("journal"), "--dask": dask}
        end.add_note(continuation("export", [out], given))
        raise
    from ...export import Failure

    reports += [each.report or Failure(each.app_id, str(each.error)) for each in results]
    _print(results, out, time.monotonic() - began, as_json=as_json, quiet=quiet)


async def _run(
    exports: "list[AppExport]", out: str, plan: "Plan | None", options: Mapping[str, Any], dask: str | None,
    *, quiet: bool,
) -> "list[AppResult]":  # fmt: skip
    from ...export.run.apps import export_apps as run_apps

    runs: dict[str, AppResult] = {}
    is_shown = not quiet

    def watch(app_run: "AppResult") -> None:
        runs[app_run.app_id] = app_run
        if is_shown:
            streams.warn(f"{app_run.app_id}: {_state(app_run)}")

    given: Any = {**options, "headers": headers_from_env(), "watch": watch}
    async with _log(runs, len(exports), is_shown=is_shown):
        if dask is None:
            return await run_apps(exports, out, plan, proxy=proxy(), **given)
        from ...distributed.cluster import connect
        from ...distributed.start import app_exporter

        async with connect(dask, quiet=True) as client:
            given["export"] = app_exporter(client, exports)
            for name in ("only", "change_plan"):  # an export of parts reads all of its plan
                given.pop(name, None)
            return await run_apps(exports, out, plan, **given)


@asynccontextmanager
async def _log(runs: "dict[str, AppResult]", count: int, *, is_shown: bool) -> AsyncIterator[None]:
    async def write() -> None:
        while True:
            await asyncio.sleep(LOG_INTERVAL)
            streams.warn(_progress_line(list(runs.values()), count))

    lines = asyncio.create_task(write()) if is_shown else None
    try:
        yield
    finally:
        if lines is not None:
            lines.cancel()


def _progress_line(runs: "list[AppResult]", count: int) -> str:
    ended = sum(each.report is not None or each.error is not None for each in runs)
    written, requests, limited = (_total(runs, name) for name in ("written", "requests", "limited"))
    limits = f" ({limited:,} × 429)" if limited else ""
    return (
        f"{ended:,} of {plural(count, 'app')} ended, {len(runs) - ended:,} running, "
        f"{written:,} new messages, {requests:,} requests{limits}"
    )


def _total(runs: "Iterable[AppResult]", name: str) -> int:
    return sum(getattr(each.progress, name) for each in runs)


# ── the summary ──


def _print(results: "list[AppResult]", out: str, seconds: float, *, as_json: bool, quiet: bool) -> None:
    with streams.reader_may_leave():
        if as_json:
            streams.write_json(_members(results, out, seconds))
        elif not quiet:
            rows = list(_rows(results, out, seconds))
            width = max(len(name) for name, _ in rows)
            streams.write_lines(f"{name:<{width}} {streams.one_line(text)}" for name, text in rows)
    for app_run in results:
        for warning in app_run.report.warnings if app_run.report is not None else ():
            streams.warn(f"{app_run.app_id}: {warning}")
    failed = [each for each in results if _status(each)]
    for app_run in failed:
        for reason in _reasons(app_run):
            streams.warn(f"{app_run.app_id}: {reason}")
    if not failed:
        return
    names = ", ".join(each.app_id for each in failed)
    text = f"{len(failed):,} of {len(results):,} apps are not complete: {names}"
    if max(map(_status, results)) > 1:
        raise RequestInvalidError(text)
    error = ExportIncompleteError(text)
    error.can_continue = any(map(_can_continue, failed))
    if error.can_continue:
        error.add_note("run the same command again")
    raise error


def _state(app_run: "AppResult") -> str:
    if app_run.error is not None:
        return f"failed: {app_run.error}"
    if app_run.report is None:
        return "running"
    return "complete" if app_run.report.complete else "not complete"


def _can_continue(app_run: "AppResult") -> bool:
    """Return whether another run of an app that failed can help."""
    try:
        app_run.check()
    except Exception as error:
        return can_continue(error)
    return False


def _status(app_run: "AppResult") -> int:
    """Return the exit status that an export of this app alone would have."""
    if isinstance(app_run.error, RequestInvalidError):
        return 2
    try:
        app_run.check()
    except Exception:
        return 1
    return 0


def _rows(results: "list[AppResult]", out: str, seconds: float) -> Iterator[tuple[str, str]]:
    complete = sum(each.report is not None and each.report.complete for each in results)
    yield "export", f"{out}, {complete:,} of {plural(len(results), 'app')} complete"
    for app_run in results:
        result = app_run.report
        counts = "" if result is None else f": {result.messages:,} messages, {result.written:,} of them new"
        yield app_run.app_id, f"{_state(app_run)}{counts}"
    messages, written = _totals(results)
    yield "messages", f"{messages:,}, {written:,} of them new"
    requests, limited = (_total(results, name) for name in ("requests", "limited"))
    yield "requests", f"{requests:,}, {limited:,} answered 429"
    yield "time", duration(seconds)


def _totals(results: "list[AppResult]") -> tuple[int, int]:
    reports = [each.report for each in results if each.report is not None]
    return sum(each.messages for each in reports), sum(each.written for each in reports)


def _members(results: "list[AppResult]", out: str, seconds: float) -> dict[str, Any]:
    messages, written = _totals(results)
    return {
        "export": out,
        "complete": all(each.report is not None and each.report.complete for each in results),
        "apps": [_app_members(app_run) for app_run in results],
        "messages": messages,
        "written": written,
        "requests": _total(results, "requests"),
        "seconds": seconds,
    }


def _app_members(app_run: "AppResult") -> dict[str, Any]:
    report = app_run.report
    result = {} if report is None else structs.asdict(report) | {"reasons": report.all_reasons}
    error = None if app_run.error is None else streams.without_keys(str(app_run.error))
    return {
        "app": app_run.app_id,
        "folder": str(app_run.folder),
        "complete": False,
        **result,
        "error": error,
        "status": _status(app_run),
    }


def _reasons(app_run: "AppResult") -> Iterator[str]:
    error = app_run.error
    if error is not None:
        name = app_run.export.key_env
        hint = f"; set {name} to a valid key" if isinstance(error, AuthenticationError) and name else ""
        yield f"{error}{hint}"
    elif app_run.report is not None:
        yield from app_run.report.reasons
        for failure in app_run.report.failed[:_MOST_FAILURES]:
            yield f"{failure.source}: {failure.error}"
        if (more := len(app_run.report.failed) - _MOST_FAILURES) > 0:
            yield f"and {more:,} more failed sources: see {app_run.folder}/manifest.json"
