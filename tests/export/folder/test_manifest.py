"""The manifest: what it says of plan and files, and that a change of it is found."""

import json
from pathlib import Path

import msgspec
import pytest

from chatrest.errors import ChatRestError
from chatrest.export import Plan, export
from chatrest.export.folder.journal import NAME as JOURNAL, Journal
from chatrest.export.folder.manifest import NAME, read
from tests.support.cases import loop_over
from tests.support.export_runs import GROUPS, manifest_of, served

pytestmark = pytest.mark.usefixtures("small_pages", "tidy")


async def test_a_manifest_describes_the_plan_and_the_files(tmp_path: Path) -> None:
    plan = Plan(all_users=True, groups=GROUPS, compress="gzip")
    async with served(150, loose=False) as service:
        report = await export(service.session, tmp_path / "out", plan)
    manifest = manifest_of(tmp_path / "out")
    assert Plan.parse(bytes(manifest.plan)) == plan
    assert (manifest.app_id, manifest.complete, manifest.until) == ("emulated", True, "150")
    assert manifest.messages == report.messages == 150
    assert (manifest.started, manifest.finished) == (report.started, report.finished)
    assert b"user ann" not in (tmp_path / "out" / NAME).read_bytes(), (
        "what is known of each source is the journal's"
    )
    for entry in manifest.files:
        assert entry.name.startswith("messages/")
        assert entry.name.endswith(".ndjson.gz")
        assert 0 < int(entry.first_id or 0) <= int(entry.last_id or 0) <= 150
    with Journal(tmp_path / "out" / JOURNAL) as journal:
        assert (journal["generation"], journal.rows_sha256()) == (manifest.generation, manifest.journal_facts)


async def test_any_change_of_a_manifest_is_noticed(tmp_path: Path) -> None:
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


@loop_over(
    ("content", "words"),
    [
        ({"made_by": "another", "version": 2}, "is not a manifest of an export"),
        ({}, "is not a manifest of an export"),
        ({"made_by": "chatrest export", "version": 2}, "is damaged: its checksum"),
        ([], "is damaged"),
    ],
)
def test_a_file_of_another_program_is_no_manifest(tmp_path: Path, content: object, words: str) -> None:
    (tmp_path / NAME).write_text(json.dumps(content))
    with pytest.raises(ChatRestError, match=words):
        read(tmp_path / NAME)


async def test_ids_are_texts(tmp_path: Path) -> None:
    """A reader whose numbers are doubles does not lose digits."""
    async with served(0) as service:
        service.store.add_records([b'{"id":"123456789012345678","sender":"ann","sentAt":1600000000}'])
        await export(service.session, tmp_path / "out", Plan(everything=True))
    members = msgspec.json.decode((tmp_path / "out" / NAME).read_bytes())
    assert members["until"] == "123456789012345678"
    assert members["files"][0]["last_id"] == "123456789012345678"
