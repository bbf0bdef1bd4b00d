"""A file that is not as it was written is told by its name, and a recheck does not make it look sound."""

from pathlib import Path
from typing import Any

import pytest

from chatrest.errors import ChatRestError
from chatrest.export import Plan, export, verify
from tests.export_runs import Served, assert_whole, edit, files_of, served

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")

ALL = 10**9
"""A recheck of everything."""


async def exported(service: Served, out: Path, **shape: Any) -> Path:
    """An export; its first file."""
    await export(service.session, out, Plan(everything=True, **shape), workers=1)
    return files_of(out)[0]


def damage_a_record(path: Path) -> None:
    """Another letter in a record: it can be read as before."""
    data = path.read_bytes()
    assert b'"category"' in data
    path.write_bytes(data.replace(b'"category"', b'"kategory"', 1))


plain = pytest.mark.parametrize(
    "shape", [{"compress": "none"}, {"format": "parquet", "compress": "none"}], ids=["ndjson", "parquet"]
)


@plain
async def test_what_a_recheck_tells_of_damage_mends_it(shape: dict[str, Any], tmp_path: Path) -> None:
    async with served(50, loose=False) as service:
        path = await exported(service, tmp_path / "out", **shape)
        damage_a_record(path)
        damaged = path.read_bytes()
        edit(service.store, 2, "edited")
        with pytest.raises(ChatRestError, match=f"{path.name}.*move"):
            await export(service.session, tmp_path / "out", recheck=ALL)
        assert path.read_bytes() == damaged
        assert not verify(tmp_path / "out").ok
        path.rename(tmp_path / "elsewhere")
        assert (await export(service.session, tmp_path / "out")).complete
        assert_whole(tmp_path / "out", service.expected())
        assert verify(tmp_path / "out").ok


@pytest.mark.parametrize(("compress", "share"), [("gzip", 0.1), ("zstd", 0.5), ("gzip", 0.95)])
async def test_a_frame_that_does_not_unpack_is_told_with_the_files_name(
    compress: Any, share: float, tmp_path: Path
) -> None:
    async with served(50, loose=False) as service:
        path = await exported(service, tmp_path / "out", compress=compress)
        data = bytearray(path.read_bytes())
        data[int(len(data) * share)] ^= 64
        path.write_bytes(data)
        with pytest.raises(ChatRestError, match=path.name):
            await export(service.session, tmp_path / "out", recheck=ALL)
        path.rename(tmp_path / "elsewhere")
        assert (await export(service.session, tmp_path / "out")).complete
        assert_whole(tmp_path / "out", service.expected())
