"""An export holds each message of the plan once, byte for byte, up to the newest at its beginning."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chatrest.emulator import First, Status
from chatrest.emulator.store import Store
from chatrest.export import Phase, Plan, Progress, export
from chatrest.export.fetch import list_reader
from tests.support.export_runs import (
    GROUPS,
    MIXED,
    USERS,
    Meanwhile,
    Served,
    assert_complete,
    fill_plain,
    forget_user,
    hide,
    part_of,
    query_of,
    raws_of,
    records,
    served,
    to_user,
)
from tests.support.list_faults import ListFault

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


@pytest.mark.parametrize(
    ("faults", "workers"),
    [
        ((), 1),
        (("descending",), 32),
        (("next-alone",), 32),
        (("next-alone", "descending"), 1),
        (("cursor-alone",), 32),
        (("cursor-alone", "descending"), 32),
    ],
)
async def test_each_message_once_in_every_dialect(
    faults: tuple[str, ...], workers: int, tmp_path: Path
) -> None:
    async with served(75, weather=[ListFault(kind) for kind in faults]) as service:
        report = await service.export_complete(tmp_path / "out", Plan(**MIXED), workers=workers)
    assert report.messages == report.written == 75
    assert report.until == 75
    assert report.sources == len(USERS) + len(GROUPS) + 2
    assert (report.failed, report.deleted_users, report.reasons) == ([], [], [])


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (Plan(everything=True), lambda service: service.store.ids()),
        (Plan(users=("ann",)), lambda service: service.users_ids("ann")),
        (Plan(users=("ann", "bob")), lambda service: service.users_ids("ann", "bob")),
        (Plan(groups=("den",)), lambda service: service.store.ids(group="den")),
        (Plan(pairs=(("dan", "ann"),)), lambda service: service.store.ids(conversation="ann_user_dan")),
        (
            Plan(users=("cat",), pairs=(("cat", "ann"), ("ann", "bob")), groups=("oak",)),
            lambda service: {
                *service.users_ids("cat"),
                *service.store.ids(conversation="ann_user_bob"),
                *service.store.ids(group="oak"),
            },
        ),
        (Plan(users=("eve",)), lambda service: []),
    ],
    ids=["everything", "user", "users", "group", "pair", "overlapping", "nothing"],
)
async def test_an_export_has_the_messages_that_its_sources_show(
    plan: Plan, wanted: Callable[[Served], Any], tmp_path: Path
) -> None:
    async with served(75) as service:
        report = await export(service.session, tmp_path / "out", plan)
        assert report.complete
        assert_complete(tmp_path / "out", service.expected(wanted(service)))
        again = await export(service.session, tmp_path / "out")
        assert again.complete
        assert again.written == 0
        assert_complete(tmp_path / "out", service.expected(wanted(service)))


async def test_an_app_without_a_message(tmp_path: Path) -> None:
    async with served(0) as service:
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.until is None
        assert_complete(tmp_path / "out", [])
        service.store.add_records(records(60))
        assert (await service.export_complete(tmp_path / "out")).written == 60


async def test_progress_and_report_add_up(tmp_path: Path) -> None:
    clock = count(1_700_000_000)
    async with served(75, session={"clock": lambda: next(clock)}) as service:
        progress = Progress()
        report = await export(service.session, tmp_path / "out", Plan(**MIXED), progress=progress)
        assert progress.phase is Phase.DONE
        assert progress.written == report.written == 75
        assert progress.covered == progress.ids == 75 * report.sources
        assert report.requests == len(service.emulator.requests)
        assert report.finished > report.started > 1_700_000_000
        assert part_of(tmp_path / "out", "user-ann")


@pytest.mark.parametrize("status", [403, 400])
async def test_a_service_without_the_apps_own_list_has_an_open_end(status: int, tmp_path: Path) -> None:
    async with served(100) as service:
        service.emulator.weather.add(Status(status, route="messages.list"))
        report = await service.export_complete(tmp_path / "out", Plan(**MIXED))
        assert report.until is None
        service.store.add_records(records(30, first=1000))
        await service.export_complete(tmp_path / "out")
        service.emulator.weather.clear()
        assert (await export(service.session, tmp_path / "out")).until == 1029
        assert_complete(tmp_path / "out", service.expected())


async def test_lists_with_later_messages_than_the_app_list_are_read_to_their_end(tmp_path: Path) -> None:
    """Their ends up to the app's newest message, which is too low, count no more."""
    async with served(fill_in=lambda store: fill_plain(store, 120)) as service:
        expected = service.expected()
        hide(service.store, range(91, 121), "*")
        report = await export(service.session, tmp_path / "out", Plan(users=["ann", "bob"]))
        assert (report.complete, report.until) == (True, None)
        assert_complete(tmp_path / "out", expected)


async def test_idle_workers_share_a_large_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app's own list, whose positions are times, is never cut."""
    monkeypatch.setattr(list_reader, "MIN_PAGES", 1)
    async with served(600, fill_in=lambda store: fill_plain(store, 600)) as service:
        report = await export(service.session, tmp_path / "out", Plan(users=("ann", "bob")))
        assert report.complete
        assert_complete(tmp_path / "out", service.expected())
        # A whole walk has 24 pages and an end; who begins in its midst asks with an id that nobody gave.
        places = [query_of(each.query).get("id") for each in service.emulator.requests]
        assert any(place and int(place) % 25 for place in places)
        service.store.add_records([to_user("ann", "bob", 700)])
        assert (await service.export_complete(tmp_path / "out")).written == 1


async def test_odd_records_are_stored_byte_for_byte(tmp_path: Path) -> None:
    odd = [
        b'{"id":"5","sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000}',
        b'{ "id" : 6 , "sender":"ann","receiver":"bob","receiverType":"user"}',
        b'{"id":"seven","sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000}',
        b'{"sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000,"n":1}',
        b'{"sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000,"n":2}',
        b'{"id":null,"sender":"bob","receiver":"ann","receiverType":"user","sentAt":"soon"}',
        b'{"id":"12","sender":"ann","receiver":"ann","receiverType":"user","sentAt":1.5e9}',
        b'{"id":"13","sender":"ann","receiver":"bob","receiverType":"user","sentAt":-7}',
        b'{"id":"14","sender":"ann","receiver":"bob","receiverType":"user","sentAt":"99999999999999999999"}',
        b'{"id":"15","sender":"ann","receiver":"bob","receiverType":"user","sentAt":1600000000123}',
        b'{"id":"16","sender":"ann","receiver":["bob"],"receiverType":"user"}',
        b'{"id":"17","sender":"ann","receiver":"bob","receiverType":"robot","category":"?"}',
        b'{"id":"18","sender":"ann","receiver":"bob","receiverType":"user","n":123456789012345678901234567890}',
        b'{"id":"19","sender":"ann","receiver":"bob","receiverType":"user","a":"\\u2028\xe2\x80\xa8\xc2\x85"}',
        b'{\n "id": "20",\r\n "sender": "ann", "receiver": "bob", "receiverType": "user"\r}',
        b'{"id":"21","id":"22","sender":"ann","receiver":"bob","receiverType":"user"}',
    ]

    def fill_in(store: Store) -> None:
        for uid in ("ann", "bob"):
            store.add_user(uid)
        store.add_records(odd)

    for number, partition in enumerate(("source", "month")):
        out = tmp_path / str(number)
        async with served(fill_in=fill_in) as service:
            await service.export_complete(out, Plan(all_users=True, partition=partition))
            assert (await service.export_complete(out)).written == 0


@pytest.mark.parametrize("route", ["users.list", "messages.list_group"])
async def test_messages_that_arrive_during_a_run_come_with_the_next(route: str, tmp_path: Path) -> None:
    async with served(100) as service:
        before = service.expected()
        talk = [("ann", "bob"), ("bob", "ann"), ("dan", "eve")]
        added: list[str] = []

        def arrive() -> None:
            for sender, receiver in talk:
                added.append(service.store.add_message(sender, receiver, "late")["id"])
            service.store.add_message("cat", "den", "late", receiver_type="group")

        service.emulator.weather.add(Meanwhile(arrive, route=route))
        report = await export(service.session, tmp_path / "out", Plan(**MIXED))
        assert added
        assert report.complete
        assert report.until == 100
        assert_complete(tmp_path / "out", before)
        service.emulator.weather.clear()
        report = await service.export_complete(tmp_path / "out")


async def test_a_user_that_is_removed_while_users_are_listed_hides_no_other_one(tmp_path: Path) -> None:
    """By page numbers the first user of the next page takes the last place of this one."""

    def fill_in(store: Store) -> None:
        for number in range(30):
            store.add_user(f"user-{number:02}")
        store.add_records(to_user(f"user-{number:02}", "nobody", number + 1) for number in range(30))

    async with served(fill_in=fill_in) as service:
        removal = Meanwhile(lambda: forget_user(service.store, "user-03"), route="users.list", when=First(1))
        service.emulator.weather.add(removal)
        report = await export(service.session, tmp_path / "out", Plan(all_users=True))
        held = {json.loads(raw)["sender"] for raw in raws_of(tmp_path / "out")}
    assert report.complete, report
    assert {f"user-{number:02}" for number in range(30) if number != 3} <= held
