"""The receiver of the guide that stores events, with events of an emulator."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestServer

from chatrest.emulator import Emulator
from chatrest.webhooks import parse
from tests.pages import blocks


async def test_an_event_that_arrives_twice_is_stored_once_before_it_is_acknowledged(tmp_path: Path) -> None:
    [code] = [code for _, code in blocks("python") if "def store_event" in code]
    names: dict[str, Any] = {}
    exec(code, names)
    path = str(tmp_path / "events.sqlite")
    async with (
        Emulator(users=2, messages=1, groups=0) as emulator,
        TestServer(names["make_app"](path, "hook", "s3cret")) as server,
    ):
        url = str(server.make_url("/webhook"))
        for _ in range(2):
            assert await emulator.post_event(url, username="hook", password="s3cret") == 200
        assert await emulator.post_event(url, username="hook", password="wrong") == 401
    with closing(sqlite3.connect(path)) as database:
        [(raw,)] = database.execute("SELECT raw FROM events")
    assert parse(raw).trigger == "message_sent"
