"""Avatars and icons: whose are taken, the newest of each, and that they are attachments like others."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.export import Plan, Report, export, verify
from chatrest.export.dataset.attachment_journal import links_of
from chatrest.export.verify.report import write_report
from tests.cases import loop_over
from tests.scripted_server import no_wait

from .file_server import FileServer, file_server


@pytest.fixture
async def files() -> AsyncIterator[FileServer]:
    async with file_server() as server:
        server.files = {"/ann": b"ann's", "/bob": b"bob's", "/den": b"the den's", "/eve": b"eve's"}
        yield server


@pytest.fixture
async def emulator(files: FileServer) -> AsyncIterator[Emulator]:
    """Of three users eve has written nothing, and of two groups the attic is empty."""
    async with Emulator(users=0, messages=0, groups=0) as emulator:
        for uid in ("ann", "bob", "eve"):
            emulator.store.add_user(uid, avatar=files.url(f"/{uid}"))
        emulator.store.add_user("cid")
        for guid in ("den", "attic"):
            emulator.store.add_group(guid, icon=files.url(f"/{guid}"))
        emulator.store.add_message("ann", "bob", "hello")
        emulator.store.add_message("cid", "den", "hello, too", receiver_type="group")
        yield emulator


async def take(emulator: Emulator, out: Path, **options: Any) -> Report:
    async with AsyncSession(emulator.app, sleep=no_wait) as session:
        return await export(session, out, Plan(everything=True), attachments=True, **options)


def rows(out: Path) -> dict[str, tuple[str, bytes]]:
    """Return of each face its state, and its file."""
    lines = (out / "attachments" / "attachments.ndjson").read_bytes().splitlines()
    return {
        f"{row.get('uid', '')}{row.get('guid', '')}": (
            row["state"],
            (out / "attachments" / row["file"]).read_bytes() if "file" in row else b"",
        )
        for row in map(json.loads, lines)
    }


def change_face(emulator: Emulator, uid: str, url: str) -> None:
    emulator.store.people.users[uid]["avatar"] = url


STORED = {"ann": ("stored", b"ann's"), "bob": ("stored", b"bob's"), "den": ("stored", b"the den's")}


async def test_the_faces_of_who_takes_part_are_taken_and_the_newest_of_each(
    emulator: Emulator, files: FileServer, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    report = await take(emulator, out)
    report.check()
    assert rows(out) == STORED
    assert report.attachments is not None
    assert report.attachments.stored == 3
    assert not verify(out).problems
    asked = len(files.requests)
    files.files["/new"] = b"a new one"
    change_face(emulator, "bob", files.url("/new"))
    (await take(emulator, out)).check()
    assert (len(files.requests), rows(out)) == (asked, STORED), "nobody has written since"
    emulator.store.add_message("bob", "ann", "again")
    await take(emulator, out)
    assert rows(out) == STORED | {"bob": ("stored", b"a new one")}
    assert files.paths[asked:] == ["/new"]


async def test_a_face_is_fetched_by_the_rules_of_attachments(
    emulator: Emulator, files: FileServer, tmp_path: Path
) -> None:
    for uid, path in {"gone": "/gone", "page": "/page", "moved": "/moved"}.items():
        emulator.store.add_user(uid, avatar=files.url(path))
        emulator.store.add_message(uid, "ann", "look")
    for uid, url in {"far": "http://far.example/face.png", "act": "javascript:alert(1)"}.items():
        emulator.store.add_user(uid, avatar=url)
        emulator.store.add_message(uid, "ann", "look")
    files.files |= {"/page": b"<html>", "/moved": files.url("/ann")}
    report = await take(emulator, tmp_path / "out")
    states = {uid: state for uid, (state, _) in rows(tmp_path / "out").items() if uid not in STORED}
    assert states == {"gone": "gone", "page": "failed", "moved": "stored", "far": "refused", "act": "refused"}
    report.check()  # a user cannot keep the export from being complete
    assert "1 face (avatars and icons) not fetched" in report.warnings
    [(_, headers)] = [each for each in files.requests if each[0] == "/gone"]
    assert "apikey" not in {name.lower() for name in headers}
    write_report(tmp_path / "out", tmp_path / "report.html", verify(tmp_path / "out"))
    text = (tmp_path / "report.html").read_text()
    assert '<td>avatar of gone</td><td class="n">0</td><td>gone: ' in text


def message(sent_at: Any, sender: Any, receiver: Any) -> dict[str, Any]:
    entities = {"sender": {"entity": sender}, "receiver": {"entity": receiver}}
    return {"sentAt": sent_at, "data": {"entities": entities}}


@loop_over(
    ("record", "faces"),
    [
        (message(2, {"uid": "a", "avatar": "x"}, {"uid": "b"}), [("a", "x", "user", 2000)]),
        (message(1_700_000_000_000, {"uid": 7, "avatar": "x"}, {"guid": "g", "icon": "i"}),
         [("7", "x", "user", 1_700_000_000_000), ("g", "i", "group", 1_700_000_000_000)]),
        (message(1 << 80, {"uid": "a", "avatar": "x"}, {}), [("a", "x", "user", 1 << 62)]),
        (message(-(1 << 80), {"uid": "a", "avatar": "x"}, None), [("a", "x", "user", 0)]),
        (message("soon", {"uid": 7, "avatar": ["x"]}, {"guid": "", "icon": "x"}), []),
        (message(1, "a", 7), []),
        ({"data": {"entities": []}}, []),
        ({"data": {"entities": {"sender": 7}}}, []),
    ],
)  # fmt: skip
def test_a_record_of_any_shape_names_those_with_a_face(
    record: dict[str, Any], faces: list[tuple[str, str, str, int]]
) -> None:
    assert [(link.owner, link.url, link.kind, link.seen_at) for link in links_of(record)] == faces
