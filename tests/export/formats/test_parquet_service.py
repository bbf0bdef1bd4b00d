"""The Parquet sink in an export, with a service; and what it says where pyarrow is not there."""

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.emulator.weather.list_habits import OddRecords
from chatrest.export import Plan, export
from chatrest.export.formats.parquet_rows import raws_of
from chatrest.export.manifest import read
from tests.sinks import Failing, files, history, ids
from tests.tables import table

pytestmark = pytest.mark.usefixtures("fast_ramp")


@pytest.mark.usefixtures("tidy")
class TestExport:
    PLAN = Plan(format="parquet")

    async def test_every_message_once_and_to_the_byte(self, tmp_path: Path) -> None:
        async with Emulator(users=8, messages=600) as emulator, AsyncSession(emulator.app) as session:
            report = await export(session, tmp_path / "parquet", self.PLAN)
            await export(session, tmp_path / "ndjson")
        assert report.complete
        assert (report.messages, report.written) == (600, 600)
        lines = [
            line
            for path in (tmp_path / "ndjson" / "messages").rglob("*.ndjson")
            for line in path.read_bytes().splitlines()
        ]
        assert sorted(raws_of(table(tmp_path / "parquet"))) == sorted(lines)
        assert ids(tmp_path / "parquet") == list(range(1, 601))

    async def test_the_manifest_has_the_parts_and_their_hashes(self, tmp_path: Path) -> None:
        async with Emulator(users=4, messages=100) as emulator, AsyncSession(emulator.app) as session:
            await export(session, tmp_path, self.PLAN)
        manifest = read(tmp_path / "manifest.json")
        assert manifest.complete
        for part in manifest.files:
            data = (tmp_path / part.name).read_bytes()
            assert (part.bytes, part.sha256) == (len(data), hashlib.sha256(data).hexdigest())
            assert part.role == "part"
        assert sum(file.messages for file in manifest.files) == 100

    @pytest.mark.parametrize("partition", ["month", "source"])
    async def test_a_lost_part_is_read_again(self, tmp_path: Path, partition: Any) -> None:
        plan = Plan(format="parquet", partition=partition)
        async with Emulator(users=6, messages=400) as emulator, AsyncSession(emulator.app) as session:
            await export(session, tmp_path, plan)
            lost = min(name for name in files(tmp_path) if name.endswith(".parquet"))
            (tmp_path / lost).unlink()
            report = await export(session, tmp_path, plan)
        assert report.complete
        assert ids(tmp_path) == list(range(1, 401))

    async def test_what_comes_later_comes_with_the_next_run(self, tmp_path: Path) -> None:
        async with Emulator(users=4, messages=100) as emulator, AsyncSession(emulator.app) as session:
            await export(session, tmp_path, self.PLAN)
            for number in range(10):
                emulator.store.add_message("user-01", "user-02", f"later {number}")
            report = await export(session, tmp_path)
        assert report.written == 10
        assert ids(tmp_path) == list(range(1, 111))
        assert "spool" not in {path.split("/")[0] for path in files(tmp_path)}

    async def test_a_recheck_puts_what_has_changed_into_place(self, tmp_path: Path) -> None:
        async with Emulator(users=4, messages=100) as emulator, AsyncSession(emulator.app) as session:
            await export(session, tmp_path, self.PLAN)
            emulator.weather.add(OddRecords("unknown-category"))
            report = await export(session, tmp_path, recheck=10**9)
        assert report.complete
        assert report.changed == 100
        assert set(table(tmp_path)["category"].to_pylist()) == {"unheard-of"}
        assert ids(tmp_path) == list(range(1, 101))
        assert len(history(tmp_path)) == 100

    async def test_a_disk_that_fails_at_any_call_costs_nothing(self, tmp_path: Path) -> None:
        async with Emulator(users=3, messages=60) as emulator, AsyncSession(emulator.app) as session:
            for calls in range(0, 60, 4):
                folder, disk = tmp_path / str(calls), Failing(calls, lambda: OSError(5, "I/O error"))
                try:
                    await export(session, folder, self.PLAN, disk=disk)
                except OSError:
                    assert disk.failed
                    await export(session, folder, self.PLAN)
                assert ids(folder) == list(range(1, 61))


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
sys.modules["pyarrow"] = None
from chatrest.export.archive import Archive
from chatrest.export import Plan
try:
    Archive(Path(sys.argv[1]), Plan(format="parquet"), app_id="app")
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "out"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (
        "RequestInvalidError format = 'parquet' needs the extra 'parquet': "
        "pip install 'chatrest-client[parquet]'"
    )


def test_pyarrow_is_not_imported_for_nothing() -> None:
    program = (
        "import sys, chatrest.export.run, chatrest.export.formats.parquet; print('pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
