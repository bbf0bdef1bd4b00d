"""Attachments on servers that lie, break off, never end or answer with something else, byte by byte."""

import hashlib
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.export import AttachmentOptions, Plan, Report, export, verify
from tests.support.scripted_server import FaultyServer, Peer, Step, cut, no_wait, reply

from .test_attachments import counts, rows, send, two_users

MAX_BYTES = 1000
NOT_HTTP = "the server's reply is not valid HTTP"
FILE = {"content_type": "image/png"}


def head(*fields: str, status: int = 200) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Said", *fields, "", ""]).encode()


async def endless_body(peer: Peer) -> None:
    await peer.send(head("Connection: close"))
    while True:
        await peer.send(b"x" * 10_000)


async def endless_header(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        await peer.send(b"x" * 10_000)


SERVERS: dict[str, tuple[list[Step], tuple[str, str | None]]] = {
    "less than its length": (
        [cut(head("Content-Length: 100") + b"short")],
        ("failed", "the file was cut off"),
    ),
    "more than its length": ([cut(head("Content-Length: 3") + b"abcdef")], ("failed", NOT_HTTP)),
    "a length beyond the limit": (
        [cut(head(f"Content-Length: {10**15}") + b"x")],
        ("too_large", f"the file is larger than max_bytes = {MAX_BYTES}"),
    ),
    "no end": ([endless_body], ("too_large", f"the file is larger than max_bytes = {MAX_BYTES}")),
    "a header without end": ([endless_header], ("failed", NOT_HTTP)),
    "a part that nobody asked for": (
        [reply(b"half", 206, content_range="bytes 4-7/8", **FILE)],
        ("failed", "the server answers 206"),
    ),
    "a page in the place of a file": (
        [reply("<html>Please log in</html>", content_type="text/html; charset=utf-8")],
        ("failed", "the server answers with an HTML page in the place of the file"),
    ),
    "another file after a break": (
        [
            cut(head("Content-Length: 100", 'ETag: "one"') + b"first"),
            reply(b"second", etag='"two"', **FILE),
        ],
        ("stored", None),
    ),
    "no HTTP": (
        [cut(b"\x00\xff nothing of the kind\r\n\r\n")],
        ("failed", NOT_HTTP),
    ),
    "a chunk that is none": (
        [cut(head("Transfer-Encoding: chunked") + b"zz\r\nabc")],
        ("failed", NOT_HTTP),
    ),
}


async def export_all(emulator: Emulator, out: Path) -> Report:
    limits = AttachmentOptions(max_bytes=MAX_BYTES)
    async with AsyncSession(emulator.app, sleep=no_wait, headers={"X-Deployment": "s3cret"}) as session:
        return await export(session, out, Plan(everything=True), attachments=limits)


async def test_the_fault_of_each_server_is_noted_with_a_reason(out: Path) -> None:
    async with AsyncExitStack() as stack:
        emulator = await stack.enter_async_context(two_users())
        servers = [await stack.enter_async_context(FaultyServer(*steps)) for steps, _ in SERVERS.values()]
        send(emulator, *(f"{server.url}/file" for server in servers))
        report = await export_all(emulator, out)
    results = {name: (row["state"], row.get("error")) for name, row in zip(SERVERS, rows(out), strict=True)}
    assert results == {name: result for name, (_, result) in SERVERS.items()}
    digests = {name: row.get("sha256") for name, row in zip(SERVERS, rows(out), strict=True)}
    assert digests["another file after a break"] == hashlib.sha256(b"second").hexdigest()
    failures = [error for state, error in results.values() if state == "failed"]
    assert counts(report).errors == Counter(failures)
    assert not report.complete
    assert report.reasons[0].startswith(f"7 attachments not fetched: {NOT_HTTP} (4); ")
    assert not list((out / "attachments").glob("partial-*"))


async def test_a_page_is_stored_if_the_link_may_lead_to_one(out: Path) -> None:
    page = reply("<html>minutes</html>", content_type="text/html")
    async with two_users() as emulator, FaultyServer(page) as server:
        attachments = [{"url": f"{server.url}/minutes", "mimeType": "text/html"}]
        emulator.store.add_message("user-001", "user-002", type="file", data={"attachments": attachments})
        assert counts(await export_all(emulator, out)).stored == 1


async def test_a_redirect_to_another_host_takes_nothing_along(out: Path) -> None:
    async with two_users() as emulator, FaultyServer(reply(b"file", **FILE)) as other:
        away = reply(b"", 302, location=f"{other.url}/there", set_cookie="track=1; Path=/")
        async with FaultyServer(away) as server:
            send(emulator, f"{server.url}/here")
            assert counts(await export_all(emulator, out)).stored == 1
            requests = [*server.requests, *other.requests]
    assert [request.target for request in requests] == ["/here", "/there"]
    names = {"Host", "Accept", "Accept-Encoding", "User-Agent"}
    assert all({name for name, _ in request.fields} == names for request in requests)


async def test_names_and_addresses_of_any_shape_stay_in_the_folder(out: Path) -> None:
    names = ["../../etc/passwd", "a\x00b", "n" * 500, "con", ".", "", "ü"]
    paths = ["/..%2f..%2fpasswd", f"/{'p' * 500}.png", "/%00", "/a", "/a", "/b", "/c"]
    async with two_users() as emulator, FaultyServer(reply(b"file", **FILE)) as server:
        attachments: list[dict[str, Any]] = [
            {"url": f"{server.url}{path}", "name": name, "extension": name, "mimeType": "image/png"}
            for path, name in zip(paths, names, strict=True)
        ]
        emulator.store.add_message("user-001", "user-002", type="image", data={"attachments": attachments})
        report = await export_all(emulator, out)
    assert report.complete, report.reasons
    assert counts(report).stored == len(names), "two links to one file are two rows"
    digest = hashlib.sha256(b"file").hexdigest()
    files = {
        path.name.partition(".")[0] for path in (out / "attachments" / "files").rglob("*") if path.is_file()
    }
    assert files == {digest}
    assert all(row["file"].startswith(f"files/{digest[:2]}/{digest}") for row in rows(out))
    assert [row.get("name") for row in rows(out)][:3] == names[:3]
    assert verify(out).problems == []
    assert sorted(path.name for path in out.parent.iterdir()) == [out.name]
