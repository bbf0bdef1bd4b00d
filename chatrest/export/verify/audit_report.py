"""A report of `verify` for an auditor, as HTML: what an export is, has, and has not.

Rows are written as they are read, so a report of a million files needs no more memory than one of ten. It
opens without a network, and has no text of a message.
"""

import html
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from ..._cloud.transfer import file_sha256
from ..._core.replies.rows import row_of
from ..._core.requests.arguments import check
from ..._texts import plural
from ..folder.folder_state import FolderState, read_folder
from ..folder.tables import ATTACHMENTS
from ..plan.file_names import STEM, UNDATED, day, seconds
from ..read.exports import bag_of, open_exports
from ..read.facts import ExportFacts, facts_of
from ..read.folder_view import FolderView, attachments_in, noted_files
from ..read.reading import read_raw, read_table
from ..seal.bag import hashes_of, info_of
from ..seal.sealing import time_text, version
from .result import VerifyResult, path_in

_OWN: Final = ("manifest.json", "journal.sqlite", "runs.jsonl")
_HEAD: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Report of an export</title><style>
@page { size: A4; margin: 18mm 16mm }
body { margin: auto; max-width: 60rem; padding: 1rem; font: 9.5pt/1.4 system-ui, sans-serif }
table { width: 100%; border-collapse: collapse }
td, th { padding: .15rem .8rem .15rem 0; text-align: start; font-weight: normal; vertical-align: top;
  border-bottom: 1px solid #8886; overflow-wrap: anywhere }
</style></head>
<body><h1>Report of an export</h1>
"""
_END: Final = "</body></html>\n"
_Rows: TypeAlias = Iterable[Sequence[object]]


def write_report(out: str | PathLike[str], file: str | PathLike[str], result: VerifyResult) -> None:
    """Write what an auditor asks for of the export in `out`, which `verify` has just checked with `result`.

    `file` is replaced when the report is complete; its name ends with `.html`.
    Reads the times of all messages, and the table of attachments. Raises as `verify`, and
    `RequestInvalidError` for another name.
    """
    path = check_name(file)
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("w", encoding="utf-8", newline="\n") as opened:
            opened.write(_HEAD)
            for section in _sections(os.fspath(out), result):
                opened.writelines(_section(*section))
            opened.write(_END)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def check_name(file: str | PathLike[str]) -> Path:
    path = Path(file)
    check(path.suffix == ".html", "report", str(file), "a name that ends with .html")
    check(path.absolute().parent.is_dir(), "report", str(file), "a file in a folder that exists")
    return path


def _section(title: str, columns: Sequence[str], rows: _Rows) -> Iterator[str]:
    yield f"<h2>{title}</h2>\n<table>\n<tr>{''.join(f'<th>{each}</th>' for each in columns)}</tr>\n"
    is_empty = True
    for row in rows:
        is_empty = False
        yield f"<tr>{''.join(f'<td>{html.escape(_text(value))}</td>' for value in row)}</tr>\n"
    yield "<tr><td>none</td></tr>\n</table>\n" if is_empty else "</table>\n"


def _text(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def _sections(out: str, result: VerifyResult) -> Iterator[tuple[str, Sequence[str], _Rows]]:
    facts, months = facts_of(out), Counter[str]()
    times = list[int]()
    for raw in read_raw(out):
        sent = row_of(raw).sent_at
        months[day(sent)[:7] if sent > 0 else UNDATED] += 1
        if sent > 0:
            time = seconds(sent)
            times = [min(time, *times), max(time, *times)] if times else [time]
    yield "Export", ("fact", "value"), _facts(out, facts, result, times)
    yield "Problems", ("file or source", "problem"), ((each.subject, each.text) for each in result.problems)
    yield "Messages by month", ("month (UTC)", "messages"), sorted(months.items())
    yield "Messages by source", ("source", "messages"), _each(out, _by_source)
    not_begun = (part.export for part in facts.parts if part.state == "not begun")
    lacking = ((name, "no run has begun this part") for name in not_begun)
    yield "Not covered: sources", ("source", "reason"), chain(lacking, _each(out, _sources_not_covered))
    missing = _each(
        out, lambda _, state: ((key,) for key in state.manifest.missing) if state.manifest else ()
    )
    yield "Not covered: messages that a list has shown, and that are gone", ("id",), missing
    yield "Not covered: attachments", ("message", "attachment", "reason"), _attachments(out)
    yield "Notes", ("file or source", "note"), ((each.subject, each.text) for each in result.notes)
    files = _each(out, _files) if (bag := bag_of(out)) is None else _sealed_files(bag)
    yield "Files", ("file", "bytes", "SHA-256"), files


def _facts(out: str, facts: ExportFacts, result: VerifyResult, times: list[int]) -> _Rows:
    plan = facts.plan_value
    yield "export", out
    yield "checked", f"{time_text(int(datetime.now(UTC).timestamp()))}, by chatrest {version()}"
    shown = "complete as far as the app's own list shows, and undamaged"
    in_words = shown if result.by_app_list else "complete and undamaged"
    problems = f"NOT in order: {facts.state}, {plural(result.count, 'problem')}"
    yield "result", in_words if result.ok else problems
    if (bag := bag_of(out)) is not None:
        yield "root hash", result.root or "it differs from what was sealed"
        yield "sealed", info_of(bag).get("Chat-Sealed", "")
    yield "app", facts.app
    if plan is None and result.plan:
        yield "plans", result.plan
    if plan is not None:
        yield "plan", plan.words
        for name, time in zip(("since", "until"), plan.window, strict=True):
            yield f"plan, {name}", "no bound" if time is None else time_text(seconds(time))
    yield "period of its messages", " to ".join(map(time_text, sorted(set(times)))) or "none has a time"
    yield "messages", f"{result.messages:,} read and checked, ids {result.first} to {result.last}"
    yield "complete up to id", facts.until or "not known"
    yield "exported", "not finished" if facts.finished is None else time_text(facts.finished)
    yield "files", f"{result.files:,}, {result.bytes:,} bytes, {result.hashes:,} checksums compared and equal"


def _each(out: str, rows_of: Callable[[FolderView, FolderState], _Rows]) -> _Rows:
    """Yield the rows of each export; their first cell is a file or source of it."""
    for view in open_exports(out):
        with view, ExitStack() as stack:
            for subject, *cells in rows_of(view, read_folder(view.folder, stack)):
                yield path_in(view.export, str(subject)), *cells


def _by_source(_: FolderView, state: FolderState) -> _Rows:
    if state.journal is None:
        yield "the export", "not known: its journal is lost"
        return
    counts = state.journal.row_counts([STEM])
    for known in state.journal.iter_sources():
        if rows := counts.pop(known.number, 0):
            yield known.source, rows
    if other := sum(counts.values()):
        yield "of no source", other


def _sources_not_covered(_: FolderView, state: FolderState) -> _Rows:
    for known in () if state.journal is None else state.journal.iter_sources():
        if not known.asked and known.source.is_of_plans:
            yield known.source, "not in the plan any more, and not read since"
        elif known.state == "failed":
            yield known.source, known.error or "the service refused it"
        elif known.state == "deleted_user":
            yield known.source, "the service does not list this user any more; what was read is kept"
    yield from (("the export", reason) for reason in (state.manifest.reasons if state.manifest else ()))


def _attachments(out: str) -> _Rows:
    for raw in read_table(out, ATTACHMENTS):
        row = msgspec.json.decode(raw, type=dict[str, Any])
        if (state := row.get("state")) != "stored":
            reason = f"{state}: {row['error']}" if row.get("error") else state
            yield row.get("messageId"), row.get("position"), reason


def _sealed_files(bag: Path) -> _Rows:
    for name, digest in hashes_of(bag).items():
        path = bag / name
        yield name, path.stat().st_size if path.is_file() else "not there", digest


def _files(view: FolderView, state: FolderState) -> _Rows:
    for file in noted_files(view.folder, state):
        yield file.name, file.size, "not finished" if file.sha256 is None else file.sha256.hex()
        for row in attachments_in(view, file):
            yield f"{ATTACHMENTS}/{row.file}", row.bytes, row.sha256
    for name in _OWN:
        if (path := view.folder / name).is_file():
            yield name, path.stat().st_size, file_sha256(path)
