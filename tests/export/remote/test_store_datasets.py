"""Tables and attachments of an export in a store, continued by another machine."""

from pathlib import Path

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.export import Plan, export, verify
from tests.buckets import ADDRESS, Buckets
from tests.export.dataset.file_server import file_server
from tests.scripted_server import no_wait


async def test_another_machine_goes_on_with_tables_and_attachments(tmp_path: Path, buckets: Buckets) -> None:
    address = ADDRESS
    async with (
        file_server() as files,
        Emulator(users=3, messages=0, groups=0) as emulator,
        AsyncSession(emulator.app, sleep=no_wait) as session,
    ):
        for number, name in enumerate(["/a", "/b", "/a"]):
            files.files[name] = name.encode()
            data = {
                "attachments": [{"url": files.url(name), "name": "f", "mimeType": "image/png", "size": 2}]
            }
            emulator.store.add_message("user-001", "user-002", type="image", data=data)
            root = tmp_path / f"machine-{number}"
            report = await export(
                session, address, Plan(everything=True), journal=root, tables=["users"], attachments=True
            )
            assert report.complete
            result = verify(address)
            assert (result.ok, result.messages, result.notes) == (True, 1 + number, [])
    assert [len(buckets.names(folder=folder)) for folder in ("users", "attachments")] == [
        1,
        6,
    ]  # two avatars, too
    assert files.paths == ["/a", "/b"]  # the third machine has it from the store
