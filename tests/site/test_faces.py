"""Faces on pages: pictures of the export beside the initials, none where names are hidden, and no request."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("jinja2")

import aiohttp

from chatrest import AsyncSession
from chatrest.emulator import Emulator
from chatrest.emulator.media import media_file
from chatrest.export import Plan, export
from chatrest.site import Viewer, write_document, write_site
from chatrest.site.contents import face_link

from .chats import face_links, files

STORED = f"files/ab/{'ab' * 32}"
PNG = b"\x89PNG\r\n"


def test_each_page_shows_faces_and_a_pair_has_two(with_files: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_site(with_files, site)
    pages = {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html")}
    written, links = files(site), {link for html in pages.values() for link in face_links(html)}
    assert len(links) == 4, "of three users and a group"
    assert all(written[link].startswith(PNG) for link in links)
    for kind in (r"index\.html", r"people\.html", r"u/\w+\.html", r"c/\w+/\d+\.html"):
        assert all(face_links(html) for name, html in pages.items() if re.fullmatch(kind, name)), kind
    rows, _, listed = msgspec.json.decode(written["conversations.js"][len("chatrest(") : -3])
    assert set(listed) == links
    assert {(row[7], len(row[-1])) for row in rows} == {(1, 1), (0, 2)}
    write_document(with_files, tmp_path / "all.html")
    html = (tmp_path / "all.html").read_text()
    styled = re.findall(r"\.f(\w{64}) { background-image: url\(data:image/png;base64,", html)
    assert sorted(styled) == sorted(link[9:73] for link in links)
    assert set(re.findall(r'class="face f(\w{64})"', html)) == set(styled)


@pytest.mark.parametrize("hiding", [{"redact": True}, {"pseudonyms": True}, {"patterns": ["x"]}])
def test_no_face_is_shown_where_names_are_hidden(
    hiding: dict[str, Any], with_files: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    write_site(with_files, site)
    faces = {link for path in site.rglob("*.html") for link in face_links(path.read_text())}
    write_site(with_files, site, **hiding)
    write_document(with_files, tmp_path / "all.html", **hiding)
    every = b"".join([*files(site).values(), (tmp_path / "all.html").read_bytes()])
    assert [link for link in faces if link[9:73].encode() in every or (site / link).exists()] == []
    assert b"/media/faces/" not in every  # nor its address, in the records
    assert b'class="face' not in (tmp_path / "all.html").read_bytes()


async def test_a_page_is_made_again_where_a_face_has_changed_and_the_viewer_serves_it(tmp_path: Path) -> None:
    out, site = tmp_path / "out", tmp_path / "site"
    async with Emulator(users=2, messages=0) as emulator, AsyncSession(emulator.app) as session:
        for _ in range(2):
            emulator.store.add_message("user-001", "user-002", "hello")
            await export(session, out, Plan(everything=True), attachments=True)
            write_site(out, site)
            pages = {path.name: set(face_links(path.read_text())) for path in site.glob("c/*/1.html")}
            assert [len(links) for links in pages.values()] == [1]
            user = emulator.store.people.users["user-001"]
            user["avatar"] = user["avatar"].replace("user", "other")
        [link] = pages["1.html"]
        face = media_file("/media/faces/other-001.png")
        assert face is not None
        assert (site / link).read_bytes() == face.body
        async with (
            Viewer(out) as viewer,
            aiohttp.ClientSession() as browser,
            browser.get(f"{viewer.url}{link}") as response,
        ):
            assert (await response.read(), response.content_type) == (face.body, "image/png")


def test_what_is_no_picture_is_no_face() -> None:
    names = [f"{STORED}.png", f"{STORED}.svg", f"{STORED}.html", STORED, f"../{STORED}.png", ""]
    assert [face_link(name) for name in names] == [f"{STORED}.png", "", "", "", "", ""]
