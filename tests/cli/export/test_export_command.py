"""`export` from start to end, and the plan that its options make."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

from chatrest._cli.export import export_command as command_module
from chatrest._cli.export.copies import DELETED
from chatrest._cli.export.export_command import TABLES, WORKERS, _files, export
from chatrest._cli.export.status import Totals, attachments_text, summary
from chatrest._cli.root import root
from chatrest.database import Deleted
from chatrest.export import AttachmentCounts, Plan, Progress, Report
from chatrest.export.fetch import worker_pool
from chatrest.export.folder import tables
from chatrest.export.plan import export_plan as plans
from tests.support.cases import loop_over
from tests.support.commands import Run, all_ids, ids_of, summary_of
from tests.support.stored_exports import StoredRuns, record

from ..conftest import EmulatorThread, error_line

pytestmark = pytest.mark.usefixtures("called")


def test_all_users_is_the_default_and_a_second_run_has_nothing_to_do(
    service: EmulatorThread, command: Run, out: Path
) -> None:
    first = command("export", str(out))
    assert first.exit_code == 0
    assert ids_of(out) == all_ids(service)
    count = len(all_ids(service))
    summary = summary_of(first)
    assert summary["export"] == f"{out}, ndjson, complete"
    assert summary["messages"] == f"{count:,}, {count:,} of them new"
    assert (summary["plan"], summary["sources"]) == ("all users", "6")
    assert summary["requests"].endswith(", 0 answered 429")
    assert "messages/s" in summary["time"]
    assert summary["files"].endswith(" kB")
    assert "\x1b" not in first.output
    again = command("export", str(out))
    assert summary_of(again)["messages"] == f"{count:,}, 0 of them new"
    assert "messages/s" not in summary_of(again)["time"]


def test_an_export_of_parts_has_one_summary(service: EmulatorThread, command: Run, out: Path) -> None:
    first = command("export", str(out), "--parts", "3")
    assert first.exit_code == 0, first.output
    ids = [each for part in out.glob("part=*") for each in ids_of(part)]
    assert sorted(ids) == all_ids(service)
    summary = summary_of(first)
    assert summary["messages"] == f"{len(ids):,}, {len(ids):,} of them new"
    assert (summary["sources"], summary["plan"]) == ("6", "all users")
    claimed = summary_of(command("export", str(out), "--claim"))
    assert claimed["parts"].startswith("messages and files are of all parts, the rest of those")
    again = command("export", str(out), "--claim", "--json")
    assert (again.exit_code, json.loads(again.stdout)["written"]) == (0, 0)
    refused = error_line(command("export", str(out), "--parts", "4"), 2)
    assert "is an export of 3 parts, and not of 4" in refused


def test_the_summary_of_one_part_does_not_mention_other_parts(command: Run, out: Path) -> None:
    first = command("export", str(out), "--parts", "2", "--part", "0")
    assert first.exit_code == 0, first.output
    summary, count = summary_of(first), len(ids_of(out / "part=00"))
    assert summary["export"] == f"{out}/part=00, ndjson, complete"
    assert summary["part"] == f"only part=00 was read: `status {out}` shows all parts"
    assert summary["messages"] == f"{count:,}, {count:,} of them new"
    assert "NOT COMPLETE" in command("status", str(out)).stdout
    members = json.loads(command("export", str(out), "--part", "1", "--json").stdout)
    assert (members["export"], members["part"], members["complete"]) == (str(out), "part=01", True)
    files = json.loads((out / "part=01" / "manifest.json").read_text())["files"]
    assert (members["messages"], members["files"]) == (len(ids_of(out / "part=01")), len(files))
    assert members["bytes"] == sum(file["bytes"] for file in files)
    assert json.loads(command("export", str(out), "--json").stdout)["part"] == ""


def test_the_summary_names_the_sources_that_are_no_longer_asked_for(command: Run, out: Path) -> None:
    named = [word for each in range(1, 8) for word in ("--user", f"user-{each:03}")]
    assert "kept" not in summary_of(command("export", str(out), *named))
    summary = summary_of(command("export", str(out), "--user", "user-001", "--change-plan"))
    assert summary["sources"] == "1"
    assert summary["kept"] == (
        "user user-002, user user-003, user user-004, user user-005, user user-006 and 1 more; "
        "no longer asked for, not read by this run"
    )


def test_quiet_is_silent_unless_something_is_wrong(command: Run, out: Path, tmp_path: Path) -> None:
    good = command("export", str(out), "--quiet")
    assert (good.exit_code, good.output) == (0, "")
    bad = command("export", str(tmp_path / "b"), "--quiet", "--group", "nowhere")
    assert (bad.exit_code, bad.stdout) == (1, "")
    assert bad.stderr.startswith("chatrest: group nowhere: ")


def test_other_sources_are_refused_read_once_or_made_the_plan(command: Run, out: Path) -> None:
    assert command("export", str(out), "--quiet").exit_code == 0
    arguments = ["export", str(out), "--user", "user-001"]
    for options in ([], ["--dry-run"]):
        line = error_line(command(*arguments, *options), 2)
        assert "exported with all users, and this plan has user user-001; nothing was read" in line
        assert "--only" in line
        assert "--change-plan" in line
    assert "--only needs sources or a window" in error_line(command("export", str(out), "--only"), 2)
    assert "give one of them" in error_line(command(*arguments, "--only", "--change-plan"), 2)
    assert "user nobody: " in error_line(command("export", str(out), "--user", "nobody", "--only"), 2)
    part = command(*arguments, "--only")
    assert part.exit_code == 0
    assert summary_of(part)["export"].endswith(", a part of the plan")
    assert summary_of(part)["skipped"].endswith(" other sources of the plan: only user user-001")
    members = json.loads(command(*arguments, "--only", "--json").stdout)
    assert (members["complete"], members["only"]) == (False, ["user user-001"])
    assert json.loads(command("export", str(out), "--json").stdout)["not_read"] == 0
    assert summary_of(command(*arguments, "--change-plan"))["sources"] == "1"


def test_a_name_of_no_table_is_refused(command: Run, out: Path) -> None:
    line = error_line(command("export", str(out), "--with", "groups,user"), 2)
    assert "--with 'user': expected 'users', 'groups'" in line
    assert not out.exists()


def test_tables_are_in_the_folder_and_in_the_summary(command: Run, out: Path) -> None:
    first = command("export", str(out), "--user", "user-001", "--with", "users")
    assert first.exit_code == 0
    lines = (out / "users" / "users.ndjson").read_bytes().splitlines()
    assert summary_of(first)["tables"] == f"{len(lines)} users"
    again = command("export", str(out), "--json")
    assert json.loads(again.stdout)["tables"] == {"users": len(lines)}


def test_the_summary_names_missing_messages(tmp_path: Path) -> None:
    counts = AttachmentCounts(stored=1200, fetched=3, bytes=2_500_000, gone=2, failed=1)
    expected = "1,200, 3 of them new (2.5 MB), 2 no longer on their server, 1 failed"
    assert attachments_text(counts) == expected
    report = Report(complete=True, changed=3, deleted=1, missing=2)
    facts = dict(summary(report, Progress(), "out", Totals("", "ndjson", 1, 10**7), 1.0))
    for name, begin in (("missing", "2 from"), ("changed", "3;"), ("deleted", "1, by")):
        assert facts[name].startswith(begin)
    facts = dict(summary(Report(complete=True), Progress(), "s3://b/x", _files("s3://b/x", tmp_path), 1.0))
    assert (facts["export"], facts["files"]) == ("s3://b/x, complete", "")  # parts that others have run


def test_a_dry_run_writes_nothing(service: EmulatorThread, command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run")
    assert (result.exit_code, result.stderr) == (0, "")
    assert not out.exists()
    summary = summary_of(result)
    assert summary["export"] == f"{out}, ndjson; nothing was written"
    assert summary["sources"] == "6"
    assert command("export", str(out), "--quiet").exit_code == 0
    totals = summary_of(command("export", str(out), "--dry-run"))
    stored = ids_of(out)
    newest = max(service.ask(lambda emulator: list(emulator.store.ids())))  # another test may have sent one
    assert totals["messages"] == f"0 new; the app's newest id is {newest}"
    assert summary["messages"] == f"at least {len(stored):,} new; the app's newest id is {newest}"


def test_a_dry_run_fails_if_the_only_source_is_refused(command: Run, out: Path) -> None:
    result = command("export", str(out), "--dry-run", "--group", "nowhere")
    assert summary_of(result)["refused"].startswith("group nowhere: ")
    assert result.exit_code == 1
    assert "1 of 1 sampled sources are refused" in result.stderr


def test_load_prints_the_loaded_counts(tmp_path: Path) -> None:
    runs, database = StoredRuns(tmp_path / "out"), str(tmp_path / "chat.sqlite")
    runs.run([record(1, text="a\0b"), record(2, text="invoice")])
    result = CliRunner().invoke(root, ["load", str(runs.folder), database])
    assert (result.exit_code, result.stdout) == (0, "run 1: messages 2 new, 0 changed, 0 deleted\n")
    assert "1 character that no database can hold became U+FFFD" in result.stderr
    runs.run(deleted=[2])
    args = ["load", str(runs.folder), database, "--deleted", "blank"]
    report = json.loads(CliRunner().invoke(root, [*args, "--json"]).stdout)
    counts = {"new": 0, "changed": 0, "deleted": 1, "blanked": 1, "removed": 0, "replaced": 0}
    assert report == {"run": 2, "tables": {}, **counts}
    runs.run(deleted=[1])
    assert "1 deleted, 1 blanked\n" in CliRunner().invoke(root, args).stdout
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("SELECT text FROM messages WHERE id = '2'").fetchall() == [(None,)]


def test_copies_of_constants_are_those_of_the_package() -> None:
    names = ("FORMATS", "COMPRESS", "PARTITIONS")
    assert [getattr(command_module, name) for name in names] == [getattr(plans, name) for name in names]
    assert (tables.TABLES, worker_pool.WORKERS, get_args(Deleted)) == (TABLES, WORKERS, DELETED)


def planned(*args: str) -> Plan | None:
    given = export.make_context("export", ["out", *args], help_option_names=["-h", "--help"]).params
    return command_module._plan_of(given)


@loop_over(
    ("args", "plan"),
    [
        ([], None),
        (["--all-users"], Plan(all_users=True)),
        (["--user", "a", "--user", "b"], Plan(users=["a", "b"])),
        (["--pair", "b", "a", "--pair", "c", "d"], Plan(pairs=[("a", "b"), ("c", "d")])),
        (["--group", "g", "--all-users"], Plan(groups=["g"], all_users=True)),
        (["--everything"], Plan(everything=True)),
        (["--since", "@1000000"], Plan(since=1_000_000)),
        (["--until", "2026-11-01"], Plan(until=1_793_577_599)),
        (["--format", "parquet", "--user", "a"], Plan(format="parquet", users=["a"])),
        (["--compress", "gzip", "--partition", "month"], Plan(compress="gzip", partition="month")),
    ],
)
def test_options_make_a_plan(args: list[str], plan: Plan | None) -> None:
    assert planned(*args) == plan
    assert plan is None or planned(*args, "--workers", "3", "--recheck", "7d", "--quiet", "--dry-run") == plan


def test_the_largest_attachment_is_given_in_megabytes() -> None:
    assert command_module._options_of({}, 5)["attachments"].max_bytes == 5_000_000


@loop_over(
    ("args", "text"),
    [
        (["--journal", "x"], "--journal is for an export in an object store"),
        (["--since", "tomorrow"], "'tomorrow': expected a date such as 2026-01-31, a time"),
        (["--until", "0001-01-01"], "--until '0001-01-01': expected"),
        (["--recheck", "7"], "a whole number from 1 to 999,999,999 with s, m, h, d or w, such as 7d"),
        (["--format", "csv"], "--format 'csv': expected 'ndjson' or 'parquet' (see"),
        (["--workers", "0"], "--workers '0': expected a whole number from 1 to 90 (see"),
        (["--pair", "a"], "requires 2 arguments"),
        (["--user", ""], "--user ''"),
        (["--since", "2026-11-02", "--until", "2026-11-01"], "--until 2026-11-01: the window ends before"),
        (["--parts", "0"], "--parts '0'"),
        (["--claim"], "is not an export of parts"),
        (["--part", "1"], "is not an export of parts"),
        (["--parts", "4", "--part", "4"], "a number from 0 to 3"),
        (["--parts", "4", "--part", "1", "--claim"], "give one of them"),
        (["--parts", "4", "--only", "--user", "a"], "never changes"),
        (["--parts", "4", "--dry-run"], "give it without --parts"),
        ([], "Missing argument 'OUT'"),
    ],
)
def test_an_invalid_value_is_one_error_line_with_status_2_and_creates_nothing(
    command: Run, out: Path, args: list[str], text: str
) -> None:
    assert text in error_line(command("export", *([str(out)] if args else []), *args), 2)
    assert not out.exists()
