"""An export that moves between two machines by way of an S3 server."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chatrest import AsyncSession, RequestInvalidError
from chatrest.emulator import Emulator
from chatrest.export import Plan, export, fetch, publish, read, verify


async def test_an_export_goes_on_from_another_machine(
    s3_server: str, bucket: str, s3_environment: Callable[[str], None], tmp_path: Path
) -> None:
    s3_environment(s3_server)
    first, second, address = tmp_path / "first", tmp_path / "second", f"s3://{bucket}/chat"
    sent: list[str] = []
    async with Emulator(users=4, messages=40) as emulator, AsyncSession(emulator.app) as session:
        await export(session, first, Plan(format="parquet", partition="none"), tables=["users"])
        result = await publish(first, address)
        assert (result.version, result.sent) == (1, result.files)
        emulator.store.add_message("user-01", "user-02", "new")
        await export(session, first)
        result = await publish(first, address, progress=lambda file: sent.append(file.name))
        assert "messages/messages.parquet" not in sent
        assert "messages/messages-2.parquet" in sent
        assert (result.version, result.sent) == (2, len(sent))
        await fetch(address, second)
        assert verify(second).ok
        emulator.store.add_message("user-01", "user-02", "newer")
        report = await export(session, second)
        assert (report.complete, report.written) == (True, 1)
        await publish(second, address)
        with pytest.raises(RequestInvalidError, match=rf"is older than the version at {address}: `chatrest"):
            await publish(first, address)
        await fetch(address, first)
    assert len(list(read(first))) == 42
    assert verify(first).ok
