"""The viewer: the pages of a site from a server, for users with its address, and kept up to date."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from yarl import URL

import chatrest.site.viewer
from chatrest import RequestInvalidError
from chatrest.export import verify
from tests.stored_exports import StoredRuns

from .chats import SEARCHES, grep, make_export, message, records, searched_records

pytest.importorskip("jinja2")

from chatrest.site import Viewer
from chatrest.site.view_index import index_path


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


def results(html: str) -> list[str]:
    """Return the ids of results, in order."""
    return re.findall(r'<a href="c/\w+/\d+\.html#m(\d+)"><span class="meta">', html)


async def get(browser: aiohttp.ClientSession, viewer: Viewer, path: str = "") -> str:
    async with browser.get(viewer.url + path) as response:
        assert response.status == 200, path
        return await response.text()


async def test_each_link_of_a_page_leads_to_a_page(viewer: Viewer, browser: aiohttp.ClientSession) -> None:
    waiting, visited = ["index.html"], set[str]()
    while waiting:
        path = waiting.pop()
        if path in visited:
            continue
        visited.add(path)
        folder = path.rpartition("/")[0]
        for link in re.findall(r'(?:href|src)="([^"]*)"', await get(browser, viewer, path)):
            target = link.partition("#")[0].partition("?")[0]
            if target and not target.startswith("https:"):
                parts = f"{folder}/{target}".split("/")
                for _ in range(parts.count("..")):
                    place = parts.index("..")
                    del parts[place - 1 : place + 1]
                waiting.append("/".join(parts).lstrip("/"))
    kinds = {re.sub(r"\d+|\w{16}", "X", path) for path in visited}
    expected = "c/X/X c/X/X-source c/X/days c/X/last c/X/threads-X c/X/mX u/X people"
    assert {f"{name}.html" for name in expected.split()} | {"site.css", "search"} <= kinds


@pytest.mark.parametrize(
    "words", ["draft", "встреча", "会", "你了", "👍", "no12", "12:30", '"the deleted"', "zzz"]
)
async def test_a_search_finds_what_grep_finds(
    words: str, viewer: Viewer, browser: aiohttp.ClientSession, made: list[dict[str, Any]]
) -> None:
    html = await get(browser, viewer, f"search?q={quote(words)}")
    assert set(results(html)) == grep(made, words.strip('"'))


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_export(tmp_path_factory.mktemp("searched") / "out", searched_records())


async def test_the_best_results_are_first_with_all_marked_and_a_line_around_them(
    searched: Path, browser: aiohttp.ClientSession
) -> None:
    async with Viewer(searched) as viewer:
        ids_by_query = {query: results(await get(browser, viewer, f"search?{query}")) for query in SEARCHES}
        assert ids_by_query == {query: ids.split() for query, ids in SEARCHES.items()}
        html = await get(browser, viewer, "search?q=ausfall")
        assert re.findall("<mark>(.*?)</mark>", html) == ["ausfall", "AUSFALL"]
        near = re.findall(r'class="near" dir="auto"><bdi>(.*?)</bdi>: (.*?)</span>', html)
        assert near == [("Ann &lt;b&gt;", "manana with no tilde"), ("Ann &lt;b&gt;", "it was edited")]
        html = await get(browser, viewer, "search?q=it+nowhere&is=file&is=wrong")
        assert "0 found: nothing has “nowhere”. Try fewer words" in html
        assert re.findall('value="([a-z]+)" checked', html) == ["file"]


async def test_many_results_are_on_several_pages(
    viewer: Viewer, browser: aiohttp.ClientSession, made: list[dict[str, Any]]
) -> None:
    result_ids: list[str] = []
    path = "search?person==ann"
    while path:
        html = await get(browser, viewer, path)
        result_ids += results(html)
        path = next(iter(re.findall(r'href="(search\?[^"]*skip=[^"]*)"', html)), "").replace("&amp;", "&")
    own = {each["id"] for each in made if each["sender"] == "ann"}
    assert (len(result_ids), set(result_ids)) == (len(own), own)


async def test_a_connection_that_sends_half_a_request_is_closed(
    export_seen: Path, browser: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chatrest.site.viewer, "_SILENCE", 0.02)
    async with Viewer(export_seen) as viewer:
        await get(browser, viewer)
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(viewer.url).port)
        writer.write(b"GET / HTTP/1.1\r\nHost: ")
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()
        await get(browser, viewer)


async def test_a_search_is_narrowed(viewer: Viewer, browser: aiohttp.ClientSession) -> None:
    html = await get(
        browser, viewer, "search?q=reply&conversation=more&person=bob&since=2026-01-01&until=2026-01-20"
    )
    assert results(html) == ["611"]
    assert "0 found" in await get(browser, viewer, "search?q=reply&until=2025-01-01")
    assert "Write what to search for" in await get(browser, viewer, "search?q=&since=never")


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
        ("GET", "{token}/index-0.html", {}, 200),
        ("HEAD", "{token}/index.html", {}, 200),
        ("GET", "/favicon.ico", {}, 204),
    ],
)
async def test_only_who_has_the_address_is_answered(
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


async def test_attachments_are_served_as_what_they_are(
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


async def test_an_export_that_grows_is_brought_up_to_date(
    tmp_path: Path, browser: aiohttp.ClientSession
) -> None:
    talk = [message(number, f"said {number}") for number in range(1, 301)]
    out = tmp_path / "out"
    await asyncio.to_thread(make_export, out, talk[:200])
    async with Viewer(out) as viewer:
        assert "200 messages" in await get(browser, viewer)
    changed = [*talk[:150], message(200, "was changed", editedAt=9), *talk[200:]]
    await asyncio.to_thread(make_export, out, talk)
    async with Viewer(out) as viewer:
        html = await get(browser, viewer)
        assert "300 messages" in html
        assert "1 found" in await get(browser, viewer, "search?q=%22said+300%22")
    other = tmp_path / "other"
    await asyncio.to_thread(make_export, other, changed)
    (index_path(out)).rename(index_path(other))  # the index of another time: messages are changed, and gone
    async with Viewer(other) as viewer:
        assert "251 messages" in await get(browser, viewer)
        assert "1 found" in await get(browser, viewer, "search?q=changed")
        assert "0 found" in await get(browser, viewer, "search?q=%22said+180%22")


async def test_what_the_service_has_removed_is_shown_as_deleted(
    tmp_path: Path, browser: aiohttp.ClientSession
) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([json.dumps(message(number, f"said {number}")).encode() for number in (1, 2)])
    for number, heading in ((2, "1 found"), (1, "0 found")):
        runs.run(deleted=[number])
        async with Viewer(runs.folder) as viewer:
            assert heading in await get(browser, viewer, "search?q=said")
            index = await get(browser, viewer)
            page = await get(browser, viewer, re.findall(r'href="(c/\w+/1.html)#end"', index)[0])
            assert page.count("Deleted from the service") == 3 - number


async def test_the_index_is_beside_the_export(export_seen: Path, viewer: Viewer) -> None:
    assert index_path(export_seen) == export_seen.with_name("out.view.sqlite")
    assert index_path(export_seen).exists()
    assert verify(export_seen).ok


async def test_a_viewer_shows_the_export_of_its_start_while_another_takes_in_what_is_new(
    tmp_path: Path, browser: aiohttp.ClientSession
) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([json.dumps(message(1, "said 1")).encode()])
    async with Viewer(runs.folder) as viewer:
        runs.run([json.dumps(message(2, "said 2")).encode()])
        async with Viewer(runs.folder) as other:
            for each, count in ((viewer, 1), (other, 2)):
                assert f"{count} messages in 1 conv" in await get(browser, each)
                assert f"{count} found" in await get(browser, each, "search?q=said")


async def test_a_file_that_is_no_index_is_left_alone(tmp_path: Path) -> None:
    await asyncio.to_thread(make_export, tmp_path / "out", [message(1, "one")])
    index_path(tmp_path / "out").write_text("my own notes" * 1000)
    with pytest.raises(RequestInvalidError, match="is not an index of this viewer"):
        async with Viewer(tmp_path / "out"):
            pass
    assert index_path(tmp_path / "out").read_text().startswith("my own notes")
