"""A report of `verify` for an auditor, as HTML: what an export is, has, and has not.

Rows are written as they are read, so a report of a million files needs no more memory than one of ten. It
opens without a network, and has no text of a message.
"""

import html
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import msgspec

from ..._cloud.transfer import file_sha256
from ..._core.replies.rows import row_of
from ..._texts import plural
from ...errors import RequestInvalidError
from ..folder.opening import FolderState, read_folder
from ..folder.tables import ATTACHMENTS, attachment_rows, table_path
from ..plan.file_names import STEM, UNDATED, day, seconds
from ..read.exports import bag_of, open_exports
from ..read.facts import ExportFacts, facts_of
from ..read.folder_view import FolderView
from ..read.reading import read_raw, read_table, table_entries
from ..seal.bag import hashes_of, info_of
from ..seal.seal import time_text, version
from .result import VerifyResult, place_of

_OWN: Final = ("manifest.json", "journal.sqlite", "runs.jsonl")
Cells: TypeAlias = Sequence[object]


class ReportTable(NamedTuple):
    """A table of the report."""

    title: str
    columns: Sequence[str]
    rows: Iterable[Cells]
    none: str = "none"
    """What is said where there are no rows."""


class _Attachment(msgspec.Struct):
    state: str = ""
    messageId: str = ""  # noqa: N815
    position: int = 0
    error: str | None = None


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
            opened.writelines(_html(_sections(os.fspath(out), result)))
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def check_name(file: str | PathLike[str]) -> Path:
    """Return the path of a report; `RequestInvalidError` for one of another form."""
    path = Path(file)
    if path.suffix != ".html":
        raise RequestInvalidError(f"report = {str(file)!r}: expected a name that ends with .html")
    return path


# ── what it says ──


def _sections(out: str, result: VerifyResult) -> Iterator[ReportTable]:
    facts, months = facts_of(out), Counter[str]()
    times = list[int]()
    for raw in read_raw(out):
        sent = row_of(raw).sent_at
        months[day(sent)[:7] if sent > 0 else UNDATED] += 1
        if sent > 0:
            time = seconds(sent)
            times = [min(time, *times), max(time, *times)] if times else [time]
    yield ReportTable("Export", (), list(_facts(out, facts, result, times)))
    yield ReportTable(
        "Problems", ("file or source", "problem"), [(each.place, each.text) for each in result.problems]
    )
    yield ReportTable("Messages by month", ("month (UTC)", "messages"), sorted(months.items()))
    yield ReportTable("Messages by source", ("source", "messages"), _by_source(out))
    yield ReportTable("Not covered: sources", ("source", "reason"), _left_out(out, facts))
    yield ReportTable("Not covered: messages that are gone", ("id", "what is known"), _gone(out))
    yield ReportTable("Not covered: attachments", ("message", "attachment", "reason"), _attachments(out),
                  "none, or the export has no attachments")  # fmt: skip
    yield ReportTable("Notes", ("file or source", "note"), [(each.place, each.text) for each in result.notes])
    yield ReportTable("Files", ("file", "bytes", "SHA-256"), _files(out))


def _facts(out: str, facts: ExportFacts, result: VerifyResult, times: list[int]) -> Iterator[Cells]:
    plan = facts.plan_value
    yield "export", out
    yield "checked", f"{time_text(int(datetime.now(UTC).timestamp()))}, by chatrest {version()}"
    yield (
        "result",
        "complete and undamaged"
        if result.ok
        else f"NOT in order: {facts.state}, {plural(result.count, 'problem')}",
    )
    if (bag := bag_of(out)) is not None:
        yield "root hash", result.root or "it differs from what was sealed"
        yield "sealed", info_of(bag).get("Chat-Sealed", "")
    yield "app", facts.app
    if plan is None and result.plan:
        yield "plans", result.plan
    if plan is not None:
        yield "plan", plan.words
        for name, time in zip(("since", "until"), plan.window, strict=True):
            yield f"plan, {name}", "no bound" if time is None else _time(time)
    yield "period of its messages", " to ".join(map(_time, sorted(set(times)))) or "none has a time"
    yield "messages", f"{result.messages:,} read and checked, ids {result.first} to {result.last}"
    yield "complete up to id", facts.until or "not known"
    yield "exported", "not finished" if facts.finished is None else time_text(facts.finished)
    yield "files", f"{result.files:,}, {result.bytes:,} bytes, {result.hashes:,} checksums compared and equal"
    yield (
        "deleted since",
        f"{plural(facts.deleted, 'message')} that the service no longer shows; all are in the export",
    )
    for table, rows in facts.tables.items():
        yield f"table {table}", plural(rows, "row")


def _time(timestamp: int) -> str:
    return time_text(timestamp // 1000 if timestamp >= 10**11 else timestamp)


def _states(out: str) -> Iterator[tuple[FolderView, FolderState]]:
    for view in open_exports(out):
        with view, ExitStack() as stack:
            yield view, read_folder(view.folder, stack)


def _by_source(out: str) -> Iterator[Cells]:
    for view, state in _states(out):
        if state.journal is None:
            yield view.name, "not known: its journal is lost"
            continue
        counts = state.journal.rows([STEM])
        for known in state.journal.iter_sources():
            if rows := counts.pop(known.number, 0):
                yield place_of(view.export, str(known.source)), rows
        if other := sum(counts.values()):
            yield place_of(view.export, "of no source"), other


def _left_out(out: str, facts: ExportFacts) -> Iterator[Cells]:
    for part in facts.parts:
        if part.state == "not begun":
            yield part.export, "no run has begun this part"
    for view, state in _states(out):
        for known in () if state.journal is None else state.journal.iter_sources():
            name = place_of(view.export, str(known.source))
            if not known.asked and known.source.is_of_plans:
                yield name, "not in the plan any more, and not read since"
            elif known.state == "failed":
                yield name, known.error or "the service refused it"
            elif known.state == "deleted_user":
                yield name, "the service does not list this user any more; what was read is kept"
        for reason in () if state.manifest is None else state.manifest.reasons:
            yield place_of(view.export, "the export"), reason


def _gone(out: str) -> Iterator[Cells]:
    text = "a list has shown it, it is not in the export, and the service does not show it any more"
    for view, state in _states(out):
        for each in () if state.manifest is None else state.manifest.missing:
            yield place_of(view.export, each), text


def _attachments(out: str) -> Iterator[Cells]:
    for raw in read_table(out, ATTACHMENTS):
        row = msgspec.json.decode(raw, type=_Attachment, strict=False)
        if row.state != "stored":
            yield row.messageId, row.position, ": ".join(filter(None, (row.state, row.error)))


def _files(out: str) -> Iterator[Cells]:
    if (bag := bag_of(out)) is not None:
        hashes = hashes_of(bag)
        sizes = ((bag / name).stat().st_size if (bag / name).is_file() else "not there" for name in hashes)
        yield from zip(hashes, sizes, hashes.values(), strict=True)
        return
    for view, state in _states(out):
        yield from ((place_of(view.export, str(name)), *rest) for name, *rest in _files_of(view, state))


def _files_of(view: FolderView, state: FolderState) -> Iterator[Cells]:
    for file in () if state.journal is None else state.journal.files("open", "sealing", "sealed"):
        yield file.name, file.size, "not finished" if file.sha256 is None else file.sha256.hex()
    if state.journal is None and state.manifest is not None:
        yield from ((each.name, each.bytes, each.sha256) for each in state.manifest.files)
    for entry in table_entries(view):
        if entry.table == ATTACHMENTS:
            with view.file(entry.file):
                rows = list(attachment_rows(table_path(view.folder, entry.file)))
            yield from ((f"{ATTACHMENTS}/{row.file}", row.bytes, row.sha256) for row in rows)
    for name in _OWN:
        if (path := view.folder / name).is_file():
            yield name, path.stat().st_size, file_sha256(path)


# ── its form ──

_STYLE: Final = (
    "@page{size:A4;margin:18mm 16mm 20mm;@bottom-right{content:'Page ' counter(page) ' of ' counter(pages);"
    "font:7pt sans-serif}}:root{color-scheme:light dark}body{margin:0 auto;max-width:60rem;padding:1rem;"
    "font:9.5pt/1.4 -apple-system,'Segoe UI',Roboto,'Noto Sans',system-ui,sans-serif}h1{font-size:17pt;"
    "margin:.5rem 0}h2{font-size:11pt;margin:1.4rem 0 .3rem;break-after:avoid}p{margin:.2rem 0}"
    "table{width:100%;border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:start;"
    "font-weight:normal;vertical-align:top;border-bottom:1px solid #8886;overflow-wrap:anywhere}"
    "thead th,.of th{opacity:.75}.of th{width:30%}.n{width:8rem;text-align:end;"
    "font-variant-numeric:tabular-nums}tr{break-inside:avoid}"
)
"""As the document of `chatrest html --print` has it."""
_NUMBERS: Final = ("messages", "bytes", "attachment")
"""Columns of numbers."""


def _html(sections: Iterable[ReportTable]) -> Iterator[str]:
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Report of an export</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style></head>\n<body><main><h1>Report of an export</h1>\n"
    )
    for section in sections:
        yield f"<h2>{section.title}</h2>\n"
        rows = iter(section.rows)
        if (first := next(rows, None)) is None:
            yield f"<p>{section.none}</p>\n"
        else:
            yield from _table(section.columns, chain([first], rows))
    yield "</main></body></html>\n"


def _table(columns: Sequence[str], rows: Iterable[Cells]) -> Iterator[str]:
    def cell(value: object) -> str:
        if isinstance(value, int):
            return f'<td class="n">{value:,}</td>'
        return f"<td>{html.escape(_printable(value))}</td>"

    if columns:
        heads = (f"<th scope=col{' class=n' if each in _NUMBERS else ''}>{each}</th>" for each in columns)
        yield f"<table>\n<thead><tr>{''.join(heads)}</tr></thead>\n"
        yield from (f"<tr>{''.join(map(cell, row))}</tr>\n" for row in rows)
    else:
        yield '<table class="of">\n'
        for name, *rest in rows:
            head = f'<th scope="row">{html.escape(_printable(name))}</th>'
            yield f"<tr>{head}{''.join(map(cell, rest))}</tr>\n"
    yield "</table>\n"


def _printable(value: object) -> str:
    """Return a text on one line, in which no character is invisible."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in str(value))
