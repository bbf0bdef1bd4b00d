"""The rows of a page that are written: against lists that are filtered by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, strategies as st

from chatrest import ActingUserIgnoredError
from chatrest._core.replies.rows import UNKNOWN, Row
from chatrest.emulator.store.message_index import group_list
from chatrest.export import Plan, export
from chatrest.export.fetch.jobs import ListJob
from chatrest.export.fetch.page_check import PageCheck, Window, partition_page
from chatrest.export.folder.journal import SourceState
from chatrest.export.plan.id_set import IdSet
from chatrest.export.plan.message_ids import number
from chatrest.export.plan.ownership import OwnershipRules, Source, pair_of
from tests.support.cases import loop_over
from tests.support.export_runs import assert_holds, ids_of, served
from tests.support.small_service import Record, SmallService, talk

ALICE, BOB, GROUP = (Source(kind, (name,)) for kind, name in [("user", "a"), ("user", "b"), ("group", "g")])  # type: ignore[arg-type]
RULES = OwnershipRules([ALICE, BOB, GROUP])
MEMBERS = [
    ("a", "x", "user"), ("a", "b", "user"), ("b", "a", "user"), ("x", "b", "user"), ("a", "g", "group"),
    ("x", "g", "group"), ("x", "y", "user"), ("a", "y", ""), ("", "", ""),
]  # fmt: skip


@st.composite
def pages(draw: st.DrawFn) -> list[Row]:
    """Rows as a walk gives them: those without a number for an id, and then the others in ascending order."""
    names = draw(st.lists(st.sampled_from(["", "m-1", "m-2", "9" * 30]), max_size=3))
    numbers = sorted(draw(st.sets(st.integers(1, 40), max_size=8)))
    ids = [*names, *map(str, numbers)]
    return [
        Row(name, "", *draw(st.sampled_from(MEMBERS)), draw(st.integers(-3, 12)), b"%d" % i)
        for i, name in enumerate(ids)
    ]


def is_of(source: Source, row: Row) -> bool:
    """Return True if a row may belong to the list of a source."""
    if source.kind == "user" and row.receiver_type == "group":
        return True  # its members are not told
    names = [row.receiver] if source.kind == "group" else [row.sender, row.receiver]
    return "" in names or source.names[0] in names


@given(pages(), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))
def test_a_window_includes_both_ends_and_messages_without_a_time(
    rows: list[Row], since: int | None, until: int | None
) -> None:
    def is_within(row: Row) -> bool:
        after = since is None or row.sent_at >= since
        return row.sent_at == UNKNOWN or (after and (until is None or row.sent_at <= until))

    assert Window(since, until).within(rows) == [row for row in rows if is_within(row)]


@given(pages(), st.sampled_from([ALICE, BOB, GROUP]))
def test_a_source_writes_own_and_unclaimed_rows(rows: list[Row], source: Source) -> None:
    own = [row for row in rows if RULES.writes(source, row.sender, row.receiver, row.receiver_type)]
    assert partition_page(rows, RULES, source) == own


@given(pages(), st.sampled_from([ALICE, BOB, GROUP]))
def test_each_row_of_a_page_of_missing_messages_is_under_the_owning_source(
    rows: list[Row], source: Source
) -> None:
    rows = [row for row in rows if is_of(source, row)]
    page = PageCheck(Window(), RULES).page(ListJob(SourceState(1, source), purpose="missing"), rows)
    assert sorted(id(row) for written in page.rows for row in written.rows) == sorted(map(id, rows))
    for writer, written, _ in page.rows:
        for row in written:
            claimants = RULES.claimants(row.sender, row.receiver, row.receiver_type)
            assert writer == (claimants[0] if claimants else source)


@given(pages(), st.integers(1, 9))
def test_a_recheck_counts_messages_as_shown_that_it_does_not_compare(rows: list[Row], since: int) -> None:
    """A message with a changed time counts as shown; so does one of another list."""
    job = ListJob(SourceState(1, ALICE), purpose="recheck", since=since)
    page = PageCheck(Window(), RULES).page(job, rows)
    assert page.again is not None
    assert page.again.ids.numbers == IdSet(id_number for row in rows if (id_number := number(row.id)))
    assert page.again.rows == Window(since).within([row for row in rows if is_of(ALICE, row)])


def row(id: int, sender: str, receiver: str, kind: str = "user", **members: Any) -> Row:
    record = {"id": str(id), "sender": sender, "receiver": receiver, "receiverType": kind} | members
    return Row(str(id), "", sender, receiver, kind, 0, json.dumps(record).encode())


@loop_over("ends", [("ann", "cat"), ("cat", "bob"), ("cat", "dan"), ("bob", "bob")])
def test_a_pair_shows_that_the_acting_user_is_ignored(ends: tuple[str, str]) -> None:
    with pytest.raises(ActingUserIgnoredError, match="list of pair ann bob"):
        PageCheck(Window(), OwnershipRules()).fitting(pair_of("ann", "bob"), [row(1, *ends)])


async def test_a_group_list_that_shows_all_groups_fails(tmp_path: Path) -> None:
    async with served(120) as service:
        den, oak = (service.store.ids(group=guid) for guid in ("den", "oak"))
        service.store.show(oak, group_list("den"))
        report = await export(service.session, tmp_path / "out", Plan(groups=["den"]))
        assert oak
        assert not report.complete
        assert "does not belong to the list of group den" in report.failed[0].error
        assert_holds(tmp_path / "out", service.expected(den))
        again = await export(service.session, tmp_path / "out")
        assert not again.complete
        assert_holds(tmp_path / "out", service.expected(den))


async def test_a_documented_service_gives_no_warning_and_no_failure(tmp_path: Path) -> None:
    async with served(200) as service:
        plan = Plan(users=["ann", "bob"], pairs=[("cat", "dan")], groups=["den", "oak"])
        report = await export(service.session, tmp_path / "out", plan)
        assert (report.complete, report.warnings, report.failed) == (True, [], [])


async def test_a_listed_user_with_an_unusable_uid_is_a_failed_source(tmp_path: Path) -> None:
    service = SmallService(talk(30), users=["ann", "", "..", "a\nb"])
    async with service.session() as session:
        report = await export(session, tmp_path / "out")
    assert not report.complete
    assert sorted(each.source for each in report.failed) == ["user ", "user ..", "user a\nb"]
    assert all("a name that cannot be asked for" in each.error for each in report.failed)
    assert ids_of(tmp_path / "out") == [str(number) for number in range(1, 31)]


@pytest.mark.parametrize("id", ["", "\x00", "..", "\ud800", None])
async def test_a_newest_message_without_an_id_is_no_end(id: Any, tmp_path: Path) -> None:
    service = SmallService(talk(30))

    def change_reply(request: web.Request, reply: Record) -> Record:
        if request.path == "/messages":
            reply["data"] = [{**record, "id": id} for record in reply["data"]]
        return reply

    service.change_reply = change_reply
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(users=["ann"]))
    assert (report.complete, report.until, report.messages) == (True, None, 30)


async def test_a_window_is_no_filter_that_is_ignored(tmp_path: Path) -> None:
    async with served(100) as service:
        [first, *_] = service.expected([20])
        report = await export(
            service.session, tmp_path / "out", Plan(users=["ann"], since=json.loads(first)["sentAt"])
        )
        assert (report.complete, report.warnings) == (True, [])
