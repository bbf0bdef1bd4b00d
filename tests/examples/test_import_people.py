"""The example of an import, as a program: refused lines are named, and a longer file goes on."""

import asyncio
import os
import sys
from pathlib import Path

from chatrest import AsyncSession
from chatrest.emulator import Emulator


async def test_a_csv_file_is_imported_and_goes_on(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text("uid,name,role\nann,Ann,\nbob,Bob,nobody\n", encoding="utf-8")
    async with Emulator(users=0, messages=0, groups=0) as emulator, AsyncSession(emulator.app) as session:
        status, out = await run_example(emulator, source)
        assert (status, out) == (
            1,
            "people.ndjson:2 (bob): ERR_ROLE_NOT_FOUND: The role nobody does not exist.\n",
        )
        with source.open("a", encoding="utf-8") as file:
            file.write("cat,Cat,\n")
        assert (await run_example(emulator, source))[0] == 1
        assert sorted([each.uid async for each in session.users.list()]) == ["ann", "cat"]


async def run_example(emulator: Emulator, source: Path) -> tuple[int | None, str]:
    environment = os.environ | {
        "CHATREST_APP_ID": emulator.app.app_id,
        "CHATREST_API_KEY": emulator.app.api_key,
        "CHATREST_BASE_URL": emulator.base_url,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chatrest.examples.import_people", str(source), env=environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    return process.returncode, out.decode()
