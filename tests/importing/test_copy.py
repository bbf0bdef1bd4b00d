"""The copy of an app by the two commands of the guide: `cat` of an export, and an import of its files."""

import json
from pathlib import Path
from typing import Any

from chatrest import AsyncSession
from chatrest.database.finding import MessageFilter, find_raw
from chatrest.emulator import Emulator
from chatrest.export import Plan, export
from chatrest.importing import check, run
from tests.importing.conftest import Write
from tests.scripted_server import no_wait


async def people(session: AsyncSession) -> list[Any]:
    """Return the users, groups and members of an app, as far as a copy has them."""
    groups = [each async for each in session.groups.list()]
    return [
        [(each.uid, each.name, each.role) async for each in session.users.list()],
        [(each.guid, each.name, each.type, each.owner, each.created_at) for each in groups],
        [
            sorted(
                [(each.uid, each.scope, each.joined_at) async for each in session.members.list(group.guid)]
            )
            for group in groups
        ],
    ]


def messages(emulator: Emulator) -> list[tuple[Any, ...]]:
    """Return the messages that an import takes, in the order of their ids."""
    records = map(json.loads, emulator.store.records(emulator.store.ids()))
    return [
        (each["sender"], each["receiver"], each["sentAt"], each["data"].get("text"), each["muid"])
        for each in records
        if each["category"] in ("message", "custom") and not each.get("deletedAt")
    ]


async def test_a_copy_has_the_users_groups_members_and_messages(
    session: AsyncSession, emulator: Emulator, tmp_path: Path, write: Write
) -> None:
    out = tmp_path / "out"
    async with (
        Emulator(users=6, messages=120, groups=2, seed=3) as source,
        AsyncSession(source.app, sleep=no_wait) as old,
    ):
        for number, role in enumerate(("default", "guide", "x" * 101)):
            source.store.add_user(f"extra-{number}", role=role)
        await export(old, out, Plan(everything=True), tables=["users", "groups", "members"])
        expected, former = await people(old), messages(source)
    records = [raw.decode() for raw in find_raw(out, MessageFilter(by_time=True))]
    tables = [out / kind / f"{kind}.ndjson" for kind in ("users", "groups", "members")]
    files = [*tables, write("messages.ndjson", records)]
    result = await run(session, files)
    assert [(note.key, note.code) for note in result.refused] == [("extra-2", "ERR_ROLE_NOT_FOUND")]
    expected[0] = [each for each in expected[0] if each[0] != "extra-2"]
    assert await people(session) == expected
    assert messages(emulator) == former
    assert result.files[3].imported == len(former)
    assert result.not_carried == check(files).not_carried != ()
    assert await run(session, files) == result
