"""A position that the service did not name may be refused, ignored or show an empty page: nothing is lost."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from chatrest._parameters.messages import MessageQuery
from chatrest.emulator import Fault, OutgoingReply, Status
from chatrest.emulator.service.handler_input import ServiceRequest as Request
from chatrest.emulator.store import Store
from chatrest.export import Plan, export, verify
from chatrest.export.fetch import list_reader
from chatrest.export.fetch.jobs import PieceQueue
from tests.support.export_runs import USERS, hide, part_of, query_of, raws_of, served, to_user

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


def talk(messages: Iterable[tuple[int, str, str]]) -> Callable[[Store], None]:
    """Fills a service: ids, and who said it to whom."""
    rows = list(messages)

    def fill_in(store: Store) -> None:
        for uid in sorted({uid for _, *both in rows for uid in both}):
            store.add_user(uid)
        store.add_records(to_user(sender, receiver, number) for number, sender, receiver in rows)

    return fill_in


class Strange(Fault, frozen=True):
    """A user's list that rejects a position by an id that it does not hold."""

    store: Store
    uid: str

    def rewrite_reply(self, reply: OutgoingReply, request: Request, number: int) -> OutgoingReply:
        position = query_of(request.query).get("id")
        if position is None or int(position) in self.store.ids(participant=self.uid):
            return reply
        return self.nowhere(reply, position, int(query_of(request.query)["perPage"]))

    def nowhere(self, reply: OutgoingReply, position: str, size: int) -> OutgoingReply:
        raise NotImplementedError


class Refuses(Strange, frozen=True):
    def nowhere(self, reply: OutgoingReply, position: str, size: int) -> OutgoingReply:
        return OutgoingReply(400, b'{"error":{"code":"ERR_BAD_ID","message":"no such place"}}', reply.headers)


class Ignores(Strange, frozen=True):
    """It answers with the first page."""

    def nowhere(self, reply: OutgoingReply, position: str, size: int) -> OutgoingReply:
        first = self.store.ids(participant=self.uid)[:size]
        return page(reply, self.store.records(first), first[-1])


class IsEmpty(Strange, frozen=True):
    def nowhere(self, reply: OutgoingReply, position: str, size: int) -> OutgoingReply:
        return page(reply, [], int(position))


class NamesTheNext(Fault, frozen=True):
    """A page begins with the message of the id that is asked for, and names the first of the next page."""

    store: Store
    uid: str

    def rewrite_reply(self, reply: OutgoingReply, request: Request, number: int) -> OutgoingReply:
        if query_of(request.query).get("affix") == "prepend":
            return reply
        begin, size = int(query_of(request.query).get("id", "0")), int(query_of(request.query)["perPage"])
        left = [each for each in self.store.ids(participant=self.uid) if each >= begin]
        return page(reply, self.store.records(left[:size]), left[size] if len(left) > size else None)


def page(reply: OutgoingReply, records: Iterable[bytes], goes_on: int | None) -> OutgoingReply:
    body = json.loads(reply.body)
    body["data"] = list(map(json.loads, records))
    body["meta"]["cursor"] = {"affix": "append"} | ({"id": goes_on} if goes_on else {})
    return structs.replace(reply, body=json.dumps(body).encode())


def as_served(records: Iterable[bytes]) -> list[Any]:
    return sorted((json.loads(raw) for raw in records), key=lambda each: int(each["id"]))


every_way = pytest.mark.parametrize("strange", [Refuses, Ignores, IsEmpty])


@every_way
async def test_a_message_missing_from_one_list_is_read_from_another(strange: Any, tmp_path: Path) -> None:
    messages = [(number, "bob", "ann" if number == 105 else "cat") for number in range(5, 405, 10)]
    async with served(fill_in=talk(messages)) as service:
        hide(service.store, [105], "u:ann")
        for uid in ("ann", "bob", "cat"):
            service.emulator.weather.add(strange(service.store, uid, route=f"/users/{uid}/messages"))
        report = await export(service.session, tmp_path / "out", Plan(all_users=True))
        assert report.complete, report
        assert as_served(raws_of(tmp_path / "out")) == as_served(service.expected())


@pytest.mark.parametrize(
    ("strange", "end_is_known"), [(Refuses, True), (Ignores, False), (IsEmpty, True), (Refuses, False)]
)
async def test_a_lost_file_in_the_middle_is_read_again(
    strange: Any, end_is_known: bool, tmp_path: Path
) -> None:
    async with served(200, loose=False) as service:
        if not end_is_known:
            service.emulator.weather.add(Status(403, route="messages.list"))
        service.emulator.weather.add(strange(service.store, "ann", route="/users/ann/messages"))
        await export(service.session, tmp_path / "out", Plan(users=("ann",), partition="month"))
        part_of(tmp_path / "out", "2020-10").unlink()
        report = await export(service.session, tmp_path / "out")
        assert report.complete, report
        assert sorted(ids(raws_of(tmp_path / "out"))) == service.users_ids("ann")
        assert verify(tmp_path / "out").ok


def ids(records: Iterable[bytes]) -> list[int]:
    return [int(json.loads(raw)["id"]) for raw in records]


@every_way
async def test_idle_workers_divide_a_source(
    strange: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_reader, "MIN_PAGES", 1)
    messages = [(number * 10, "ann", "bob") for number in range(1, 401)]
    async with served(fill_in=talk(messages)) as service:
        service.emulator.weather.add(strange(service.store, "ann", route="/users/ann/messages"))
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", Plan(users=("ann",)))
            assert report.complete, report
            assert as_served(raws_of(tmp_path / "out")) == as_served(service.expected())


async def test_a_piece_of_a_list_with_dense_ids_is_divided_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_reader, "MIN_PAGES", 2)
    # The first division gives empty parts to all readers: how soon one of them is free again is chance.
    monkeypatch.setattr(PieceQueue, "has_free_reader", True)
    dense = range(500_000, 500_400)
    numbers = sorted([*range(1, 900_000, 90_000), *dense])
    async with served(fill_in=talk((number, "ann", "bob") for number in numbers)) as service:
        await service.export_complete(tmp_path / "out", Plan(users=("ann",)))
        asked = [int(query_of(each.query).get("id", 0)) for each in service.emulator.requests]
        ends_of_pages = numbers[24::25]
        assert set(asked) & set(dense) - set(ends_of_pages)


async def test_a_list_that_refuses_ids_of_our_own_is_divided_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_reader, "MIN_PAGES", 1)
    async with served(fill_in=talk((number * 10, "ann", "bob") for number in range(1, 1001))) as service:
        service.emulator.weather.add(Refuses(service.store, "ann", route="/users/ann/messages"))
        await service.export_complete(tmp_path / "out", Plan(users=("ann",)), workers=4)
        refused = [each for each in service.emulator.requests if each.status == 400]
        assert len(refused) <= 2 * 3


@pytest.mark.parametrize("workers", [1, 32])
async def test_a_cursor_that_names_the_next_message_leaves_none_out(workers: int, tmp_path: Path) -> None:
    async with served(fill_in=talk((number, "ann", "bob") for number in range(1, 201))) as service:
        service.emulator.weather.add(NamesTheNext(service.store, "ann", route="/users/ann/messages"))
        walked = await service.session.messages.list_user("ann", query=MessageQuery(affix="append")).collect()
        assert len(walked) == 200
        report = await export(service.session, tmp_path / "out", Plan(users=("ann",)), workers=workers)
        assert report.complete, report
        assert as_served(raws_of(tmp_path / "out")) == as_served(service.expected())
        assert (await export(service.session, tmp_path / "out")).written == 0


@pytest.mark.parametrize("strange", [Refuses, Ignores])
async def test_new_messages_are_read_after_the_last_one_was_deleted(strange: Any, tmp_path: Path) -> None:
    async with served(fill_in=talk((number, "ann", "bob") for number in range(1, 101))) as service:
        service.emulator.weather.add(strange(service.store, "ann", route="/users/ann/messages"))
        await export(service.session, tmp_path / "out", Plan(users=("ann",)))
        hide(service.store, [100])
        service.store.add_message("ann", "bob", "new")
        report = await export(service.session, tmp_path / "out")
        assert report.complete, report
        assert report.written == 1
        assert sorted(ids(raws_of(tmp_path / "out")))[:100] == list(range(1, 101))


async def test_an_empty_list_is_continued_if_only_own_ids_are_positions(tmp_path: Path) -> None:
    """A list rejects the newest id of the app as a position if it never held it."""
    async with served(60) as service:
        for uid in USERS:
            service.emulator.weather.add(Refuses(service.store, uid, route=f"/users/{uid}/messages"))
        assert (await export(service.session, tmp_path / "out")).complete
        service.store.add_message("ann", "eve", "for the first time")
        service.store.add_message("ann", "bob", "and more")
        await service.export_complete(tmp_path / "out")
