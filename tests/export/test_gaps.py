"""What somebody does to an export by hand is found: gaps are filled, nothing is written twice, or told of."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chatrest.core.intervals import Interval, gaps
from chatrest.emulator.weather import Status
from chatrest.errors import ChatRestError
from chatrest.export import Plan, Report, export, list_reader
from chatrest.export.journal import NAME as JOURNAL
from tests.exporting import (
    GROUPS,
    Served,
    assert_holds,
    assert_whole,
    edit,
    fast_disk as fast_disk,
    files_of,
    forget_user,
    hide,
    history_of,
    manifest_of,
    part_of,
    raws_of,
    served,
    small_pages as small_pages,
)

pytestmark = pytest.mark.usefixtures("small_pages", "fast_disk", "tidy")

MIXED: dict[str, Any] = {"all_users": True, "groups": GROUPS, "pairs": (("ann", "bob"),)}
SHAPES = [
    {"compress": "none", "partition": "source"},
    {"compress": "gzip", "partition": "source"},
    {"compress": "none", "partition": "month"},
    {"compress": "zstd", "partition": "month"},
]
few = pytest.mark.parametrize("shape", SHAPES[::3], ids=lambda shape: "-".join(shape.values()))
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(shape.values()))


def cut(out: Path, *statements: str) -> None:
    """Changes the journal by hand."""
    with closing(sqlite3.connect(out / JOURNAL)) as db, db:
        for statement in statements:
            assert db.execute(statement).rowcount, statement


def number_of(out: Path, source: str) -> int:
    with closing(sqlite3.connect(out / JOURNAL)) as db:
        return int(db.execute("SELECT number FROM sources WHERE key = ?", (source,)).fetchone()[0])


COVERED = {
    "a row": ["DELETE FROM covered WHERE source = 3"],
    "all rows": ["DELETE FROM covered"],
    "the end of each": ["UPDATE covered SET last = 60"],
    "the end of each, and the places": ["UPDATE covered SET last = 60, position = '[]'"],
    "the beginning of each": ["UPDATE covered SET first = 70"],
    "a hole in each": [
        "INSERT INTO covered SELECT source, 90, last, position FROM covered",
        "UPDATE covered SET last = 40, position = '[]' WHERE first = 1",
    ],
    "two holes that touch ids of others": [
        "INSERT INTO covered SELECT source, 101, last, position FROM covered",
        "INSERT INTO covered SELECT source, 33, 77, '[]' FROM covered WHERE first = 1",
        "UPDATE covered SET last = 11, position = '[]' WHERE first = 1",
    ],
    "all but one id": ["UPDATE covered SET first = 50, last = 50, position = '[]'"],
    "intervals that are none": ["UPDATE covered SET last = 0"],
    "intervals that overlap": [
        "INSERT INTO covered SELECT source, 20, 80, '[]' FROM covered",
        "UPDATE covered SET last = 50, position = '[]' WHERE first = 1",
    ],
    "places that are none": ["UPDATE covered SET last = 60, position = 'garbage'"],
    "places of another list": [
        'UPDATE covered SET last = 60, position = \'[["affix","append"],["id","3"]]\''
    ],
}


@pytest.mark.parametrize("name", COVERED)
@few
async def test_gaps_in_what_is_covered_are_filled_and_nothing_is_written_twice(
    name: str, shape: dict[str, Any], tmp_path: Path
) -> None:
    async with served(150, loose=name != "places of another list") as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED, **shape))
        cut(tmp_path / "out", *COVERED[name])
        report = await export(service.session, tmp_path / "out")
        assert report.complete, report
        assert report.written == 0
        assert_whole(tmp_path / "out", service.expected())
        with closing(sqlite3.connect(tmp_path / "out" / JOURNAL)) as db:
            rows = db.execute("SELECT source, first, last FROM covered ORDER BY source, first").fetchall()
        for source in {source for source, _, _ in rows}:
            assert gaps([Interval(*its) for each, *its in rows if each == source], 150) == []


@pytest.mark.parametrize(
    "name",
    [
        "the end of each",
        "the end of each, and the places",
        "a hole in each",
        "all rows",
        "a row",
    ],
)
async def test_a_gap_is_read_again_so_what_was_edited_in_it_is_found(name: str, tmp_path: Path) -> None:
    async with served(150) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        pair = service.store.ids(conversation="ann_user_bob")  # the third source of the plan
        number = next(each for each in pair if each > 64 and each % 7 != 3)
        older = service.expected([number])
        edit(service.store, number, "edited")
        cut(tmp_path / "out", *COVERED[name])
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())
        assert history_of(tmp_path / "out") == older


@shapes
@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM blocks"],
        ["DELETE FROM blocks WHERE start = 0"],
        ["DELETE FROM blocks WHERE start > 0"],
        ["DELETE FROM blocks", "DELETE FROM covered"],
        ["DELETE FROM blocks", *COVERED["a hole in each"]],
    ],
    ids=str,
)
async def test_frames_that_were_deleted_are_told_of_anew(
    statements: list[str], shape: dict[str, Any], tmp_path: Path
) -> None:
    async with served(150) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED, **shape))
        await export(service.session, tmp_path / "out")
        cut(tmp_path / "out", *statements)
        report = await export(service.session, tmp_path / "out")
        assert report.complete, report
        assert_whole(tmp_path / "out", service.expected())


@shapes
async def test_frames_out_of_order_that_were_deleted_are_told_of_anew(
    shape: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where workers shared a source, its file does not ascend."""
    monkeypatch.setattr(list_reader, "LEAST_PAGES", 1)
    async with served(400) as service:
        await export(service.session, tmp_path / "out", Plan(everything=True, **shape))
        cut(tmp_path / "out", "DELETE FROM blocks", *COVERED["a hole in each"])
        report = await export(service.session, tmp_path / "out")
        assert report.complete, report
        assert_whole(tmp_path / "out", service.expected())


# ── files ──


def remove(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def lengthen(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"id":"9999"}\n half a li')


def leave_alone(path: Path) -> None:
    pass


@shapes
@pytest.mark.parametrize("harm", [remove, empty, shorten, halve, lengthen])
@pytest.mark.parametrize("which", ["one", "all"])
async def test_files_that_were_harmed_are_read_again(
    which: str, harm: Callable[[Path], None], shape: dict[str, Any], tmp_path: Path
) -> None:
    async with served(150, loose=False) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED, **shape))
        files = files_of(tmp_path / "out")
        for path in files if which == "all" else files[-2:-1]:
            harm(path)
        report = await export(service.session, tmp_path / "out")
        assert report.complete, report
        assert report.written > 0 or harm is lengthen
        assert_whole(tmp_path / "out", service.expected())
        assert (await export(service.session, tmp_path / "out")).written == 0


@pytest.mark.parametrize("harm", [remove, empty, shorten, halve, lengthen])
@pytest.mark.parametrize("statements", [["DELETE FROM blocks"], ["DELETE FROM blocks", *COVERED["a row"]]])
@few
async def test_files_that_were_harmed_and_are_not_told_of(
    statements: list[str], harm: Callable[[Path], None], shape: dict[str, Any], tmp_path: Path
) -> None:
    async with served(150, loose=False) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED, **shape))
        cut(tmp_path / "out", *statements)
        harm(files_of(tmp_path / "out")[1])
        report = await export(service.session, tmp_path / "out")
        assert report.complete, report
        assert_whole(tmp_path / "out", service.expected())


async def test_each_file_in_turn_is_lost_between_later_runs(tmp_path: Path) -> None:
    """Odd records too, that stand in several lists: each is in one file alone, whichever is lost."""
    async with served(150) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        for path in files_of(tmp_path / "out"):
            path.unlink()
            report = await export(service.session, tmp_path / "out")
            assert report.complete, (path.name, report)
            assert_whole(tmp_path / "out", service.expected())
            service.store.add_message("ann", "bob", "more")


async def test_a_lost_file_is_read_again_where_the_rule_was_broken(tmp_path: Path) -> None:
    """What ann's list lacked was written by bob; then ann's file is lost, and her list shows all."""
    async with served(150) as service:
        lacking = service.store.ids(conversation="ann_user_bob")[3:6]
        hide(service.store, lacking, "u:ann")
        await export(service.session, tmp_path / "out", Plan(users=("ann", "bob", "cat", "dan")))
        assert_whole(tmp_path / "out", service.expected())
        service.store.show(lacking, "u:ann")
        part_of(tmp_path / "out", "user-ann").unlink()
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())


async def test_the_lost_file_of_a_user_that_is_refused_comes_from_the_other_side(tmp_path: Path) -> None:
    async with served(150) as service:
        await export(service.session, tmp_path / "out", Plan(all_users=True))
        part_of(tmp_path / "out", "user-ann").unlink()
        service.emulator.weather.add(Status(403, route="/users/ann/messages"))
        report = await export(service.session, tmp_path / "out")
        assert not report.complete
        assert_holds(tmp_path / "out", service.expected(service.users_ids("bob", "cat", "dan")))
        service.emulator.weather.clear()
        assert (await export(service.session, tmp_path / "out")).complete
        assert_whole(tmp_path / "out", service.expected())


async def test_the_lost_file_of_a_user_that_is_gone_is_no_silent_loss(tmp_path: Path) -> None:
    """What others show of it is read from them; what only its own list had is lost, and that is told."""
    async with served(150) as service:
        await export(service.session, tmp_path / "out", Plan(all_users=True))
        part_of(tmp_path / "out", "user-ann").unlink()
        forget_user(service.store, "ann")
        report = await export(service.session, tmp_path / "out")
        shared = service.users_ids("bob", "cat", "dan")
        assert_holds(tmp_path / "out", service.expected(shared))
        assert len(shared) < 150
        assert not report.complete


async def test_the_lost_messages_that_are_not_shown_any_more_are_told_of(tmp_path: Path) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path / "out", Plan(everything=True))
        hide(service.store, [20])
        await export(service.session, tmp_path / "out", recheck=10**9)
        assert manifest_of(tmp_path / "out").deleted == ["20"]
        part_of(tmp_path / "out", "messages").unlink()
        await export(service.session, tmp_path / "out")
        # "Ids that are in the export, and that the service does not show any more": it is not in it.
        assert manifest_of(tmp_path / "out").deleted == []
        assert_holds(tmp_path / "out", service.expected([n for n in range(1, 61) if n != 20]))


async def test_a_history_that_is_lost_or_torn_takes_no_message_with_it(tmp_path: Path) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        older = service.expected([8, 9])
        for number in (8, 9):
            edit(service.store, number, "edited")
        await export(service.session, tmp_path / "out", recheck=10**9)
        lengthen(tmp_path / "out" / "history.jsonl")
        assert (await export(service.session, tmp_path / "out")).complete
        assert sorted(history_of(tmp_path / "out")) == sorted(older)
        remove(tmp_path / "out" / "history.jsonl")
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.written == 0
        assert_whole(tmp_path / "out", service.expected())


# ── what cannot be mended ──


async def loud_or_whole(service: Served, out: Path) -> Report | None:
    """An export that raises, that says what is wrong, or that is whole: never a silent loss."""
    try:
        report = await export(service.session, out)
    except ChatRestError as error:
        assert str(out) in str(error)  # noqa: PT017 - an error is one way to be loud
        return None
    if report.complete:
        assert_whole(out, service.expected())
    else:
        assert report.reasons
    return report


@few
@pytest.mark.parametrize(
    ("statements", "harm"),
    [
        pytest.param(["DELETE FROM files WHERE number = 2"], leave_alone),
        pytest.param(["DELETE FROM files"], leave_alone),
        pytest.param(["DELETE FROM files WHERE number = 2"], remove),
        (["UPDATE files SET size = size - 30 WHERE number = 2"], leave_alone),
        (["UPDATE files SET size = 0 WHERE number = 2"], leave_alone),
        (["UPDATE blocks SET size = size - 3 WHERE file = 2"], leave_alone),
        (["UPDATE blocks SET start = start + 3 WHERE file = 2"], leave_alone),
    ],
    ids=lambda each: each.__name__ if callable(each) else str(each),
)
async def test_parts_that_were_tampered_with(
    statements: list[str], harm: Callable[[Path], None], shape: dict[str, Any], tmp_path: Path
) -> None:
    async with served(150, loose=False) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED, **shape))
        with closing(sqlite3.connect(tmp_path / "out" / JOURNAL)) as db:
            [name] = db.execute("SELECT name FROM files WHERE number = 2").fetchone()
        cut(tmp_path / "out", *statements)
        harm(tmp_path / "out" / name)
        await loud_or_whole(service, tmp_path / "out")


async def test_a_source_that_was_deleted_from_the_journal(tmp_path: Path) -> None:
    async with served(150) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        cut(tmp_path / "out", "DELETE FROM sources WHERE number = 4")
        await loud_or_whole(service, tmp_path / "out")


async def test_a_journal_that_is_removed_leaves_a_folder_that_is_not_touched(tmp_path: Path) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        (tmp_path / "out" / JOURNAL).unlink()
        before = raws_of(tmp_path / "out")
        assert await loud_or_whole(service, tmp_path / "out") is None
        assert raws_of(tmp_path / "out") == before
