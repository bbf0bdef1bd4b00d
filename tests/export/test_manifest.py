"""The manifest tells what is, and shows that it was not changed since."""

import json
from pathlib import Path

import msgspec
import pytest

from chatrest.errors import ChatRestError
from chatrest.export import Plan, export
from chatrest.export.manifest import NAME, read
from tests.exporting import GROUPS, fast_disk as fast_disk, manifest_of, served, small_pages as small_pages

pytestmark = pytest.mark.usefixtures("small_pages", "fast_disk", "tidy")


async def test_it_tells_of_the_plan_the_sources_and_the_files(tmp_path: Path) -> None:
    plan = Plan(all_users=True, groups=GROUPS, compress="gzip")
    async with served(150, loose=False) as service:
        report = await export(service.session, tmp_path / "out", plan)
        ids = {"den": service.store.ids(group="den"), "eve": service.users_ids("eve")}
    manifest = manifest_of(tmp_path / "out")
    assert Plan.parse(bytes(manifest.plan)) == plan
    assert manifest.fingerprint == plan.fingerprint
    assert (manifest.app_id, manifest.complete, manifest.until) == ("emulated", True, "150")
    assert manifest.messages == report.messages == 150
    assert (manifest.started, manifest.finished) == (report.started, report.finished)
    assert [each.source for each in manifest.sources][:2] == [["group", "den"], ["group", "oak"]]
    assert {each.state for each in manifest.sources} == {"open"}
    assert {each.proven for each in manifest.sources} == {"150"}
    covered = {each.source[-1]: each.covered for each in manifest.sources}
    assert covered["den"] == [("1", str(ids["den"][-1]))], "up to the last message, and not to the end"
    assert covered["eve"] == []
    for part in manifest.files:
        assert part.name.endswith(".ndjson.gz")
        assert 0 < int(part.first_id or 0) <= int(part.last_id or 0) <= 150


async def test_any_change_to_it_is_noticed(tmp_path: Path) -> None:
    async with served(60) as service:
        await export(service.session, tmp_path / "out", Plan(everything=True))
    path = tmp_path / "out" / NAME
    good = path.read_bytes()
    for at in range(0, len(good), 97):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        with pytest.raises(ChatRestError, match="manifest"):
            read(path)
    for wrong in (good[:-1], good + b"\n", b"", b"[]", b"\xff", good[: len(good) // 2]):
        path.write_bytes(wrong)
        with pytest.raises(ChatRestError, match=str(path)):
            read(path)
    path.write_bytes(good)
    assert read(path).complete


async def test_a_manifest_of_somebody_else_is_none(tmp_path: Path) -> None:
    async with served(10, loose=False) as service:
        await export(service.session, tmp_path / "out", Plan(everything=True))
    path = tmp_path / "out" / NAME
    for change in ({"made_by": "another"}, {"version": 3}):
        path.write_bytes(json.dumps(json.loads(path.read_bytes()) | change).encode())
        with pytest.raises(ChatRestError, match=r"not a manifest|is of version 3"):
            read(path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / NAME)


async def test_ids_are_texts(tmp_path: Path) -> None:
    """A reader whose numbers are doubles does not lose digits."""
    async with served(0) as service:
        service.store.add_records([b'{"id":"123456789012345678","sender":"ann","sentAt":1600000000}'])
        await export(service.session, tmp_path / "out", Plan(everything=True))
    found = msgspec.json.decode((tmp_path / "out" / NAME).read_bytes())
    assert found["until"] == "123456789012345678"
    assert found["files"][0]["last_id"] == "123456789012345678"
    assert found["sources"][0]["covered"] == [["1", "123456789012345678"]]
