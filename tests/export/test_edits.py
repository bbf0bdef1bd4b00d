"""An increment that reads an edit or a deletion brings the message that it speaks of up to date at once."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.emulator.weather import Status
from chatrest.export import Plan, changes, edits, export
from chatrest.parameters.messages import MessageChanges
from tests.dying import Fate, dies
from tests.exporting import raws_of

SHAPES = [{"partition": "source"}, {"format": "parquet"}, {"format": "sqlite"}]
FIRST = [1, 2, 3]


class Chat:
    """A service with a conversation of ann and bob."""

    def __init__(self, emulator: Emulator, session: AsyncSession) -> None:
        self.emulator, self.session = emulator, session

    @property
    def store(self) -> Any:
        return self.emulator.store

    def send(self, text: str) -> int:
        return int(self.store.add_message("ann", "user", "bob", text=text)["id"])

    def record(self, number: int) -> dict[str, Any]:
        return dict(json.loads(self.store.message(number)))

    def tell(self, record: dict[str, Any], action: str = "edited", **members: Any) -> None:
        """Let the service tell of a change that it has not made, or of another one."""
        at = self.store.last_sent_at + 1
        self.store.add_message_action("ann", action, record | {"updatedAt": at} | members, sent_at=at)

    def asked(self) -> list[str]:
        return [call.path for call in self.emulator.requests if "/messages/" in call.path]


@pytest.fixture
async def chat() -> AsyncIterator[Chat]:
    async with Emulator(users=["ann", "bob"]) as emulator, AsyncSession(emulator.app) as session:
        chat = Chat(emulator, session)
        for number in FIRST:
            chat.send(f"message {number}")
        yield chat


def texts_of(out: Path) -> dict[str, Any]:
    records = (json.loads(raw) for raw in raws_of(out))
    return {each["id"]: each["data"].get("text") for each in records}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
async def test_an_edit_and_a_deletion_are_on_disk_after_the_next_run(
    shape: dict[str, Any], chat: Chat, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    await export(chat.session, out, Plan(users=["ann"], **shape))
    await chat.session.messages.update("2", MessageChanges(data={"text": "edited"}))
    await chat.session.messages.delete("3")
    report = await export(chat.session, out)
    assert (report.complete, report.written, report.changed) == (True, 2, 2)
    records = {each["id"]: each for each in map(json.loads, raws_of(out))}
    assert records["2"]["data"]["text"] == "edited"
    assert records["3"]["deletedAt"]
    told = {change.id: change for change in changes(out, after=1)}
    assert [told[key].kind for key in ("2", "3", "4", "5")] == ["changed", "changed", "new", "new"]
    assert json.loads(told["2"].raw_before or b"")["data"]["text"] == "message 2"
    again = await export(chat.session, out, recheck=10**9)
    assert (again.changed, again.deleted) == (0, 0), "it is what the lists show, too"


async def test_of_several_edits_the_newest_is_taken(chat: Chat, tmp_path: Path) -> None:
    await export(chat.session, tmp_path, Plan(users=["ann"]))
    for text in ("two", "three", "four"):
        chat.tell(chat.record(2) | {"data": {"text": text}}, editedAt=chat.store.last_sent_at + 1)
    assert (await export(chat.session, tmp_path)).changed == 1
    assert texts_of(tmp_path)["2"] == "four"
