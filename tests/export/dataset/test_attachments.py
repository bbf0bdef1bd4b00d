"""Attachments of an export: what is fetched and how it is named, failures, bounds, deaths, and the check."""

import gzip
import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chatrest import AsyncSession, ChatRestError
from chatrest.emulator import Emulator
from chatrest.export import AttachmentCounts, AttachmentOptions, Plan, Remedy, Report, export, seal, verify
from chatrest.export.dataset import attachments
from chatrest.export.folder.manifest import NAME as MANIFEST, read
from chatrest.export.run.folder_run import ExportOptions, export_folder
from chatrest.export.store.disk import Disk
from tests.support.cases import loop_over
from tests.support.export_runs import file_problems, put_record
from tests.support.simulated_crashes import ProcessDeath

from .file_server import FileServer, file_server


@pytest.fixture
async def files() -> AsyncIterator[FileServer]:
    async with file_server() as server:
        yield server


@asynccontextmanager
async def two_users() -> AsyncIterator[Emulator]:
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        for uid in ("user-001", "user-002"):
            emulator.store.add_user(uid)
        yield emulator


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with two_users() as emulator:
        yield emulator


def send(emulator: Emulator, *urls: str, **members: Any) -> str:
    """Store a message with attachments at these addresses, and return its id."""
    attachments = [
        {"url": url, "name": f"File {n}", "mimeType": "image/png", "extension": "PNG", "size": 3}
        for n, url in enumerate(urls)
    ]
    data = {"attachments": attachments} | members
    return str(emulator.store.add_message("user-001", "user-002", type="image", data=data)["id"])


async def attach(session: AsyncSession, out: Path, **options: Any) -> Report:
    limits = AttachmentOptions(**options) if options else True
    return await export(session, out, Plan(everything=True), attachments=limits)


def rows(out: Path) -> list[dict[str, Any]]:
    lines = (out / "attachments" / "attachments.ndjson").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def states(out: Path) -> list[tuple[str, int, str]]:
    return [(row["messageId"], row["position"], row["state"]) for row in rows(out)]


def counts(report: Report) -> AttachmentCounts:
    assert report.attachments is not None
    return report.attachments


async def test_files_are_named_by_their_content_and_listed_by_message(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {"/a": b"one", "/b": b"two", "/c": b"one"}
    first, second = send(emulator, files.url("/a"), files.url("/b")), send(emulator, files.url("/c"))
    report = await attach(session, out)
    assert report.complete, report
    digest = hashlib.sha256(b"one").hexdigest()
    name = f"files/{digest[:2]}/{digest}.png"
    assert (out / "attachments" / name).read_bytes() == b"one"
    assert states(out) == [(first, 0, "stored"), (first, 1, "stored"), (second, 0, "stored")]
    [row, _, last] = rows(out)
    assert (row["file"], row["bytes"], row["sha256"], row["name"]) == (name, 3, digest, "File 0")
    assert last["file"] == name
    assert counts(report) == AttachmentCounts(stored=3, fetched=3, bytes=9)
    assert file_problems(out) == []
    sealed = seal(out, out.parent / "bag")
    assert verify(out.parent / "bag", root=sealed.root).ok, "a bag has them, too"
    (out / "attachments" / name).write_bytes(b"two")
    with pytest.raises(ChatRestError, match="its bytes are not those that were written"):
        seal(out, out.parent / "another")


async def test_a_later_run_fetches_new_and_lost_files(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {"/a": b"one", "/b": b"two", "/c": b"three"}
    send(emulator, files.url("/a?signature=1"), files.url("/b"))
    await attach(session, out)
    send(emulator, files.url("/c"))
    report = await export(session, out)
    assert files.paths[2:] == ["/c"]
    assert counts(report) == AttachmentCounts(stored=3, fetched=1, bytes=5)
    [path] = (out / "attachments" / "files").rglob(f"{hashlib.sha256(b'two').hexdigest()}.*")
    path.unlink()
    assert file_problems(out) == [("missing", f"attachments/{path.relative_to(out / 'attachments')}")]
    assert (await export(session, out)).complete
    assert files.paths[3:] == ["/b"]
    assert file_problems(out) == []


def edit(emulator: Emulator, message: str, url: str) -> dict[str, Any]:
    [raw] = emulator.store.records([int(message)])
    edited = json.loads(raw) | {"editedAt": 1_600_000_000, "updatedAt": 2_000_000_000}
    edited["data"]["attachments"] = [{"url": url}]
    put_record(emulator.store, int(message), json.dumps(edited).encode())
    return dict(edited)


@pytest.mark.parametrize("is_shown", [False, True])
async def test_attachments_of_an_edited_message_are_fetched(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path, is_shown: bool
) -> None:
    """A recheck finds the edit; without one, a record of the list says it."""
    files.files = {"/a": b"one", "/b": b"two"}
    message = send(emulator, files.url("/a"))
    await attach(session, out)
    record = edit(emulator, message, files.url("/b"))
    if is_shown:
        on = {"entity": record, "entityType": "message"}
        later = emulator.store.last_sent_at + 1
        emulator.store.add_action("user-001", "edited", on, record, sent_at=later)
    report = await export(session, out, recheck=None if is_shown else 10**9)
    assert report.changed == 1
    assert files.paths == ["/a", "/b"]
    assert [(row["url"], row["state"]) for row in rows(out)] == [(files.url("/b"), "stored")]


async def test_messages_with_text_ids_have_files_too(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {"/a": b"one"}
    message = send(emulator, files.url("/a"))
    [raw] = emulator.store.records([int(message)])
    put_record(emulator.store, int(message), json.dumps(json.loads(raw) | {"id": "c0ffee-1"}).encode())
    await attach(session, out)
    assert states(out) == [("c0ffee-1", 0, "stored")]


async def test_a_deleted_file_is_noted_and_not_requested_again(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {"/a": 404, "/b": 410}
    message = send(emulator, files.url("/a"), files.url("/b"))
    for _ in range(2):
        report = await attach(session, out)
        assert report.complete
        assert counts(report).gone == 2
    assert states(out) == [(message, 0, "gone"), (message, 1, "gone")]
    assert len(files.requests) == 2


async def test_a_failure_is_tried_again_at_once_and_by_the_next_run(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {"/a": 503, "/b": 403, "/c": b"three"}
    send(emulator, files.url("/a"), files.url("/b"), files.url("/c"))
    report = await attach(session, out)
    assert not report.complete
    errors = {"the server answers 403": 1, "the server answers 503": 1}
    assert counts(report).errors == errors
    [reason] = report.reasons
    assert reason == ("2 attachments not fetched: the server answers 403 (1); the server answers 503 (1)")
    assert sorted(files.paths) == ["/a", "/a", "/a", "/b", "/c"]
    assert {row.get("error") for row in rows(out)} == {
        "the server answers 503",
        "the server answers 403",
        None,
    }
    assert read(out / MANIFEST).reasons == report.reasons
    files.files |= {"/a": b"one", "/b": b"two"}
    report = await export(session, out)
    assert report.complete
    assert counts(report).stored == 3


async def test_a_server_that_is_down_gets_few_requests(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    send(emulator, *(files.url(f"/{n}") for n in range(100)))
    files.files = {f"/{n}": 403 for n in range(100)}
    report = await attach(session, out, concurrency=2)
    assert 20 <= counts(report).failed < 30
    assert counts(report).failed + counts(report).pending == 100
    assert report.reasons[1] == f"{counts(report).pending} attachments left to the next run"


async def test_files_that_fail_for_good_keep_no_others_waiting(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachments, "MAX_FAILURES", 2)
    files.files = {"/a": 403, "/b": 403, "/c": 403, "/d": 403, "/e": 403, "/last": b"last"}
    async with file_server() as other:
        other.files = {"/b": b"other"}
        send(emulator, *map(files.url, files.files), other.url("/b"))
        report = await attach(session, out, concurrency=1)
        assert 2 <= counts(report).failed < 5
        assert counts(report).stored == 1, "the other server is asked"
    for _ in range(2):  # a run that gives up early leaves one more for the next
        report = await attach(session, out, concurrency=1)
    assert (counts(report).failed, counts(report).stored, counts(report).pending) == (5, 2, 0)


async def test_a_file_that_is_too_large_waits_for_a_larger_limit(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {"/a": b"x" * 5000}
    send(emulator, files.url("/a"))
    report = await attach(session, out, max_bytes=4999)
    assert report.complete
    assert counts(report).too_large == 1
    assert not (out / "attachments" / "files").exists()
    await attach(session, out, max_bytes=4999)
    assert len(files.requests) == 1
    assert counts(await attach(session, out, max_bytes=5000)).stored == 1


async def test_a_compressed_file_is_stored_unchanged_within_the_bound(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    bomb, packed = gzip.compress(b"x" * 10_000_000), gzip.compress(b"content")
    files.files = {"/a": packed, "/bomb": bomb, "/cut": packed[:-4], "/br": b"?"}
    files.encodings = {"/a": "gzip", "/bomb": "gzip", "/cut": "gzip", "/br": "br"}
    send(emulator, *map(files.url, files.files))
    await attach(session, out, max_bytes=1_000_000)
    assert [row["state"] for row in rows(out)] == ["stored", "too_large", "failed", "failed"]
    assert rows(out)[0]["sha256"] == hashlib.sha256(b"content").hexdigest()
    assert file_problems(out) == []


async def test_redirects_are_followed_within_the_rules(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {"/a": "/b", "/b": b"two", "/loop": "/loop", "/out": "ftp://127.0.0.1/x"}
    files.files["/plain"] = "http://files.example.com/x"
    send(emulator, *(files.url(path) for path in ("/a", "/loop", "/out", "/plain")))
    await attach(session, out)
    assert [(row["state"], row.get("error")) for row in rows(out)] == [
        ("stored", None),
        ("failed", "more than 5 redirects"),
        ("refused", "expected https, and not ftp"),
        ("refused", "expected https, and not http"),
    ]
    files.files["/out"] = b"three"
    await attach(session, out)
    assert [row["state"] for row in rows(out)] == ["stored", "failed", "stored", "refused"]


@loop_over("wrong", [{"max_bytes": 0}, {"concurrency": 1.5}, {"allow_private": 1}])
def test_wrong_limits_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ChatRestError, match=next(iter(wrong))):
        AttachmentOptions(**wrong)


class DyingDisk(Disk):
    """A disk on which the process ends at the sync or rename number `at` of a file of an attachment."""

    def __init__(self, at: int) -> None:
        self.left = at

    def replace(self, old: Path, new: Path) -> None:
        if "attachments" in new.parts:
            self.left -= 1
            if not self.left:
                raise ProcessDeath
        super().replace(old, new)


@pytest.mark.parametrize("at", [1, 4, 6])
async def test_a_death_loses_one_download_at_most(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path, at: int
) -> None:
    files.files = {f"/{n}": b"%d" % n for n in range(5)}
    send(emulator, *map(files.url, files.files))
    options = ExportOptions(attachments=AttachmentOptions(concurrency=1))
    with pytest.raises(ProcessDeath):
        await export_folder(session, out, Plan(everything=True), options, disk=DyingDisk(at))
    assert not [kind for kind, _ in file_problems(out)]
    assert not read(out / MANIFEST).complete
    report = await export(session, out)
    assert report.complete
    assert counts(report).stored == 5
    assert len(files.requests) <= 6
    assert file_problems(out) == []
    assert not [path for path in (out / "attachments").iterdir() if path.name.startswith("partial-")]


async def test_folders_that_lead_elsewhere_are_refused(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {"/a": b"one"}
    send(emulator, files.url("/a"))
    await export(session, out, Plan(everything=True))
    elsewhere = out.with_name("elsewhere")
    elsewhere.mkdir()
    (out / "attachments").symlink_to(elsewhere)
    with pytest.raises(ChatRestError, match="leads out of"):
        await attach(session, out)
    assert not list(elsewhere.iterdir())


async def test_a_link_of_an_unknown_state_is_damage(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {"/1": b"1"}
    send(emulator, *map(files.url, files.files))
    await attach(session, out)
    with closing(sqlite3.connect(out / "attachments" / "journal.sqlite")) as db, db:
        db.execute("PRAGMA ignore_check_constraints=ON")
        db.execute("UPDATE attachments SET state = x'73'")
    with pytest.raises(ChatRestError, match=r"journal\.sqlite is damaged"):
        await export(session, out)


async def test_flipped_bits_of_the_journal_are_reported_or_harmless(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path
) -> None:
    files.files = {f"/{n}": b"%d" % n for n in range(5)}
    send(emulator, *map(files.url, files.files))
    await attach(session, out)
    path, dice = out / "attachments" / "journal.sqlite", Random(7)
    whole = path.read_bytes()
    for _ in range(5):
        damaged = bytearray(whole)
        damaged[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        with suppress(ChatRestError, OSError):
            await export(session, out)
        assert file_problems(out) == []
    path.write_bytes(whole)
    assert (await export(session, out)).complete
    assert file_problems(out) == []


@pytest.mark.parametrize("is_there", [False, True])
async def test_the_advice_for_a_lost_or_damaged_file_works(
    session: AsyncSession, emulator: Emulator, files: FileServer, out: Path, is_there: bool
) -> None:
    files.files = {"/a": b"one"}
    send(emulator, files.url("/a"))
    await attach(session, out)
    [row] = rows(out)
    path = out / "attachments" / row["file"]
    path.write_bytes(b"two") if is_there else path.unlink()
    [problem] = verify(out).problems
    if is_there:
        assert (problem.kind, problem.advice) == ("damaged", Remedy.FETCH)
        path.rename(out.parent / "kept")
    else:
        assert (problem.kind, problem.advice) == ("missing", Remedy.RUN)
    assert (await attach(session, out)).complete
    assert verify(out).ok
    assert path.read_bytes() == b"one"
