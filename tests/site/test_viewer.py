"""The viewer: the pages of a site from a server, for users with its address, and kept up to date."""

import asyncio
import json
import re
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

import chatrest.site.viewer
from chatrest import RequestInvalidError
from chatrest.export import verify
from tests.support.stored_exports import StoredRuns

from .chats import Page, files, make_export, message, records, without_run_times

pytest.importorskip("jinja2")

from chatrest.site import Viewer, write_site
from chatrest.site.site_files import SiteFiles
from chatrest.site.viewer import view_folder


@pytest.fixture(scope="module")
def export_seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_export(tmp_path_factory.mktemp("view") / "out", records())


@pytest.fixture
async def viewer(export_seen: Path) -> AsyncIterator[Viewer]:
    async with Viewer(export_seen, title="The archive") as viewer:
        yield viewer


@pytest.fixture
async def browser() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def get(browser: aiohttp.ClientSession, viewer: Viewer, path: str = "") -> str:
    async with browser.get(viewer.url + path) as response:
        assert response.status == 200, path
        return await response.text()


async def test_a_connection_that_sends_half_a_request_is_closed(
    export_seen: Path, browser: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chatrest.site.viewer, "_SWEEP_SECONDS", 0.02)
    async with Viewer(export_seen) as viewer:
        await get(browser, viewer)
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(viewer.url).port)
        writer.write(b"GET / HTTP/1.1\r\nHost: ")
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()
        await get(browser, viewer)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 404),
        ("GET", "/index.html", {}, 404),
        ("GET", "/wrong/index.html", {}, 404),
        ("GET", "{token}/", {"Host": "evil.example"}, 403),
        ("GET", "{token}/", {"Host": "127.0.0.1:1"}, 403),
        ("POST", "{token}/", {}, 405),
        ("PUT", "{token}/site.css", {}, 405),
        ("OPTIONS", "{token}/", {"Origin": "https://evil.example"}, 405),
        ("GET", "{token}/../../etc/passwd", {}, 404),
        ("GET", "{token}/%2e%2e/%2e%2e/etc/passwd", {}, 404),
        ("GET", "{token}/files/ab/" + "a" * 64 + ".png", {}, 404),
        ("GET", "{token}/c/x'--/1.html", {}, 404),
        ("GET", "{token}/index-2.html", {}, 404),
        ("GET", "{token}/", {}, 200),
        ("HEAD", "{token}/index.html", {}, 200),
        ("GET", "/favicon.ico", {}, 204),
    ],
)
async def test_only_requests_with_the_full_address_are_answered(
    method: str, path: str, headers: dict[str, str], status: int, viewer: Viewer,
    browser: aiohttp.ClientSession,
) -> None:  # fmt: skip
    origin, token = re.fullmatch(r"(http://127\.0\.0\.1:\d+)(/[\w-]{32})/", viewer.url).groups()  # type: ignore[union-attr]
    async with browser.request(method, origin + path.format(token=token), headers=headers) as response:
        assert response.status == status
        assert "Access-Control-Allow-Origin" not in response.headers
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert status == 200 or "The archive" not in await response.text()


@pytest.mark.parametrize(
    ("request_line", "headers", "status"),
    [
        ("GET http://evil.example{path}", "Host: {host}\r\n", 403),
        ("GET {path}", "Host: {host}\r\nHost: evil.example\r\n", 400),
        ("GET {path}", "", 400),
        ("GET {path}", "Host: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", 200),
        ("CONNECT {host}", "Host: {host}\r\n", 405),
    ],
    ids=["proxy", "two hosts", "no host", "websocket", "connect"],
)
async def test_odd_requests_are_refused_without_a_word_on_the_terminal(
    request_line: str, headers: str, status: int, viewer: Viewer, caplog: pytest.LogCaptureFixture
) -> None:
    _, _, host, token, _ = viewer.url.split("/")
    reader, writer = await asyncio.open_connection(*host.split(":"))
    line = request_line.format(path=f"/{token}/index.html", host=host)
    writer.write(f"{line} HTTP/1.1\r\n{headers.format(host=host)}\r\n".encode())
    assert (await reader.readline()).split()[1] == str(status).encode()
    writer.close()
    await writer.wait_closed()
    assert {record.name for record in caplog.records} <= {"chatrest.viewer", "asyncio"}


async def test_attachments_are_served_with_their_media_type(
    with_files: Path, browser: aiohttp.ClientSession
) -> None:
    async with Viewer(with_files) as viewer:
        for path in (with_files / "attachments" / "files").rglob("*.*"):
            digest, _, extension = path.name.partition(".")
            shown = "bin" if extension == "html" else extension
            address = f"{viewer.url}files/{digest[:2]}/{digest}.{shown}"
            async with browser.get(address) as response:
                assert await response.read() == path.read_bytes()
                assert response.headers["X-Content-Type-Options"] == "nosniff"
                is_plain = response.content_type == "application/octet-stream"
                assert is_plain == (shown == "bin")
            async with browser.get(address, headers={"Range": "bytes=0-3"}) as response:
                assert (response.status, await response.read()) == (206, path.read_bytes()[:4])


async def test_the_pages_equal_those_of_a_site_and_are_updated(
    tmp_path: Path, browser: aiohttp.ClientSession
) -> None:
    runs, folder = StoredRuns(tmp_path / "out"), tmp_path / "out.view" / "site"
    runs.run([json.dumps(message(number, f"said {number}")).encode() for number in (1, 2)])
    for count, options in ((2, {}), (3, {"timezone": "Asia/Tokyo", "title": "Another"})):
        async with Viewer(runs.folder, **options) as viewer:
            for name, data in files(folder).items():
                async with browser.get(viewer.url + name) as response:
                    assert without_run_times(await response.read()) == data
        write_site(runs.folder, tmp_path / "site", **options)
        assert files(folder) == files(tmp_path / "site")
        assert f"{count} messages" in Page(folder / "index.html").text
        runs.run([json.dumps(message(3, "said 3")).encode()], deleted=[1])
    assert verify(runs.folder).ok


async def test_attachments_are_links_to_those_of_the_export(with_files: Path) -> None:
    async with Viewer(with_files):
        shown = [path for path in view_folder(with_files).rglob("files/*/*") if path.is_file()]
    assert {path.stat().st_nlink for path in shown} == {2}


async def test_pages_of_an_export_in_a_read_only_place_are_in_a_temporary_folder(
    export_seen: Path, browser: aiohttp.ClientSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = shutil.copytree(export_seen, tmp_path / "place" / "out")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("os.access", lambda path, mode: not Path(path).is_relative_to(out.parent))
    before = files(tmp_path)
    async with Viewer(out) as viewer:
        assert "The den" in await get(browser, viewer)
        assert any(name.startswith("chatrest-view-") for name in files(tmp_path))
    assert files(tmp_path) == before


async def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    await asyncio.to_thread(make_export, tmp_path / "out", [message(1, "one")])
    notes = view_folder(tmp_path / "out") / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("my own notes")
    with pytest.raises(RequestInvalidError, match="has files that are not of a site"):
        async with Viewer(tmp_path / "out"):
            pass
    assert [path.name for path in notes.parent.iterdir()] == ["notes.txt"]


async def test_no_site_is_written_into_that_of_a_viewer(export_seen: Path) -> None:
    with pytest.raises(RequestInvalidError, match="has the pages of `chatrest view`"):
        write_site(export_seen, view_folder(export_seen), redact=True)


async def test_the_pages_of_one_app_are_no_app(tmp_path: Path) -> None:
    for app in ("one", "two"):
        StoredRuns(tmp_path / f"app={app}").run([json.dumps(message(1, "hello")).encode()])
    async with Viewer(tmp_path / "app=one"):
        assert (tmp_path / "one.view" / "site" / "index.html").is_file()
    assert verify(tmp_path).ok


async def test_a_remade_export_is_shown(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for text, killed in (("the first", 0), ("the second", 1)):
        shutil.rmtree(out, ignore_errors=True)
        out.with_suffix(".sqlite").unlink(missing_ok=True)  # which a user may have loaded: its error says so
        runs = StoredRuns(out)
        for _ in range(killed):  # so that its first run that ended has another number and time
            runs.run(is_killed=True)
        runs.run([json.dumps(message(1, text)).encode()])
        async with Viewer(out):
            shown = "".join(Page(path).text for path in view_folder(out).rglob("c/*/*.html"))
        assert ("the first" in shown, "the second" in shown) == (not killed, bool(killed))


async def test_a_cancelled_start_stops_writing_and_the_next_one_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = await asyncio.to_thread(make_export, tmp_path / "out", records())
    loop, write = asyncio.get_running_loop(), SiteFiles.write
    begun, is_cancelled = asyncio.Event(), threading.Event()

    def write_after_cancel(state: SiteFiles, name: str, content: bytes | str) -> None:
        if name == "site.css":
            loop.call_soon_threadsafe(begun.set)
            is_cancelled.wait()
        write(state, name, content)

    monkeypatch.setattr(SiteFiles, "write", write_after_cancel)
    start = asyncio.create_task(Viewer(out).__aenter__())
    await begun.wait()
    start.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    is_cancelled.set()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert b"not complete" in (view_folder(out) / "index.html").read_bytes()
    async with Viewer(out):
        assert b"data-conversation" in (view_folder(out) / "index.html").read_bytes()


def test_the_site_of_an_object_store_is_in_the_current_folder() -> None:
    assert view_folder("s3://bucket/chat/") == Path("chat.view", "site")
    assert view_folder("s3://bucket/apps/app=shop") == Path("shop.view", "site")
