"""Shared by the tests of imports: an empty emulator, a session that never waits, and files of records."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from tests.support.scripted_server import no_wait


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        yield emulator


@pytest.fixture
async def session(emulator: Emulator) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(emulator.app, sleep=no_wait, dice=lambda: 0.5) as session:
        yield session


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes records, or lines of text, to a file."""

    def write(name: str, records: Iterable[Any]) -> Path:
        path = tmp_path / name
        lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write


MEMBER = {"guid": "den", "uid": "u1", "scope": "moderator"}
STORED: dict[str, Any] = {
    "id": 7, "conversationId": "u0_user_u1", "sender": "u0", "receiver": "u1", "receiverType": "user",
    "category": "message", "type": "text", "sentAt": 1000, "updatedAt": 1000, "data": {"text": "hi"},
}  # fmt: skip
"""A message that the service has shown."""


def user(number: int, **members: Any) -> dict[str, Any]:
    return {"uid": f"u{number}", "name": f"User {number}", **members}


def message(number: int, **members: Any) -> dict[str, Any]:
    return {
        "muid": f"m{number}", "sender": "u0", "receiver": "u1", "receiverType": "user", "type": "text",
        "category": "message", "sentAt": 1000 + number, "data": {"text": f"text {number}"},
    } | members  # fmt: skip


def muids(emulator: Emulator) -> list[Any]:
    return [json.loads(record).get("muid") for record in emulator.store.records(emulator.store.ids())]
