"""What an export holds, run after run: each message of the plan once, up to the newest at the beginning."""

import asyncio
import errno
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.core.retry import RetryPolicy
from chatrest.emulator.faults import Change, Outgoing, asked
from chatrest.emulator.service import Request
from chatrest.emulator.store import Store
from chatrest.emulator.weather import First, Status
from chatrest.errors import AuthenticationError, ChatRestError, RequestInvalidError
from chatrest.export import Plan, Progress, backlog, export, jobs, journal
from chatrest.export.disk import Disk
from chatrest.queries import MessageQuery
from tests.exporting import (
    GROUPS,
    START,
    USERS,
    Served,
    assert_holds,
    assert_proven,
    assert_whole,
    fast_disk as fast_disk,
    files_of,
    forget_user,
    hide,
    ids_of,
    manifest_of,
    part_of,
    raws_of,
    records,
    served,
    small_pages as small_pages,
)

pytestmark = pytest.mark.usefixtures("small_pages", "fast_disk", "tidy")

MIXED: dict[str, Any] = {"all_users": True, "groups": GROUPS, "pairs": (("ann", "bob"), ("cat", "dan"))}
ONCE = {"retry": RetryPolicy(attempts=1)}


def to_user(sender: str, receiver: str, number: int, **more: Any) -> bytes:
    made = {"id": str(number), "sender": sender, "receiver": receiver, "receiverType": "user"}
    made["conversationId"] = "_user_".join(sorted((sender, receiver)))
    return json.dumps(made | {"sentAt": START + number} | more).encode()


# ── what it holds ──


@pytest.mark.parametrize("dialect", ["documented", "next", "cursor"])
@pytest.mark.parametrize("page_order", ["ascending", "descending"])
@pytest.mark.parametrize("workers", [1, 32])
async def test_each_message_once_in_every_dialect(
    dialect: Any, page_order: Any, workers: int, tmp_path: Path
) -> None:
    async with served(150, dialect=dialect, page_order=page_order) as service:
        report = await export(service.session, tmp_path / "out", Plan(**MIXED), workers=workers)
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())
    assert report.messages == report.written == 150
    assert report.until == 150
    assert report.sources == len(USERS) + len(GROUPS) + 2
    assert (report.failed, report.gone, report.reasons) == ([], [], [])


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
async def test_a_plan_holds_what_its_sources_show(
    plan: Plan, wanted: Callable[[Served], Any], tmp_path: Path
) -> None:
    async with served(150) as service:
        report = await export(service.session, tmp_path / "out", plan)
        assert report.complete
        assert_whole(tmp_path / "out", service.expected(wanted(service)))
        again = await export(service.session, tmp_path / "out")
        assert again.complete
        assert again.written == 0
        assert_whole(tmp_path / "out", service.expected(wanted(service)))


@pytest.mark.parametrize("partition", ["source", "month"])
@pytest.mark.parametrize("compress", ["none", "gzip", "zstd"])
async def test_files_of_every_shape(partition: Any, compress: Any, tmp_path: Path) -> None:
    async with served(150) as service:
        plan = Plan(**MIXED, partition=partition, compress=compress)
        await export(service.session, tmp_path / "out", plan)
        assert_whole(tmp_path / "out", service.expected())
    ending = {"none": ".ndjson", "gzip": ".ndjson.gz", "zstd": ".ndjson.zst"}[compress]
    names = {path.name.removesuffix(ending) for path in files_of(tmp_path / "out")}
    if partition == "month":
        assert names == {"2020-09", "2020-10", "2020-11", "2020-12", "undated"}
    else:
        assert {"group-den", "pair-ann-bob", "user-ann"} <= names


async def test_a_window_holds_what_was_sent_in_it_both_ends_included(tmp_path: Path) -> None:
    async with served(150) as service:
        times = {number: service.store.sent_at(number) for number in service.store.ids()}
        since, until = sorted(time for time in times.values() if time)[40:90:49]
        inside = [number for number, time in times.items() if time is not None and since <= time <= until]
        plan = Plan(**MIXED, since=since, until=until)
        assert (await export(service.session, tmp_path / "out", plan)).complete
        assert_whole(tmp_path / "out", service.expected(inside))
        assert 40 < len(inside) < 60


async def test_a_service_that_heeds_no_window_is_not_believed(tmp_path: Path) -> None:
    async with served(60, fill_in=lambda store: fill_plain(store, 60)) as service:
        plan = Plan(everything=True, since=START + 10, until=START + 20)
        service.emulator.weather.add(Unfiltered(served_by=service.emulator.store, route="messages.list"))
        assert (await export(service.session, tmp_path / "out", plan)).complete
        assert ids_of(tmp_path / "out") == [str(number) for number in range(10, 21)]


def fill_plain(store: Store, count: int) -> None:
    for uid in ("ann", "bob"):
        store.add_user(uid)
    store.add_records(to_user("ann", "bob", number) for number in range(1, count + 1))


class Unfiltered(Change, frozen=True):
    """A list of all that there is, whatever window was asked for."""

    served_by: Any

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        query = asked(request)
        if query.get("affix") != "append":
            return reply
        span = self.served_by.after("*", int(query.get("id", "0")), int(query["limit"]))
        rows = b",".join(self.served_by.records(span.ids))
        last = span.ids[-1] if span.ids else int(query.get("id", "0"))
        body = b'{"data":[%b],"meta":{"next":{"affix":"append","id":"%d"}}}' % (rows, last)
        return Outgoing(200, body, reply.headers)


async def test_a_filter_goes_with_every_source(tmp_path: Path) -> None:
    async with served(150) as service:
        odd = [n for n in service.store.ids() if b"unheard-of" in service.store.records([n])[0]]
        plan = Plan(**MIXED, query=MessageQuery(category="unheard-of"))
        assert (await export(service.session, tmp_path / "out", plan)).complete
        assert_whole(tmp_path / "out", service.expected(odd))
        assert odd


async def test_an_app_without_a_message(tmp_path: Path) -> None:
    async with served(0) as service:
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.until is None
        assert_whole(tmp_path / "out", [])
        service.store.add_records(records(60))
        assert (await export(service.session, tmp_path / "out")).written == 60
        assert_whole(tmp_path / "out", service.expected())


# ── later runs ──


async def test_a_later_run_reads_what_is_new(tmp_path: Path) -> None:
    async with served(100) as service:
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        for turn in range(1, 4):
            service.store.add_records(records(30, first=1000 * turn, odd=turn == 2))
            service.store.add_message("bob", "ann", "and one more")
            report = await export(service.session, tmp_path / "out")
            assert report.complete
            assert report.written == 31
            assert_whole(tmp_path / "out", service.expected())


async def test_users_that_come_between_runs_bring_their_messages(tmp_path: Path) -> None:
    """Those too that stand in the list of somebody who was there before."""
    async with served(100) as service:
        service.store.add_records([to_user("ann", "zoe", 200), to_user("zoe", "bob", 201)])
        await export(service.session, tmp_path / "out", Plan(**MIXED))
        assert_whole(tmp_path / "out", service.expected())
        for uid in ("aaa", "zoe"):
            service.store.add_user(uid)
        service.store.add_records(
            [to_user("aaa", "zoe", 300), to_user("aaa", "ann", 301), to_user("zoe", "zoe", 302)]
        )
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.written == 3
        assert_whole(tmp_path / "out", service.expected())


async def test_a_user_that_comes_during_the_run_is_walked_too(tmp_path: Path) -> None:
    async with served(fill_in=lambda store: fill_plain(store, 80)) as service:
        service.store.add_records([to_user("zoe", "yan", 100), to_user("ann", "bob", 101)])
        service.emulator.weather.add(
            Meanwhile(lambda: service.store.add_user("zoe"), route="/users/{uid}/messages", when=First(1))
        )
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.sources == 3
        assert_whole(tmp_path / "out", service.expected())


class Meanwhile(Change, frozen=True):
    """The service's own answer; something else happens while it is made."""

    act: Callable[[], object]

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        self.act()
        return reply


@pytest.mark.parametrize("route", ["users.list", "messages.list_user", "messages.list_group"])
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
        assert_whole(tmp_path / "out", before)
        service.emulator.weather.clear()
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())


# ── odd records ──


async def test_odd_records_are_kept_byte_for_byte(tmp_path: Path) -> None:
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

    for count, partition in enumerate(("source", "month")):
        out = tmp_path / str(count)
        async with served(fill_in=fill_in) as service:
            report = await export(service.session, out, Plan(all_users=True, partition=partition))
            assert report.complete, report
            assert_whole(out, service.expected())
            assert (await export(service.session, out)).written == 0
            assert_whole(out, service.expected())


async def test_records_without_a_number_for_an_id_stand_once_though_many_lists_show_them(
    tmp_path: Path,
) -> None:
    def fill_in(store: Store) -> None:
        fill_plain(store, 60)
        store.add_records(to_user("ann", "bob", n, id=f"m{n}") for n in range(70, 76))
        store.add_records(to_user("bob", "ann", n) for n in range(80, 90))

    async with served(fill_in=fill_in) as service:
        plan = Plan(users=("ann", "bob"), pairs=(("ann", "bob"),))
        for added in range(3):
            assert (await export(service.session, tmp_path / "out", plan)).complete
            assert_whole(tmp_path / "out", service.expected())
            begin = 1000 * (added + 1)
            service.store.add_records(
                [
                    to_user("ann", "bob", begin),
                    to_user("ann", "bob", 0, id=f"x{added}"),
                    to_user("bob", "ann", begin + 50),
                ]
            )


async def test_a_list_without_any_number_is_read_whole_and_once(tmp_path: Path) -> None:
    def fill_in(store: Store) -> None:
        fill_plain(store, 10)
        store.add_user("cat")
        store.add_records([to_user("cat", "cat", 0, id="only"), to_user("ann", "bob", 50)])

    async with served(fill_in=fill_in) as service:
        for _ in range(2):
            report = await export(service.session, tmp_path / "out")
            assert report.complete
            assert_whole(tmp_path / "out", service.expected())


# ── sources that fail ──


async def test_unknown_users_and_groups_are_told_of_and_the_rest_goes_on(tmp_path: Path) -> None:
    async with served(100) as service:
        plan = Plan(users=("ann", "nobody"), groups=("den", "nowhere"), pairs=(("bob", "ghost"),))
        report = await export(service.session, tmp_path / "out", plan)
        assert not report.complete
        assert {failure.source for failure in report.failed} == {
            "user nobody", "group nowhere", "pair bob ghost",
        }  # fmt: skip
        manifest = assert_proven(tmp_path / "out")
        assert not manifest.complete
        assert any("user nobody" in reason for reason in manifest.reasons)
        states = {" ".join(entry.source): entry.state for entry in manifest.sources}
        assert states["user nobody"] == "failed"
        assert states["user ann"] == "open"
        assert_holds(
            tmp_path / "out", service.expected({*service.users_ids("ann"), *service.store.ids(group="den")})
        )
        service.store.add_user("nobody")
        service.store.add_user("ghost")
        service.store.add_group("nowhere")
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert assert_proven(tmp_path / "out").complete


@pytest.mark.parametrize("status", [403, 404, 500, 400])
async def test_a_source_that_is_refused_in_its_midst(status: int, tmp_path: Path) -> None:
    async with served(200, session=ONCE) as service:
        service.emulator.weather.add(Status(status, route="/users/dan/messages", when=First(1, after=2)))
        plan = Plan(**MIXED)
        report = await export(service.session, tmp_path / "out", plan)
        assert [failure.source for failure in report.failed] == ["user dan"]
        assert not report.complete
        assert not manifest_of(tmp_path / "out").complete
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())


async def test_what_a_refused_source_owns_comes_from_the_other_side(tmp_path: Path) -> None:
    """A user that is switched off is listed, and refused."""
    async with served(150) as service:
        service.emulator.weather.add(Status(404, route="/users/ann/messages"))
        report = await export(service.session, tmp_path / "out", Plan(all_users=True))
        assert [failure.source for failure in report.failed] == ["user ann"]
        others = service.users_ids("bob", "cat", "dan", "eve")
        assert len(others) > len(service.users_ids("bob", "cat", "dan")) - 1
        assert_holds(tmp_path / "out", service.expected(others))
        service.emulator.weather.clear()
        service.store.add_message("ann", "bob", "back again")
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())


async def test_a_list_that_lacks_what_the_rule_says_is_made_up_for_by_the_other_side(
    tmp_path: Path,
) -> None:
    async with served(150) as service:
        lacking = service.store.ids(conversation="ann_user_bob")[3:9]
        hide(service.store, lacking, "u:ann")
        report = await export(service.session, tmp_path / "out", Plan(all_users=True))
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())
        service.store.add_records(records(40, first=1000))
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())


async def test_lists_that_lack_messages_crosswise(tmp_path: Path) -> None:
    """Each of the three lacks some that the others show; whatever stands in one list is in the export."""
    async with served(150) as service:
        talk = service.store.ids(conversation="ann_user_bob")
        hide(service.store, talk[0::3], "u:ann")
        hide(service.store, talk[1::3], "u:bob")
        hide(service.store, talk[2::3], "c:ann_user_bob")
        plan = Plan(all_users=True, pairs=(("ann", "bob"),))
        report = await export(service.session, tmp_path / "out", plan)
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())
        assert (await export(service.session, tmp_path / "out")).written == 0
        assert_whole(tmp_path / "out", service.expected())


async def test_a_list_that_shows_again_what_it_lacked_repeats_nothing(tmp_path: Path) -> None:
    async with served(150) as service:
        service.emulator.weather.add(Status(403, route="/users/bob/messages"))
        talk = service.store.ids(conversation="ann_user_bob")
        hide(service.store, talk[:5], "u:ann")
        report = await export(service.session, tmp_path / "out", Plan(all_users=True))
        assert not report.complete
        service.emulator.weather.clear()
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())


# ── users that go ──


async def test_the_messages_of_a_user_that_is_gone_are_kept(tmp_path: Path) -> None:
    async with served(100) as service:
        await export(service.session, tmp_path / "out")
        forget_user(service.store, "bob")
        service.store.add_message("bob", "ann", "late")
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.gone == ["user bob"]
        assert_whole(tmp_path / "out", service.expected())


async def test_a_user_that_goes_and_comes_back_repeats_nothing(tmp_path: Path) -> None:
    """While it was away, others wrote what is its own."""
    async with served(100) as service:
        await export(service.session, tmp_path / "out")
        forget_user(service.store, "ann")
        service.store.add_message("ann", "bob", "while away")
        await export(service.session, tmp_path / "out")
        service.store.add_message("ann", "bob", "still away")
        await export(service.session, tmp_path / "out")
        service.store.add_user("ann")
        service.store.add_message("ann", "bob", "back again")
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())


# ── services of other kinds ──


@pytest.mark.parametrize("status", [404, 403, 400])
async def test_a_service_without_the_apps_own_list_has_an_open_end(status: int, tmp_path: Path) -> None:
    async with served(100) as service:
        service.emulator.weather.add(Status(status, route="messages.list"))
        report = await export(service.session, tmp_path / "out", Plan(**MIXED))
        assert report.complete
        assert report.until is None
        assert_whole(tmp_path / "out", service.expected())
        service.store.add_records(records(30, first=1000))
        assert (await export(service.session, tmp_path / "out")).complete
        assert_whole(tmp_path / "out", service.expected())
        service.emulator.weather.clear()
        assert (await export(service.session, tmp_path / "out")).until == 1029
        assert_whole(tmp_path / "out", service.expected())


@pytest.fixture
def eager_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "WORTH", 1)


@pytest.mark.usefixtures("eager_splits")
@pytest.mark.parametrize("everything", [True, False])
async def test_idle_workers_share_a_large_source(everything: bool, tmp_path: Path) -> None:
    async with served(600, fill_in=lambda store: fill_plain(store, 600)) as service:
        plan = Plan(everything=True) if everything else Plan(users=("ann", "bob"))
        report = await export(service.session, tmp_path / "out", plan)
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())
        # A whole walk has 24 pages and an end; who begins in its midst asks with an id that nobody gave.
        places = [asked(Request("GET", "", each.query, {})).get("id") for each in service.emulator.requests]
        assert any(place and int(place) % 25 for place in places)
        service.store.add_records([to_user("ann", "bob", 700)])
        assert (await export(service.session, tmp_path / "out")).written == 1
        assert_whole(tmp_path / "out", service.expected())


class OnlyItsOwnPlaces(Change, frozen=True):
    """A service that takes only ids of the list as places in it; 400 for any other."""

    store: Any
    list: str

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        place = asked(request).get("id")
        if place is None:
            return reply
        sql = "SELECT 1 FROM places WHERE list = ? AND id = ?"
        if self.store._db.execute(sql, (self.list, int(place))).fetchone():
            return reply
        body = b'{"error":{"code":"ERR_BAD_ID","message":"no such place"}}'
        return Outgoing(400, body, reply.headers)


@pytest.mark.usefixtures("eager_splits")
async def test_a_service_that_is_not_entered_in_its_midst_is_walked_from_the_beginning(
    tmp_path: Path,
) -> None:
    def fill_in(store: Store) -> None:
        for uid in ("ann", "bob"):
            store.add_user(uid)
        store.add_records(to_user("ann", "bob", number * 10) for number in range(1, 401))

    async with served(fill_in=fill_in) as service:
        weather = OnlyItsOwnPlaces(service.store, "u:ann", route="/users/ann/messages")
        service.emulator.weather.add(weather)
        report = await export(service.session, tmp_path / "out", Plan(users=("ann",)))
        assert report.complete, report
        assert_whole(tmp_path / "out", service.expected())
        assert any(each.status == 400 for each in service.emulator.requests)


async def test_a_list_that_was_empty_is_walked_on_where_only_its_own_ids_are_places(tmp_path: Path) -> None:
    """The newest id of the app is no place in a list that has never held it."""
    async with served(60) as service:
        for uid in USERS:
            weather = OnlyItsOwnPlaces(service.store, f"u:{uid}", route=f"/users/{uid}/messages")
            service.emulator.weather.add(weather)
        assert (await export(service.session, tmp_path / "out")).complete
        service.store.add_message("ann", "eve", "for the first time")
        service.store.add_message("ann", "bob", "and more")
        report = await export(service.session, tmp_path / "out")
        assert report.complete, report
        assert_whole(tmp_path / "out", service.expected())


# ── ends before the end ──


async def test_a_key_that_is_revoked_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(300) as service:
        weather = Status(401, route="messages.list_user", when=First(1000, after=6))
        service.emulator.weather.add(weather)
        with pytest.raises(AuthenticationError):
            await export(service.session, tmp_path / "out", Plan(**MIXED), workers=2)
        manifest = manifest_of(tmp_path / "out")
        assert not manifest.complete
        assert manifest.reasons
        kept = raws_of(tmp_path / "out")
        assert kept
        assert set(kept) <= set(service.expected())
        assert len(kept) == len(set(kept))
        service.emulator.weather.clear()
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.written == 300 - len(kept)
        assert_whole(tmp_path / "out", service.expected())


@pytest.mark.parametrize("after", [1, 3, 6, 10])
async def test_a_cancel_keeps_what_was_fetched(after: int, tmp_path: Path) -> None:
    async with served(300) as service:
        task = asyncio.current_task()
        assert task is not None
        work = asyncio.ensure_future(export(service.session, tmp_path / "out", Plan(**MIXED), workers=3))
        cancel = Meanwhile(work.cancel, route="messages.list_user", when=First(1, after=after))
        service.emulator.weather.add(cancel)
        with pytest.raises(asyncio.CancelledError):
            await work
        kept = raws_of(tmp_path / "out")
        assert len(kept) == len(set(kept))
        assert not manifest_of(tmp_path / "out").complete
        service.emulator.weather.clear()
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.written == 300 - len(kept)
        assert_whole(tmp_path / "out", service.expected())


@pytest.mark.parametrize("turns", range(0, 60, 3))
async def test_a_cancel_at_any_turn_of_the_loop_lets_go_of_the_folder(turns: int, tmp_path: Path) -> None:
    async with served(60) as service:
        work = asyncio.ensure_future(export(service.session, tmp_path / "out", Plan(**MIXED)))
        for _ in range(turns):
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        report = await export(service.session, tmp_path / "out", Plan(**MIXED))
        assert report.complete
        assert_whole(tmp_path / "out", service.expected())


class FullDisk(Disk):
    """Full after so many writes; what still fits of the one that fails is written."""

    def __init__(self, writes: int) -> None:
        self.writes = writes

    def write(self, file: int, at: int, data: bytes) -> int:
        self.writes -= 1
        if self.writes == -1:
            return super().write(file, at, data[: len(data) // 2])
        if self.writes < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(file, at, data)


@pytest.mark.parametrize("writes", [0, 1, 4, 9])
@pytest.mark.parametrize("compress", ["none", "gzip"])
async def test_a_full_disk(
    writes: int, compress: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "MOST", 2)
    async with served(150) as service:
        plan = Plan(**MIXED, compress=compress)
        with pytest.raises(OSError, match="No space left") as caught:
            await export(service.session, tmp_path / "out", plan, disk=FullDisk(writes))
        assert Path(caught.value.filename).parent == tmp_path / "out"
        assert not manifest_of(tmp_path / "out").complete
        kept = raws_of(tmp_path / "out")  # nothing is torn: all of it can be read
        assert len(kept) == len(set(kept))
        assert set(kept) <= set(service.expected())
        report = await export(service.session, tmp_path / "out")
        assert report.complete
        assert report.written == 150 - len(kept)
        assert_whole(tmp_path / "out", service.expected())


class FullJournal:
    """A connection whose every statement of one kind finds no room."""

    def __init__(self, db: sqlite3.Connection, statement: str) -> None:
        self._db, self._statement = db, statement

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> Any:
        self._check(sql)
        return self._db.execute(sql, *values)

    def executemany(self, sql: str, *values: Any) -> Any:
        self._check(sql)
        return self._db.executemany(sql, *values)

    def _check(self, sql: str) -> None:
        if sql.startswith(self._statement):
            raise sqlite3.OperationalError("database or disk is full")


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO frames",
        pytest.param("COMMIT"),
        pytest.param("INSERT OR IGNORE INTO sources"),
        pytest.param("UPDATE sources"),
    ],
)
async def test_no_room_for_the_journal_is_an_oserror_too(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {name: getattr(sqlite3, name) for name in dir(sqlite3) if not name.startswith("_")}

    def connect(*asked: Any, **named: Any) -> Any:
        return FullJournal(sqlite3.connect(*asked, **named), statement)

    async with served(60) as service:
        with monkeypatch.context() as patched:
            patched.setattr(journal, "sqlite3", SimpleNamespace(**own | {"connect": connect}))
            with pytest.raises(OSError, match="full"):
                await export(service.session, tmp_path / "out", Plan(**MIXED))
        assert (await export(service.session, tmp_path / "out", Plan(**MIXED))).complete
        assert_whole(tmp_path / "out", service.expected())


# ── folders ──


async def test_two_exports_into_one_folder(tmp_path: Path) -> None:
    async with served(100) as service:
        refused: list[BaseException] = []

        async def second() -> None:
            try:
                await export(service.session, tmp_path / "out", Plan(**MIXED))
            except RequestInvalidError as error:
                refused.append(error)

        others: list[asyncio.Task[None]] = []
        begin = Meanwhile(
            lambda: others.append(asyncio.ensure_future(second())), route="messages.list_group", when=First(1)
        )
        service.emulator.weather.add(begin)
        report = await export(service.session, tmp_path / "out", Plan(**MIXED), workers=1)
        await asyncio.gather(*others)
        assert report.complete
        assert "another export is writing here" in str(refused[0])
        assert_whole(tmp_path / "out", service.expected())


async def test_a_folder_that_holds_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    async with served(10) as service:
        with pytest.raises(RequestInvalidError, match="something else than an export"):
            await export(service.session, tmp_path / "out")
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]
        with pytest.raises(RequestInvalidError, match="no folder"):
            await export(service.session, tmp_path / "out" / "thesis.txt")
        (tmp_path / "db").mkdir()
        with sqlite3.connect(tmp_path / "db" / journal.NAME) as db:
            db.execute("CREATE TABLE mine(a)")
        db.close()
        with pytest.raises(RequestInvalidError, match="not an export's journal"):
            await export(service.session, tmp_path / "db")
        (tmp_path / "garbage").mkdir()
        (tmp_path / "garbage" / journal.NAME).write_bytes(b"no database" * 500)
        with pytest.raises(RequestInvalidError):
            await export(service.session, tmp_path / "garbage")
        assert service.emulator.requests == type(service.emulator.requests)(maxlen=0)


async def test_another_plan_or_app_is_refused_and_told(tmp_path: Path) -> None:
    async with served(30) as service, served(30, app_id="other-app") as other:
        plan = Plan(users=("ann", "bob"), since=5)
        await export(service.session, tmp_path / "out", plan)
        with pytest.raises(RequestInvalidError) as refused:
            await export(service.session, tmp_path / "out", Plan(users=("ann",), since=6))
        assert "users is ('ann', 'bob'), and not ('ann',)" in str(refused.value)
        assert "since is 5, and not 6" in str(refused.value)
        assert "partition" not in str(refused.value)
        with pytest.raises(RequestInvalidError, match=r"'emulated'.*'other-app'"):
            await export(other.session, tmp_path / "out")
        assert (await export(service.session, tmp_path / "out")).complete


@pytest.mark.parametrize(
    ("name", "value"),
    [("workers", 0), ("workers", 1.5), ("recheck", 0), ("recheck", True), ("plan", {"users": ["ann"]})],
)
async def test_wrong_arguments(name: str, value: Any, tmp_path: Path) -> None:
    async with served(0) as service:
        with pytest.raises(RequestInvalidError, match=name):
            await export(service.session, tmp_path / "out", **{name: value})
    assert not (tmp_path / "out").exists()


async def test_progress_and_report_add_up(tmp_path: Path) -> None:
    async with served(150) as service:
        progress = Progress()
        now = iter(range(1_700_000_000, 1_800_000_000, 10))
        report = await export(
            service.session, tmp_path / "out", Plan(**MIXED), progress=progress, now=lambda: next(now)
        )
        assert progress.phase == "done"
        assert progress.written == report.written == 150
        assert progress.covered == progress.ids == 150 * report.sources
        assert progress.active == {}
        assert report.requests == len(service.emulator.requests)
        assert report.finished > report.started == 1_700_000_000
        assert part_of(tmp_path / "out", "user-ann")


async def test_a_session_that_is_not_open(tmp_path: Path) -> None:
    async with served(10) as service:
        with pytest.raises(ChatRestError):
            await export(AsyncSession(service.emulator.app), tmp_path / "out")
        assert list((tmp_path / "out").iterdir()) == []  # nothing half-done stays behind
        assert (await export(service.session, tmp_path / "out")).complete
