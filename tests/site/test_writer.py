"""A static site is written where it may be, later runs add to it, and kills show."""

import json
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from chatrest import RequestInvalidError
from chatrest._cli.root import root
from tests.support.stored_exports import StoredRuns

pytest.importorskip("jinja2")

from chatrest.database import LoadReport, load
from chatrest.site import index_build, site_files, write_document, write_site, writer
from chatrest.site.index import Index
from chatrest.site.pages import Pages
from chatrest.site.site_files import SiteFiles

from .chats import NAMES, PARENT, START, STEP, Page, files, make_export, message, page_of, pages, shown_ids

NEWS = [message(number, f"news {number}") for number in range(1, 300)]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"conversations": ["group_den"]}, lambda each: each["receiver"] == "den"),
        ({"users": ["bob"]}, lambda each: True),
        ({"users": ["eve/.."]}, lambda each: each["receiver"] == "den"),
        ({"since": START + 100 * STEP, "until": START + 120 * STEP},
         lambda each: each["sentAt"] == "soon" or 100 <= int(each["id"]) <= 120),
    ],
    ids=["conversation", "user", "writer", "window"],
)  # fmt: skip
def test_a_part_of_an_export_is_chosen(
    choice: dict[str, Any], expected: Any, out: Path, made: list[dict[str, Any]], tmp_path: Path
) -> None:
    write_site(out, tmp_path / "site", **choice)
    assert sorted(shown_ids(tmp_path / "site"), key=int) == [each["id"] for each in made if expected(each)]
    bounds = (
        "Only messages from 2026-01-01 16:40:00 +00:00 until 2026-01-01 20:00:00 +00:00, and those without"
    )
    assert {bounds in page.text for page in pages(tmp_path / "site").values()} == {"since" in choice}


def test_a_choice_without_messages_is_refused(out: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestInvalidError, match="no message is of conversation 'no' or user 'nobody'"):
        write_site(out, tmp_path / "site", conversations=["no"], users=["nobody"])
    with pytest.raises(RequestInvalidError, match="no message is of user 'nobody': expected"):
        write_site(out, tmp_path / "site", users=["nobody"])
    assert not list(tmp_path.iterdir())


def test_a_second_run_writes_nothing(out: Path, site: Path) -> None:
    result = write_site(out, site, title="The archive")
    assert (result.written, result.removed) == (0, 0)


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names = list[str]()
    page = Pages.page

    def noting(pages: Pages, conversation: Any, cut: Any, *rest: Any) -> str:
        names.append(f"{conversation.id} {cut.page}")
        return page(pages, conversation, cut, *rest)

    monkeypatch.setattr(Pages, "page", noting)
    return names


def test_new_messages_change_the_last_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rendered: list[str]
) -> None:
    out, site = tmp_path / "out", tmp_path / "site"
    write_site(make_export(out, NEWS[:280]), site)
    before = files(site)
    make_export(out, NEWS)
    rendered.clear()
    reports = list[LoadReport]()
    monkeypatch.setattr(index_build, "load", lambda *args, **options: reports.append(load(*args, **options)))
    assert write_site(out, site).messages == 299
    assert [report.new for report in reports] == [19]
    assert rendered == ["ann_user_bob 2"]
    after = files(site)
    changed = {name for name, data in after.items() if before.get(name) != data}
    others = [name for name in changed if not name.startswith(("search/w/", "u/"))]
    assert {re.sub(r"c/\w+", "c/X", name) for name in others} == {
        "about.js", "index.html", "people.html", "c/X/2.html", "c/X/2-source.html", "c/X/days.html",
        "c/X/days.js", "conversations.js", "search/meta.js", "search/p/0/2.js",
    }  # fmt: skip
    write_site(out, tmp_path / "fresh")
    assert after == files(tmp_path / "fresh")


def _with(number: int, **members: Any) -> Callable[[list[dict[str, Any]]], None]:
    def change(made: list[dict[str, Any]]) -> None:
        made[number] = made[number] | members

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda made: None, []),
        (_with(PARENT, deletedAt=START, deletedBy="bob"), ["group_den 1"]),  # it is quoted
        (_with(PARENT + 3, parentId=str(PARENT + 1)), ["group_den 1"]),
        (_with(10, parentId="401"), ["ann_user_bob 1", "ann_user_bob 2"]),
        (lambda made: made.pop(300), ["ann_user_bob 2", "ann_user_bob 3"]),
        ("Anna", ["ann_user_bob 1", "ann_user_bob 2", "ann_user_bob 3", "group_den 1"]),
    ],
    ids=["nothing", "deletion", "reply", "thread", "removal", "name"],
)
def test_a_page_is_rewritten_if_any_shown_value_has_changed(
    change: Callable[[Any], object] | str, expected: list[str], out: Path, made: list[dict[str, Any]],
    tmp_path: Path, rendered: list[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    other = list(made)
    if callable(change):
        change(other)
    else:
        monkeypatch.setitem(NAMES, "ann", change)
    monkeypatch.setattr(writer, "_first_runs", lambda _: [])
    write_site(out, tmp_path / "site")
    rendered.clear()
    changed = make_export(tmp_path / "out", other)
    write_site(changed, tmp_path / "site")
    assert sorted(rendered) == expected
    write_site(changed, tmp_path / "fresh")
    assert files(tmp_path / "site") == files(tmp_path / "fresh")


def test_deleted_and_undeleted_messages_are_shown_as_such(tmp_path: Path, rendered: list[str]) -> None:
    runs, site = StoredRuns(tmp_path / "out"), tmp_path / "site"
    stored = [json.dumps(each).encode() for each in NEWS]
    runs.run(stored[:280])
    write_site(runs.folder, site)
    before = files(site)
    rendered.clear()
    runs.run(deleted=[10])
    write_site(runs.folder, site)
    assert rendered == ["ann_user_bob 1"]
    assert "Deleted from the service" in Page(site / page_of(site, "news 11")).text
    assert [name for name, data in files(site).items() if re.search(rb"news 10\b", data)] == []
    assert shown_ids(site) == [str(number) for number in range(1, 281)]
    runs.run(restored=[10])
    write_site(runs.folder, site)
    assert files(site) == before
    runs.run(stored[280:], deleted=[10, 299])
    write_site(runs.folder, site)
    write_site(runs.folder, tmp_path / "fresh")
    assert files(site) == files(tmp_path / "fresh")


def test_finished_pages_of_a_killed_run_are_not_rewritten(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rendered: list[str]
) -> None:
    monkeypatch.setattr(site_files, "_COMMIT_EVERY", 1)
    with monkeypatch.context() as patch:
        patch.setattr(Pages, "person", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_site(out, tmp_path / "site")
    assert len(rendered) == 4
    (tmp_path / "site" / "c" / "1.html.new").write_text("half of a page")
    write_site(out, tmp_path / "site")
    assert not list((tmp_path / "site").rglob("*.new"))
    assert rendered[4:] == rendered[3:4]  # its last state was not committed


def test_a_removed_or_cut_page_is_written_again(out: Path, tmp_path: Path) -> None:
    site, begun = tmp_path / "site", datetime(2026, 5, 1, tzinfo=UTC)
    write_site(out, site, now=lambda: begun)
    before = files(site)
    page = next(site.glob("c/*/1.html"))
    page.unlink()
    next(site.glob("search/p/0/*.js")).write_bytes(b"")
    result = write_site(out, site, now=lambda: begun)
    assert result.written == 4  # with index.html, which said meanwhile that it is not complete
    assert files(site) == before


def test_a_site_with_other_options_loses_the_excluded_pages(out: Path, tmp_path: Path) -> None:
    write_site(out, tmp_path / "all")
    next((tmp_path / "all" / "u").iterdir()).unlink()  # somebody has removed it already
    result = write_site(out, tmp_path / "all", conversations=["group_den"])
    write_site(out, tmp_path / "den", conversations=["group_den"])
    assert result.removed > 5
    assert pages(tmp_path / "all").keys() == pages(tmp_path / "den").keys()
    assert shown_ids(tmp_path / "all") == shown_ids(tmp_path / "den")
    folders = (path for path in (tmp_path / "all").rglob("*") if path.is_dir())
    assert [path for path in folders if not any(path.iterdir())] == []
    assert all("members" not in page.text for page in pages(tmp_path / "all").values())


@pytest.mark.parametrize(("after", "was_whole"), [(0, False), (3, False), (0, True), (9, True), (None, True)])
def test_a_killed_run_leaves_a_site_marked_incomplete(
    after: int | None, was_whole: bool, out: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    writes = 0
    replace = SiteFiles._replace

    def dying(state: SiteFiles, name: str, data: bytes | Path) -> None:
        nonlocal writes
        is_last = name == "index.html" and isinstance(data, bytes) and b"not complete" not in data
        if is_last if after is None else writes == after:
            raise KilledError
        writes += 1
        replace(state, name, data)

    folder = tmp_path / "site"
    if was_whole:
        write_site(out, folder, title="Another")
    before = files(folder)
    with monkeypatch.context() as patch:
        patch.setattr(SiteFiles, "_replace", dying)
        with pytest.raises(KilledError):
            write_site(out, folder, title="The archive")
    index = files(folder).get("index.html", b"")
    assert files(folder) == before or (b"not complete" in index and b"data-conversation" not in index)
    write_site(out, folder, title="The archive")
    assert files(folder) == files(site)


def test_records_of_any_shape_are_in_the_site(tmp_path: Path) -> None:
    half = {"entity": {"uid": "\ud83d", "name": "x"}}
    odd: list[dict[str, Any]] = [
        *({"data": data} for data in (None, 0, True, "text", [], [1], {"entities": "x"}, {"text": {}})),
        {"data": {"entities": {"sender": half}}}, {"editedAt": 5, "editedBy": "\ud83d"},
        {"deletedAt": 5, "deletedBy": "\ud83d"}, {"quotedMessage": {"id": "1", "sender": "\ud83d"}},
        {"quotedMessage": "\ud83d"}, {"data": {"text": "hi <@uid:\ud83d>"}},
        {"category": "action", "type": "x", "data": {"action": "joined", "entities": {"by": half}}},
        {"category": "custom", "data": {"customData": ["short"] * 50_000}},
    ]  # fmt: skip
    made = [message(number, "") | record for number, record in enumerate(odd, 1)]
    assert write_site(make_export(tmp_path / "out", made), tmp_path / "site").messages == len(odd)


def test_the_site_of_an_empty_export_has_a_note(tmp_path: Path) -> None:
    write_site(make_export(tmp_path / "out", []), tmp_path / "site")
    assert "There are no messages." in Page(tmp_path / "site" / "index.html").text


def test_a_text_of_megabytes_is_complete_and_searchable_and_a_long_name_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NAMES, "ann", "A" * 10_000)
    text = "x" * 200 + " <b>y</b>" * 900_000 + " needle"
    site = tmp_path / "site"
    write_site(make_export(tmp_path / "out", [message(1, text), message(2, "after")]), site)
    sizes = {re.sub(r"\w{16}", "X", name): len(data) for name, data in files(site).items()}
    assert sizes["c/X/1.html"] < 20_000
    assert sizes["c/X/1-source.html"] < 20_000
    assert sizes["c/X/m1.html"] > 8_000_000
    assert b"needle" in next(site.glob("search/w/*.js")).read_bytes()


def test_a_folder_with_something_else_is_refused(out: Path, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(RequestInvalidError, match="has files that are not of a site"):
        write_site(out, tmp_path)
    with pytest.raises(RequestInvalidError, match="is a file: expected a folder"):
        write_site(out, tmp_path / "photo.jpg")
    with pytest.raises(RequestInvalidError, match="in the folder of the export"):
        write_site(out, out / "site")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photo.jpg"]
    write_site(out, tmp_path / "site")
    inner = shutil.copytree(out, tmp_path / "site" / "out")
    with pytest.raises(RequestInvalidError, match="in the folder of the export, or around it"):
        write_site(inner, tmp_path / "site")


def test_a_site_of_another_export_is_refused_unchanged(out: Path, tmp_path: Path) -> None:
    write_site(out, tmp_path / "site", title="The archive")
    before = files(tmp_path / "site")
    runs = StoredRuns(tmp_path / "other")
    runs.run([json.dumps(message(1, "one")).encode()])
    with pytest.raises(RequestInvalidError, match=r"of another export than .*other.*expected another"):
        write_site(runs.folder, tmp_path / "site")
    assert files(tmp_path / "site") == before
    shutil.copytree(out, tmp_path / "copy")
    result = write_site(tmp_path / "copy", tmp_path / "site", title="The archive")
    assert result.written == 0, "it is the same export"


def test_without_jinja_nothing_is_read_or_made(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for write in (write_site, write_document):
        with pytest.raises(RequestInvalidError, match="writing pages needs the extra 'html'"):
            write(out, tmp_path / "site")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["html", "html --print", "view"])
def test_a_full_disk_is_one_line(
    command: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attach = Index.attach

    def attach_without_room(index: Index, database: Path) -> None:
        attach(index, database)
        index.db.execute("PRAGMA main.max_page_count=4")

    name, *option = command.split()
    target = [] if name == "view" else [str(tmp_path / "site")]
    with monkeypatch.context() as patched:
        patched.setattr(Index, "attach", attach_without_room)
        result = CliRunner().invoke(root, [name, str(out), *target, *option])
    line = result.stderr.splitlines()[-1]
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.stderr
    assert line.startswith("chatrest: ")
    assert line.endswith(": database or disk is full")
    if target and not option:
        write_site(out, tmp_path / "site")
        assert (tmp_path / "site" / "index.html").exists()


def test_a_site_has_only_pages(out: Path, tmp_path: Path) -> None:
    write_site(out, tmp_path / "site", conversations=["group_den"])
    assert not [data for data in files(tmp_path / "site").values() if b"SQLite format" in data]
    assert sorted(path.name for path in (tmp_path / "site.chatrest").iterdir()) == [
        "index.sqlite", "site.sqlite",
    ]  # fmt: skip


def test_two_at_once_are_refused(out: Path, tmp_path: Path) -> None:
    (tmp_path / "site.chatrest").mkdir(parents=True)
    with (
        SiteFiles(tmp_path / "site", links=False),
        pytest.raises(RequestInvalidError, match="another chatrest html is writing"),
    ):
        write_site(out, tmp_path / "site")


def test_an_attachment_that_is_not_there_is_counted(with_files: Path, tmp_path: Path) -> None:
    shutil.copytree(with_files, tmp_path / "out")
    next((tmp_path / "out" / "attachments" / "files").rglob("*.png")).unlink()
    assert write_site(tmp_path / "out", tmp_path / "site").missing == 1


def test_pages_leave_the_tables_of_the_database_as_they_are(tmp_path: Path) -> None:
    out = make_export(tmp_path / "out", [message(1, "first")], tables=["conversations"])
    database = tmp_path / "out.sqlite"
    load(out, database)
    with closing(sqlite3.connect(database)) as db:
        before = list(db.iterdump())
    write_site(out, tmp_path / "site")
    write_document(out, tmp_path / "document.html")
    with closing(sqlite3.connect(database)) as db:
        assert list(db.iterdump()) == before
