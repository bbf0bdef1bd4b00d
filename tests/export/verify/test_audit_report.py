"""The report for an auditor: what is there, what is not, and every file with its hash."""

import hashlib
import html
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chatrest import ChatRestError, RequestInvalidError
from chatrest._cli.root import root
from chatrest.export import Plan, export, seal, verify
from chatrest.export.verify.audit_report import write_report
from tests.support.export_runs import served
from tests.support.stored_exports import StoredParts, StoredRuns, record


def report_of(out: Path, tmp_path: Path) -> dict[str, list[list[str]]]:
    write_report(out, tmp_path / "report.html", verify(out))
    rows = dict[str, list[list[str]]]()
    for section in (tmp_path / "report.html").read_text(encoding="utf-8").split("<h2>")[1:]:
        title, _, table = section.partition("</h2>")
        cells = (re.findall("<t[dh]>(.*?)</t[dh]>", row) for row in table.split("</tr>")[:-1])
        rows[title] = [list(map(html.unescape, row)) for row in cells]
    return rows


async def test_uncovered_ranges_are_in_the_report(tmp_path: Path) -> None:
    out = tmp_path / "out"
    async with served(60, loose=False) as service:
        await export(service.session, out, Plan(all_users=True), tables=["users"])
        assert report_of(out, tmp_path)["Export"][3][1] == "complete and undamaged"
        await export(service.session, out, Plan(users=["ann"]), change_plan=True)
    rows = report_of(out, tmp_path)
    facts = {name: value for name, value, *_ in rows["Export"]}
    assert facts["result"] == "complete as far as the app's own list shows, and undamaged"
    assert (facts["app"], facts["plan, until"]) == ("emulated", "no bound")
    assert facts["complete up to id"] == "60"
    assert facts["messages"].startswith("60 read and checked, ids 1 to 60")
    assert facts["period of its messages"].startswith("2020-09-13T12:26:40+00:00 to 2020-12-")
    months = [row for row in rows["Messages by month"] if row[0] != "month (UTC)"]
    assert sum(int(count) for _, count in months) == 60
    assert months[0][0] == "2020-09"
    assert sum(int(count) for _, count in rows["Messages by source"][1:]) == 60
    assert ["user dan", "not in the plan any more, and not read since"] in rows["Not covered: sources"]
    files = {name: (size, digest) for name, size, digest in rows["Files"][1:]}
    for path in (path for path in out.rglob("*") if path.is_file()):
        data = path.read_bytes()
        expected = (f"{len(data):,}", hashlib.sha256(data).hexdigest())
        assert files.pop(path.relative_to(out).as_posix()) == expected
    assert files == {}


def test_the_report_names_problems_and_escapes_hostile_names(tmp_path: Path) -> None:
    uid = "<img src=x onerror=alert(1)>|`\u202e"
    stored = StoredRuns(tmp_path / "out", uid)
    stored.run([record(1)], is_killed=True)
    tables = report_of(stored.folder, tmp_path)
    assert "<img" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ["user <img src=x onerror=alert(1)>|`\\u202e", "1"] in tables["Messages by source"]
    assert len(tables["Problems"]) > 1
    assert "NOT in order" in str(tables["Export"])


def test_parts_and_bags(tmp_path: Path) -> None:
    stored = StoredParts(tmp_path / "out", 3, begun=2)
    stored.run(range(1, 13))
    rows = report_of(stored.folder, tmp_path)
    assert ["part=02", "no run has begun this part"] in rows["Not covered: sources"]
    assert rows["Messages by source"][1:] == [["part=00/user u0", "4"], ["part=01/user u1", "4"]]
    result = seal(stored.folder, tmp_path / "bag")
    rows = report_of(tmp_path / "bag", tmp_path)
    assert dict(row[:2] for row in rows["Export"])["root hash"] == result.root
    manifest = (tmp_path / "bag" / "manifest-sha256.txt").read_text(encoding="utf-8")
    assert manifest == "".join(f"{digest}  {name}\n" for name, _, digest in rows["Files"][1:])


def test_many_apps_have_their_own_plans(tmp_path: Path) -> None:
    StoredRuns(tmp_path / "out" / "app=one").run([record(1), record(2)])
    StoredParts(tmp_path / "out" / "app=two", 2).run(range(1, 5))
    facts = {name: value for name, value, *_ in report_of(tmp_path / "out", tmp_path)["Export"]}
    assert (facts["plans"], "plan" in facts) == ("user ann; user u0; user u1", False)


def test_a_report_that_fails_leaves_the_earlier_one(tmp_path: Path) -> None:
    stored = StoredRuns(tmp_path / "out")
    stored.run([record(1)])
    report_of(stored.folder, tmp_path)
    before, result = (tmp_path / "report.html").read_bytes(), verify(stored.folder)
    for path in (stored.folder / "messages").rglob("*.ndjson"):
        path.unlink()
    with pytest.raises(ChatRestError, match="it is not there any more"):
        write_report(stored.folder, tmp_path / "report.html", result)
    assert {path.name for path in tmp_path.iterdir()} == {"out", "report.html"}
    assert (tmp_path / "report.html").read_bytes() == before


def test_attachments_that_failed_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = StoredRuns(tmp_path / "out")
    stored.run([record(1)])
    row = b'{"messageId":"1","position":2,"state":"gone","url":"https://x.example/secret"}'
    monkeypatch.setattr(sys.modules[write_report.__module__], "read_table", lambda *_: iter([row]))
    assert report_of(stored.folder, tmp_path)["Not covered: attachments"][1:] == [["1", "2", "gone"]]


def test_the_command_writes_the_report_for_any_result(tmp_path: Path) -> None:
    stored = StoredRuns(tmp_path / "out")
    stored.run([record(1)], is_killed=True)

    def call(name: str) -> Any:
        return CliRunner().invoke(root, ["verify", str(stored.folder), "--report", str(tmp_path / name)])

    assert call("report.html").exit_code == 1
    assert "NOT in order" in html.unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    refused = call("report.pdf")
    assert (refused.exit_code, "ends with .html" in refused.stderr) == (2, True)
    refused = call("none/report.html")
    assert (refused.exit_code, "expected a file in a folder that exists" in refused.stderr) == (2, True)
    assert not re.findall(r"report\.\w+\.new", " ".join(path.name for path in tmp_path.iterdir()))
    with pytest.raises(RequestInvalidError, match="ends with"):
        write_report(stored.folder, "report", verify(stored.folder))
