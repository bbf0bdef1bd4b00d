"""The plan of a folder: the one that a run continues with, and what it makes of the store.

The plan of a folder never changes in silence. One that no list has answered yet may become any other.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import structs

from ..._texts import missing_extra
from ...errors import RequestInvalidError
from ..plan.export_plan import Plan, difference, growth_fault
from ..plan.file_names import HISTORY, STEM
from ..store import RowKind
from ..store.formats import Format, Lines, Parquet
from ..store.store_journal import REMEDY
from .journal import NAME as JOURNAL, NO_PLAN, Journal, has_journal
from .manifest import Manifest, find_undamaged
from .tables import ASKED_ATTACHMENTS, ASKED_TABLES, ATTACHMENTS, LOST_LIMITS, TABLES, table_stem

_OTHER_WINDOW: Final = (
    "a window can become wider, and not narrower; nothing was read or changed: expected only=True (reads "
    "this window once), or change_plan=True with a wider one"
)
_OTHER_FILES: Final = (
    "the format, the compression and the partition of a folder stay; nothing was read or changed: expected "
    "none of them, or another folder"
)


class FolderPlans(NamedTuple):
    stored: Plan
    """The folder's own."""
    current: Plan
    """The one of this run, which becomes the folder's own by `ExportFolder.commit_plan`."""
    is_unanswered: bool = False
    """True if no list of the stored one has answered yet."""


def initial_meta(folder: Path, app_id: str, plan: Plan) -> dict[str, str]:
    """Return the first values of a new journal: app, plan and tables of the manifest, if the journal was
    lost.
    """
    if not has_journal(folder) and (manifest := find_undamaged(folder)) is not None:
        named = {entry.table for entry in manifest.tables}
        meta = {"app": manifest.app_id, "plan": bytes(manifest.plan).decode()}
        if tables := [table for table in TABLES if table in named]:
            meta[ASKED_TABLES] = msgspec.json.encode(tables).decode()
        if ATTACHMENTS in named:
            meta[ASKED_ATTACHMENTS] = LOST_LIMITS
        return meta
    return {"app": app_id, "plan": plan.encoded().decode()}


def resolve_plans(
    folder: Path,
    journal: Journal,
    manifest: Manifest | None,
    plan: Plan | None,
    app_id: str,
    *,
    may_change: bool = False,
) -> FolderPlans:
    """Return the folder's plan and the one by which a run continues; raises as `continued_plans`."""
    stored = {name: journal[name] for name in ("app", "plan")}
    is_unanswered = _is_unanswered(journal, manifest)
    if plan is not None and is_unanswered and next(journal.iter_sources(), None) is None:
        stored["plan"] = plan.encoded().decode()  # no list was asked for yet: any other takes its place
    return continued_plans(folder, stored, plan, app_id, may_change=may_change, is_unanswered=is_unanswered)


def continued_plans(
    folder: Path,
    meta: Mapping[str, str | None],
    plan: Plan | None,
    app_id: str,
    *,
    may_change: bool = False,
    is_unanswered: bool = False,
) -> FolderPlans:
    """Return the folder's plan, from its journal's meta, and the one by which it continues.

    Values missing in `plan` are those of the folder. Raises `RequestInvalidError` if the rest differs
    from it and not `may_change`, if the export cannot be continued by it, and if the app is another one.
    A plan that `is_unanswered` may change in all.
    """
    app, encoded = meta.get("app"), meta.get("plan")
    if app is None or encoded is None:
        raise RequestInvalidError(f"{folder / JOURNAL} {NO_PLAN}: {REMEDY}")
    if app != app_id:
        raise RequestInvalidError(
            f"folder '{folder}' holds an export of the app {app!r}, and not of {app_id!r}: choose another"
        )
    stored = Plan.parse(encoded)
    current = stored if plan is None else stored.continued(plan, is_literal=may_change)
    old, new = growth_fault(stored, current)
    if old and not (may_change and is_unanswered):
        in_window = structs.replace(current, since=stored.since, until=stored.until)
        remedy = _OTHER_WINDOW if growth_fault(stored, in_window) == ("", "") else _OTHER_FILES
        raise RequestInvalidError(
            f"folder '{folder}' was exported with {old}, and this plan has {new}: {remedy}",
            arguments=("only", "change_plan"),
        )
    old, new = difference(stored, current)
    if old and not may_change:
        raise RequestInvalidError(
            f"folder '{folder}' was exported with {old}, and this plan has {new}; nothing was read or "
            "changed: expected only=True (reads this plan once), or change_plan=True (the folder's plan "
            "becomes this one)",
            arguments=("only", "change_plan"),
        )
    return FolderPlans(stored, current, is_unanswered)


def _is_unanswered(journal: Journal, manifest: Manifest | None) -> bool:
    """Return True if no list of the plan has answered yet: a name, a window or a format may be wrong."""
    if (manifest is not None and manifest.complete) or next(iter(journal.files()), None) is not None:
        return False
    if manifest is not None and next(journal.iter_sources(), None) is None:
        return False  # the journal was lost, and the lists may have answered
    return all(each.state == "failed" for each in journal.iter_sources()) and not journal.seen()


def format_of_plan(plan: Plan) -> Format:
    """Return the format of a plan's messages; `RequestInvalidError` where what it needs is not installed."""
    match plan.format:
        case "ndjson":
            return Lines(plan.compress or "none")
        case "parquet":
            if find_spec("pyarrow") is None:
                raise RequestInvalidError(missing_extra("format = 'parquet'", "parquet"))
            return Parquet(plan.compress or "zstd")


def kinds_of_plan(plan: Plan) -> dict[str, RowKind]:
    """Return the kinds of rows that an export's store holds: all but messages are lines in every format."""
    own = format_of_plan(plan)
    lines = own if isinstance(own, Lines) else Lines("none")
    messages = {STEM: RowKind(own), HISTORY: RowKind(lines, identity="content")}
    return messages | {table_stem(table): RowKind(lines, identity="none") for table in (*TABLES, ATTACHMENTS)}
