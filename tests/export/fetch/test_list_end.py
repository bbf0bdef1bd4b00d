"""A service that says that a list has ended before it has: an end is believed once the newest id was seen."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from chatrest.export import Plan, export, verify
from chatrest.export.folder.journal import NAME as JOURNAL, Journal
from tests.support.export_runs import ids_of, manifest_of
from tests.support.small_service import Record, SmallService, talk

pytestmark = pytest.mark.usefixtures("tidy")

COUNT = 200
ALL = [str(number) for number in range(1, COUNT + 1)]
ReplyChange = Callable[[Record], Record]


def one_page(data: list[Record]) -> dict[str, Any]:
    return {"pagination": {"current_page": 1, "total_pages": 1, "count": len(data), "total": len(data)}}


FALSE_ENDS: dict[str, ReplyChange] = {
    "its page without meta": lambda reply: {"data": reply["data"]},
    "some of its page, as the last one": lambda reply: {
        "data": reply["data"][:3],
        "meta": one_page(reply["data"][:3]),
    },
    "nothing": lambda reply: {"data": []},
    "nothing, and no meta": lambda reply: {"data": [], "meta": None},
    "nothing, as the only page": lambda reply: {"data": [], "meta": one_page([])},
    "nothing, as page 1 of 2": lambda reply: {
        "data": [],
        "meta": {"pagination": {"current_page": 1, "total_pages": 2, "count": 0}},
    },
}


def with_meta(value: Any) -> ReplyChange:
    return lambda reply: reply | {"meta": value}


def with_cursor(value: Any) -> ReplyChange:
    return lambda reply: reply | {"meta": reply["meta"] | {"cursor": value}}


CHANGES = FALSE_ENDS | {
    **{f"{value!r} for its meta": with_meta(value) for value in (None, "lost", {})},
    **{f"{value!r} for its cursor": with_cursor(value) for value in (None, {}, {"affix": "append"}, ["?"])},
}
plans = pytest.mark.parametrize(
    "plan", [Plan(users=["ann"]), Plan(everything=True)], ids=["user", "everything"]
)


def wrong_replies(change: ReplyChange, first: str, times: int) -> Callable[[web.Request, Record], Record]:
    """Change the ascending replies that begin with a message, so many times."""
    left = [times]

    def changed(request: web.Request, reply: Record) -> Record:
        begins = reply["data"][0]["id"] if reply["data"] else ""
        if request.query.get("affix") != "append" or begins != first or not left[0]:
            return reply
        left[0] -= 1
        return change(reply)

    return changed


USER, EVERYTHING = Plan(users=["ann"]), Plan(everything=True)
PLACES = ((USER, "1"), (EVERYTHING, "76"), (USER, "176"))


@pytest.mark.parametrize(
    ("change", "plan", "first"),
    [(change, *PLACES[number % 3]) for number, change in enumerate(CHANGES)],
)
async def test_a_repeated_false_reply_is_noticed_and_the_next_run_reads_everything(
    change: str, plan: Plan, first: str, tmp_path: Path
) -> None:
    service = SmallService(talk(COUNT))
    service.change_reply = wrong_replies(CHANGES[change], first, 1000)
    async with service.session() as session:
        for _ in range(2):
            report = await export(session, tmp_path / "out", plan)
            assert report.complete == (ids_of(tmp_path / "out") == ALL)
            assert report.complete or report.failed or report.reasons
            assert verify(tmp_path / "out").ok == report.complete == manifest_of(tmp_path / "out").complete
            with Journal(tmp_path / "out" / JOURNAL) as journal:
                [source] = [known for known in journal.sources() if known.asked]
            assert source.proven == (COUNT if report.complete else 0)
        service.change_reply = lambda _, reply: reply
        report = await export(session, tmp_path / "out", plan)
    assert report.complete
    assert ids_of(tmp_path / "out") == ALL


async def test_a_list_with_decreasing_positions_is_read_as_unordered(tmp_path: Path) -> None:
    service = SmallService(talk(COUNT))
    service.change_reply = wrong_replies(with_cursor({"affix": "append", "id": 3}), "76", 1000)
    async with service.session() as session:
        report = await export(session, tmp_path / "out", EVERYTHING)
        assert (report.complete, report.written) == (True, COUNT)
        again = await export(session, tmp_path / "out")
    assert (again.complete, again.written) == (True, 0)
    assert verify(tmp_path / "out").ok


async def test_the_error_of_a_list_that_ends_too_early_has_both_ids(tmp_path: Path) -> None:
    service = SmallService(talk(COUNT))
    service.change_reply = lambda request, reply: (
        reply
        if request.query.get("affix") == "prepend"
        else {
            "data": reply["data"][:75] if "id" not in request.query else [],
            "meta": one_page(reply["data"]),
        }
    )
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(users=["ann"]))
    assert not report.complete
    words = [failure.error for failure in report.failed] + report.reasons
    assert any("stopped at id 25, but its newest message is 200" in each for each in words), words


@plans
async def test_a_short_list_is_not_divided(plan: Plan, tmp_path: Path) -> None:
    service = SmallService(talk(COUNT))
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", plan)).complete
    probes = [query for query in service.requests if query.get("affix") == "prepend"]
    assert len(probes) == 1, "the app's newest message, which is the list's, too"


@plans
async def test_a_long_list_of_high_ids_is_divided(plan: Plan, tmp_path: Path) -> None:
    service = SmallService(talk(1000, first=5_000_001))
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", plan)).messages == 1000
    positions = {
        int(query["id"]) for query in service.requests if query.get("affix") == "append" and "id" in query
    }
    assert any(position % service.largest_page for position in positions), "all of them end a page"


@plans
async def test_a_run_without_news_costs_one_request_or_one_per_source(plan: Plan, tmp_path: Path) -> None:
    service = SmallService(talk(COUNT))
    async with service.session() as session:
        await export(session, tmp_path / "out", plan)
        service.requests.clear()
        report = await export(session, tmp_path / "out", plan)
        assert (report.complete, report.written) == (True, 0)
        assert len(service.requests) == 1, "the app's newest message is the frozen end of the last run"
        service.records += [talk(1, first=999)[0] | {"sender": "cat", "receiver": "dan"}]
        service.requests.clear()
        assert (await export(session, tmp_path / "out", plan)).complete
        assert len(service.requests) == (2 if plan.users else 3), service.requests


@plans
async def test_a_service_that_cannot_go_backwards_is_read_to_the_end(plan: Plan, tmp_path: Path) -> None:
    """The messages that it shows as the newest are the oldest ones: they prove nothing."""
    service = SmallService(talk(COUNT))
    original = service.page

    def forwards(records: list[Record], query: dict[str, str], size: int) -> Record:
        return original(records, query | {"affix": "append"}, size)

    service.page = forwards  # type: ignore[method-assign]
    async with service.session() as session:
        report = await export(session, tmp_path / "out", plan)
        assert (report.complete, report.until) == (True, None)
        assert ids_of(tmp_path / "out") == ALL
        service.records += talk(50, first=COUNT + 1)
        report = await export(session, tmp_path / "out")
    assert (report.complete, report.written) == (True, 50)


@plans
async def test_a_late_message_with_a_lower_id_is_read_if_a_probe_shows_it(plan: Plan, tmp_path: Path) -> None:
    service = SmallService(talk(COUNT))
    [late] = [record for record in service.records if record["id"] == "195"]
    service.records.remove(late)
    async with service.session() as session:
        assert (await export(session, tmp_path / "out", plan)).messages == COUNT - 1
        service.records = sorted(
            [*service.records, late, *talk(2, first=COUNT + 1)], key=lambda each: int(each["id"])
        )
        report = await export(session, tmp_path / "out")
    assert (report.complete, report.written) == (True, 3)


def repeat_users(service: SmallService, size: int) -> None:
    """Serve the first page of users whichever is asked for."""

    async def list_users(request: web.Request) -> web.Response:
        users = [{"uid": uid, "name": uid} for uid in service.users[:size]]
        numbers = {"count": len(users), "per_page": size, "current_page": 1, "total_pages": 3}
        return web.json_response({"data": users, "meta": {"pagination": numbers}}, dumps=json.dumps)

    service._list_users = list_users  # type: ignore[method-assign]


async def test_a_service_that_repeats_the_only_page_of_users_is_exported(tmp_path: Path) -> None:
    service = SmallService(talk(COUNT))
    repeat_users(service, 10)
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(all_users=True))
    assert ids_of(tmp_path / "out") == ALL
    assert not report.complete
    assert "the list of users could not be read to its end" in report.reasons[0]
    assert report.failed == []


async def test_an_empty_app_list_beside_lists_of_users_is_not_complete(tmp_path: Path) -> None:
    service = SmallService(talk(COUNT), users=["nobody", "ann", "bob"])
    service.change_reply = lambda request, reply: (
        reply if "uid" in request.match_info else {"data": [], "meta": one_page([])}
    )
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(everything=True))
        assert not report.complete
        assert "list of messages is empty, although the list of user ann is not" in report.reasons[0]
        service.change_reply = lambda _, reply: reply
        assert (await export(session, tmp_path / "out")).complete
    assert ids_of(tmp_path / "out") == ALL


async def test_an_empty_list_of_users_beside_messages_is_not_complete(tmp_path: Path) -> None:
    service = SmallService(talk(COUNT), users=[])
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(all_users=True))
        assert (report.complete, report.reasons) == (
            False,
            ["the service lists no users, although the app has messages"],
        )
        service.users = ["ann"]
        assert (await export(session, tmp_path / "out")).complete
    assert ids_of(tmp_path / "out") == ALL


@pytest.mark.parametrize("shown", [[10], [10, 60, 10]], ids=["old", "twice"])
async def test_an_old_message_that_is_shown_as_the_newest_is_no_end(shown: list[int], tmp_path: Path) -> None:
    """The service shows the message that it is asked from, too, so that one more may follow."""
    service = SmallService(talk(60))

    def change_reply(request: web.Request, reply: Record) -> Record:
        if request.path != "/messages":
            return reply
        size, place = int(request.query["limit"]), int(request.query.get("id", "0"))
        from_place = [record for record in service.records if int(record["id"]) >= place][:size]
        newest = [record for number in shown for record in talk(1, first=number)]
        return {"data": from_place if place else newest}

    service.change_reply = change_reply
    async with service.session() as session:
        report = await export(session, tmp_path / "out", Plan(users=["ann"]))
    assert report.complete
    assert len(ids_of(tmp_path / "out")) == 60
