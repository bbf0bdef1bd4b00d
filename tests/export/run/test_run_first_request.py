"""A run that ends before its first page leaves its plan and the former contents of the folder."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chatrest import App, AsyncSession
from chatrest.emulator import Status
from chatrest.errors import AuthenticationError, ChatRestError, RequestInvalidError
from chatrest.export import Plan, export
from chatrest.export.folder import export_folder
from chatrest.export.folder.manifest import NAME as MANIFEST
from tests.export_runs import Served, assert_whole, manifest_of, served
from tests.scripted_server import no_wait

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


@asynccontextmanager
async def wrong_key(service: Served) -> AsyncIterator[AsyncSession]:
    app = service.emulator.app
    async with AsyncSession(App(app.app_id, "wrong", base_url=app.base_url), sleep=no_wait) as session:
        yield session


async def refused(service: Served, out: Path, plan: Plan | None = None) -> None:
    """A run with a wrong key."""
    async with wrong_key(service) as session:
        with pytest.raises(AuthenticationError):
            await export(session, out, plan)


# ── a wrong key ──


async def test_a_wrong_key_keeps_the_plan_and_the_right_one_goes_on_with_it(tmp_path: Path) -> None:
    async with served(50) as service:
        await refused(service, tmp_path / "out", Plan(users=("ann",), format="parquet"))
        assert (await export(service.session, tmp_path / "out")).complete
        assert_whole(tmp_path / "out", service.expected(service.users_ids("ann")))


async def test_another_plan_may_be_given_while_nothing_was_asked_for(tmp_path: Path) -> None:
    async with served(50) as service:
        await refused(service, tmp_path / "out", Plan(users=("ann",), format="ndjson"))
        assert (
            await export(service.session, tmp_path / "out", Plan(users=("bob",), format="parquet"))
        ).complete
        assert_whole(tmp_path / "out", service.expected(service.users_ids("bob")))
        assert (await export(service.session, tmp_path / "out")).complete
        assert_whole(tmp_path / "out", service.expected(service.users_ids("bob")))


async def test_no_other_format_once_sources_were_asked_for(tmp_path: Path) -> None:
    async with served(50) as service:
        service.emulator.weather.add(Status(401, route="messages.list_user"))
        with pytest.raises(AuthenticationError):
            await export(service.session, tmp_path / "out", Plan(users=("ann",)))
        service.emulator.weather.clear()
        with pytest.raises(RequestInvalidError, match=r"format=ndjson.*, and this plan has .*format=parquet"):
            await export(service.session, tmp_path / "out", Plan(users=("bob",), format="parquet"))
        assert (await export(service.session, tmp_path / "out")).complete
        assert_whole(tmp_path / "out", service.expected(service.users_ids("ann")))


# ── what is there is left as it is ──


@pytest.mark.parametrize(
    "weather", [Status(401), Status(403, route="users.list"), Status(500)], ids=["key", "users", "down"]
)
async def test_a_finished_export_stays_complete_where_a_later_run_gets_no_page(
    weather: Status, tmp_path: Path
) -> None:
    async with served(50) as service:
        await export(service.session, tmp_path / "out")
        before = (tmp_path / "out" / MANIFEST).read_bytes()
        assert manifest_of(tmp_path / "out").complete
        service.store.add_message("ann", "bob", "new")
        service.emulator.weather.add(weather)
        with pytest.raises(ChatRestError):
            await export(service.session, tmp_path / "out")
        assert (tmp_path / "out" / MANIFEST).read_bytes() == before
        service.emulator.weather.clear()
        assert (await service.export_whole(tmp_path / "out")).written == 1


async def test_a_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir(mode=0o555)
    if os.access(out, os.W_OK):  # root may write everywhere: play somebody else
        own = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != out and own(path, mode))
    async with served(10) as service:
        with pytest.raises(PermissionError) as caught:
            await export(service.session, out)
        assert caught.value.filename == str(out)
        assert list(out.iterdir()) == []
        assert not service.emulator.requests


# ── what is not installed ──


async def test_without_the_extra_for_parquet_no_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(10) as service:
        with monkeypatch.context() as patched:
            patched.setattr(export_folder, "find_spec", lambda name: None)
            with pytest.raises(RequestInvalidError, match=r"the extra 'parquet'"):
                await export(service.session, tmp_path / "out", Plan(format="parquet"))
        assert not (tmp_path / "out").exists()
        assert (await export(service.session, tmp_path / "out", Plan(format="parquet"))).complete
