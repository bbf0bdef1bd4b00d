"""Pairs of users on a service that ignores the acting user, and what an export there costs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.emulator.store import Store
from chatrest.export import Plan, export, read, verify
from tests.exporting import ids_of, served
from tests.faulty import no_wait

START = 1_600_000_000
MINUTE = 60


class Alice:
    """A compatible server, and a session with the login token of alice; counts the requests of a path."""

    def __init__(self, emulator: Emulator, session: AsyncSession) -> None:
        self.emulator, self.session = emulator, session

    @property
    def store(self) -> Store:
        return self.emulator.store

    def requests(self, *paths: str) -> int:
        """Return how many requests have come since the last call, for some paths or for all."""
        asked = [request.path for request in self.emulator.requests]
        self.emulator.requests.clear()
        return len([path for path in asked if not paths or path.removeprefix("/v3") in paths])


@asynccontextmanager
async def alice(*uids: str) -> AsyncIterator[Alice]:
    async with Emulator(users=0, messages=0, groups=0, habits="compatible") as emulator:
        for uid in ("alice", "bob", *uids):
            emulator.store.add_user(uid)
        token = emulator.store.auth_tokens.issue("alice", START)["authToken"]
        headers = {"authtoken": token}
        async with AsyncSession(emulator.app, headers=headers, sleep=no_wait, dice=lambda: 0.5) as session:
            yield Alice(emulator, session)


def talk(store: Store, count: int, other: str = "bob", first: int = 0) -> list[str]:
    """Add messages of alice and another one, a minute each; return their ids."""
    return [
        str(store.add_message(*ends[:: 1 if number % 2 else -1], "hi", sentAt=START + number * MINUTE)["id"])
        for number in range(first, first + count)
        for ends in [("alice", other)]
    ]


@pytest.mark.parametrize("pair", [("alice", "bob"), ("bob", "alice"), ("alice", "aaron")])
async def test_a_pair_is_read_from_the_side_that_the_service_shows(
    pair: tuple[str, str], tmp_path: Path
) -> None:
    other = next(uid for uid in pair if uid != "alice")
    async with alice("aaron", "zoe") as service:
        known = talk(service.store, 120, other)
        talk(service.store, 40, "zoe" if other == "bob" else "bob")
        report = await export(service.session, tmp_path / "out", Plan(pairs=[pair]))
        assert (report.complete, report.failed, report.warnings) == (True, [], [])
        assert ids_of(tmp_path / "out") == known
        service.requests()
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 0)
        assert service.requests("/users/alice/messages", f"/users/{other}/messages") == 1
        known += talk(service.store, 30, other, first=300)
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 30)
    assert ids_of(tmp_path / "out") == known
    assert verify(tmp_path / "out").ok


@pytest.mark.parametrize("pair", [("alice", "bob"), ("bob", "alice")])
async def test_the_side_stays_where_its_list_goes_by_time(pair: tuple[str, str], tmp_path: Path) -> None:
    async with alice() as service:
        known = [*talk(service.store, 40, first=40), *talk(service.store, 40, first=20)]
        report = await export(service.session, tmp_path / "out", Plan(pairs=[pair]))
        assert report.complete
        assert sorted(ids_of(tmp_path / "out")) == sorted(known)


async def test_a_pair_without_the_owner_of_the_token_fails_with_the_reason(tmp_path: Path) -> None:
    async with alice("u005", "u006") as service:
        talk(service.store, 120)
        talk(service.store, 20, "u005")
        for _ in range(2):
            plan = Plan(pairs=[("bob", "u005")], users=["u006"])
            report = await export(service.session, tmp_path / "out", plan)
            assert not report.complete
            [failure] = report.failed
            assert failure.source == "pair bob u005"
            assert "ignored the acting user" in failure.error
            assert list(read(tmp_path / "out")) == []


async def test_notes_to_oneself_are_not_those_of_a_pair(tmp_path: Path) -> None:
    async with alice() as service:
        service.store.add_message("alice", "alice", "a note", sentAt=START)
        known = talk(service.store, 120)
        report = await export(service.session, tmp_path / "out", Plan(pairs=[("alice", "bob")]))
    assert report.complete
    assert ids_of(tmp_path / "out") == known


async def test_a_pair_that_has_not_talked_is_complete(tmp_path: Path) -> None:
    async with alice() as service:
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", Plan(pairs=[("alice", "bob")]))
            assert (report.complete, report.messages) == (True, 0)


# ── requests ──


async def test_a_list_whose_viewer_comes_first_is_read_once(tmp_path: Path) -> None:
    async with alice() as service:
        known = talk(service.store, 600)
        report = await export(service.session, tmp_path / "out", Plan(users=["bob"]), workers=1)
        alone = service.requests("/users/bob/messages")
        report = await export(service.session, tmp_path / "both", Plan(users=["alice", "bob"]), workers=1)
        assert report.complete
        assert service.requests("/users/bob/messages") <= alone
    assert ids_of(tmp_path / "both") == known


async def test_a_window_ends_where_the_list_has_passed_it(tmp_path: Path) -> None:
    async with alice() as service:
        known = talk(service.store, 3000)
        plan = Plan(users=["bob"], until=START + 299 * MINUTE)
        report = await export(service.session, tmp_path / "out", plan, workers=1)
        assert report.complete
        assert service.requests() <= 20
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 0)
        assert service.requests() <= 6
    assert ids_of(tmp_path / "out") == known[:300]


async def test_an_export_of_many_empty_lists_costs_a_request_each(tmp_path: Path) -> None:
    async with alice(*(f"u{number:03}" for number in range(60))) as service:
        known = talk(service.store, 900)
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.sources) == (True, 62)
        assert service.requests() <= 110
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 0)
        assert service.requests() <= 75
    assert ids_of(tmp_path / "out") == known


async def test_an_empty_list_costs_one_request_in_every_run(tmp_path: Path) -> None:
    async with served(60) as service:
        plan = Plan(users=["eve", "ann"])
        for _ in range(3):
            service.emulator.requests.clear()
            assert (await export(service.session, tmp_path / "out", plan)).complete
            service.store.add_message("ann", "bob", "hi")
            paths = [request.path for request in service.emulator.requests]
            assert len([path for path in paths if path.endswith("/users/eve/messages")]) == 1


async def test_the_users_are_listed_once_a_run(tmp_path: Path) -> None:
    async with served(60) as service:
        for _ in range(2):
            service.emulator.requests.clear()
            assert (await export(service.session, tmp_path / "out")).complete
            paths = [request.path for request in service.emulator.requests]
            assert len([path for path in paths if path.endswith("/users")]) == 2  # a page, and its end
