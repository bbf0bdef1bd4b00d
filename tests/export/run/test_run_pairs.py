"""Pairs of users on a service that ignores the acting user, and what an export there costs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatrest import AsyncSession
from chatrest.export import Plan, export, verify
from tests.compatible_service import CompatibleService
from tests.export_runs import ids_of, served

START = 1_600_000_000
MINUTE = 60


class Alice:
    """A compatible server for the login of alice, and a session on it; counts the requests of a path."""

    def __init__(self, server: CompatibleService, session: AsyncSession) -> None:
        self.server, self.session = server, session

    def requests(self, *paths: str) -> int:
        """Return the number of requests since the last call, for some paths or for all."""
        asked = [path for path, _ in self.server.requests]
        self.server.requests.clear()
        return len([path for path in asked if not paths or path in paths])


@asynccontextmanager
async def alice(*uids: str) -> AsyncIterator[Alice]:
    server = CompatibleService(("alice", "bob", *uids), reader="alice")
    async with server.session() as session:
        yield Alice(server, session)


def talk(server: CompatibleService, count: int, other: str = "bob", first: int = 0) -> list[str]:
    """Add messages of alice and another one, a minute each; return their ids."""
    ids = []
    for number in range(first, first + count):
        server.now = START + number * MINUTE
        ids.append(str(server.send(*(("alice", other) if number % 2 == 0 else (other, "alice")))["id"]))
    return ids


async def test_a_pair_is_read_where_the_owner_of_the_token_is_the_acting_user(tmp_path: Path) -> None:
    async with alice("aaron") as service:
        known = talk(service.server, 120, "aaron")
        talk(service.server, 40)
        plan = Plan(pairs=[("alice", "aaron")])  # the list of the first one by name, on behalf of the other
        report = await export(service.session, tmp_path / "out", plan)
        assert (report.complete, report.failed, report.warnings) == (True, [], [])
        known += talk(service.server, 30, "aaron", first=300)
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 30)
    assert ids_of(tmp_path / "out") == known
    assert verify(tmp_path / "out").ok


async def test_an_empty_list_of_a_pair_beside_the_other_one_is_not_believed(tmp_path: Path) -> None:
    async with alice() as service:
        talk(service.server, 120)
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", Plan(pairs=[("bob", "alice")]))
            assert (report.complete, report.messages) == (False, 0)
            [failure] = report.failed
            assert "the list of alice on behalf of bob is empty, and that of bob" in failure.error


@pytest.mark.parametrize(("pair", "other"), [(("bob", "carol"), "bob"), (("bob", "carol"), "carol")])
async def test_a_pair_of_others_fails_where_either_list_shows_foreign_messages(
    pair: tuple[str, str], other: str, tmp_path: Path
) -> None:
    """The other one of the two lists is empty: alice has never talked to that user."""
    async with alice("carol") as service:
        talk(service.server, 3, other)
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", Plan(pairs=[pair]))
            assert (report.complete, report.messages) == (False, 0)
            [failure] = report.failed
            assert "ignored the acting user" in failure.error
    assert not verify(tmp_path / "out").ok


async def test_notes_to_oneself_are_not_those_of_a_pair(tmp_path: Path) -> None:
    async with alice() as service:
        service.server.send("alice", "alice")
        talk(service.server, 120)
        report = await export(service.session, tmp_path / "out", Plan(pairs=[("alice", "bob")]))
    assert (report.complete, report.messages, len(report.failed)) == (False, 0, 1)


async def test_a_pair_that_has_not_talked_is_complete(tmp_path: Path) -> None:
    async with alice() as service:
        for _ in range(2):
            report = await export(service.session, tmp_path / "out", Plan(pairs=[("alice", "bob")]))
            assert (report.complete, report.messages) == (True, 0)


# ── requests ──


async def test_a_list_whose_viewer_comes_first_is_read_once(tmp_path: Path) -> None:
    async with alice() as service:
        known = talk(service.server, 600)
        report = await export(service.session, tmp_path / "out", Plan(users=["bob"]), workers=1)
        alone = service.requests("/users/bob/messages")
        report = await export(service.session, tmp_path / "both", Plan(users=["alice", "bob"]), workers=1)
        assert report.complete
        assert service.requests("/users/bob/messages") <= alone
    assert ids_of(tmp_path / "both") == known


async def test_a_window_ends_where_the_list_has_passed_it(tmp_path: Path) -> None:
    async with alice() as service:
        known = talk(service.server, 3000)
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
        known = talk(service.server, 900)
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.sources) == (True, 62)
        assert service.requests() <= 110
        report = await export(service.session, tmp_path / "out")
        assert (report.complete, report.written) == (True, 0)
        assert service.requests() <= 75
    assert ids_of(tmp_path / "out") == known


async def test_the_users_are_listed_once_a_run(tmp_path: Path) -> None:
    async with served(60) as service:
        for _ in range(2):
            service.emulator.requests.clear()
            assert (await export(service.session, tmp_path / "out")).complete
            paths = [request.path for request in service.emulator.requests]
            assert len([path for path in paths if path.endswith("/users")]) == 2  # a page, and its end
