"""Later runs: what came, and who came or went, between two of them and during one."""

import json
from pathlib import Path

import pytest

from chatrest.emulator import First
from chatrest.emulator.store import Store
from chatrest.export import Plan, export
from tests.export_runs import (
    MIXED,
    Meanwhile,
    assert_whole,
    fill_plain,
    forget_user,
    raws_of,
    served,
    to_user,
)

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


# ── later runs ──


async def test_users_that_come_between_runs_bring_their_messages(tmp_path: Path) -> None:
    """Those too that stand in the list of somebody who was there before."""
    async with served(100) as service:
        service.store.add_records([to_user("ann", "zoe", 200), to_user("zoe", "bob", 201)])
        await service.export_whole(tmp_path / "out", Plan(**MIXED))
        for uid in ("aaa", "zoe"):
            service.store.add_user(uid)
        service.store.add_records(
            [to_user("aaa", "zoe", 300), to_user("aaa", "ann", 301), to_user("zoe", "zoe", 302)]
        )
        report = await service.export_whole(tmp_path / "out")
        assert report.written == 3


async def test_a_user_that_comes_during_the_run_is_walked_by_the_next(tmp_path: Path) -> None:
    async with served(fill_in=lambda store: fill_plain(store, 80)) as service:
        service.store.add_records([to_user("zoe", "yan", 100), to_user("ann", "bob", 101)])
        service.emulator.weather.add(
            Meanwhile(lambda: service.store.add_user("zoe"), route="/users/{uid}/messages", when=First(1))
        )
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.sources) == (True, 2)
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.sources) == (True, 3)
        assert_whole(tmp_path / "out", service.expected())


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
        report = await service.export_whole(tmp_path / "out")


# ── users that go ──


async def test_a_user_that_goes_and_comes_back_repeats_nothing(tmp_path: Path) -> None:
    """While it was away, others wrote what is its own."""
    async with served(100) as service:
        await export(service.session, tmp_path / "out")
        forget_user(service.store, "ann")
        service.store.add_message("ann", "bob", "while away")
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.deleted_users) == (True, ["user ann"])
        assert_whole(tmp_path / "out", service.expected())
        service.store.add_message("ann", "bob", "still away")
        await export(service.session, tmp_path / "out")
        service.store.add_user("ann")
        service.store.add_message("ann", "bob", "back again")
        report = await service.export_whole(tmp_path / "out")


async def test_a_user_that_is_removed_while_users_are_listed_hides_no_other_one(tmp_path: Path) -> None:
    """By page numbers the first user of the next page takes the last place of this one."""

    def fill_in(store: Store) -> None:
        for number in range(60):
            store.add_user(f"user-{number:02}")
        store.add_records(to_user(f"user-{number:02}", "nobody", number + 1) for number in range(60))

    async with served(fill_in=fill_in) as service:
        removal = Meanwhile(lambda: forget_user(service.store, "user-03"), route="users.list", when=First(1))
        service.emulator.weather.add(removal)
        report = await export(service.session, tmp_path / "out", Plan(all_users=True))
        held = {json.loads(raw)["sender"] for raw in raws_of(tmp_path / "out")}
    assert report.complete, report
    assert {f"user-{number:02}" for number in range(60) if number != 3} <= held
