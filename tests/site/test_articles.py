"""The articles of messages: nothing that others have written becomes an element or leaves its attribute."""

import re
from pathlib import Path

import pytest
from msgspec import structs

from chatrest.site.contents import FileLink, TextPart
from chatrest.site.index import PersonEntry
from chatrest.site.index_messages import PageLink
from chatrest.site.items import Item, Note, Quote

from .chats import Page

pytest.importorskip("jinja2")

from markupsafe import escape

from chatrest.site.articles import Articles

_HOSTILE = "\"'><script>&amp;"


def test_each_part_is_escaped(tmp_path: Path) -> None:
    ann = PersonEntry(1, "ann", _HOSTILE, "a", _HOSTILE)
    parts = (
        TextPart(_HOSTILE), TextPart(_HOSTILE, f"https://x.example/{_HOSTILE}"),
        TextPart(_HOSTILE, _HOSTILE, is_mention=True),
    )  # fmt: skip
    items = [
        Item(_HOSTILE, 1, "m1", ann, "c0", 0, "", b"", is_long=False, text=_HOSTILE, is_plain=True),
        Item("2", 2, "m2", ann, "c0", 0, "", b"", is_long=False, segments=parts, is_plain=True),
        Item("3", 3, "m3", ann, "c0", 0, "", b"", is_long=False, text="half \ud83d", is_plain=True),
    ]
    page = tmp_path / "page.html"
    page.write_bytes(Articles(escape).html_of(items).encode("utf-8", "replace"))
    parsed = Page(page)
    assert {name for name, _ in parsed.tags} == {"article", "header", "a", "p", "bdi", "span"}
    assert parsed.text.count(_HOSTILE) == 8
    assert "half ?" in parsed.text
    assert parsed.values("data-id") == [_HOSTILE, "2", "3"]
    links = {f"https://x.example/{_HOSTILE}", f"../../u/{_HOSTILE}.html", "../../u/a.html"}
    assert {link for link in parsed.values("href") if link} == links


def test_each_part_of_a_content_is_escaped(tmp_path: Path) -> None:
    ann, note = PersonEntry(1, "ann", "Ann", "a", "A"), Note(_HOSTILE, "2026-11-22T13:11:03+01:00")
    files = tuple(
        FileLink(kind, _HOSTILE, _HOSTILE, stored, "1 KB", "f" * 64)
        for kind, stored in (("image", "x"), ("video", "x"), ("file", "x"), ("file", ""))
    )
    plain = Item("1", 1, "m1", ann, "c0", 0, "", b"", is_long=False)
    first = structs.replace(
        plain, text=_HOSTILE, edited=note, versions=((_HOSTILE, "then"),), files=files, label=_HOSTILE,
        quote=Quote(_HOSTILE, _HOSTILE, is_deleted=False, link=None), members=((_HOSTILE, _HOSTILE),),
        reactions=((_HOSTILE, _HOSTILE, _HOSTILE),), call_updates=(structs.replace(plain, id=_HOSTILE),),
    )  # fmt: skip
    second = structs.replace(
        plain, text=_HOSTILE, target=PageLink("c", 1, 7, 0), deleted=None,
        parent_quote=Quote(_HOSTILE, _HOSTILE, is_deleted=False, link=PageLink("c", 1, 9, 0)),
    )  # fmt: skip
    page = tmp_path / "page.html"
    deleted = structs.replace(plain, deleted=note)
    page.write_text(Articles(escape).html_of([first, second, deleted]), "utf-8")
    parsed = Page(page)
    assert not {"script", "amp"} & {name for name, _ in parsed.tags}
    # Quote, text, files, table, reaction, edit and version; answer and text; deletion.
    assert parsed.text.count(_HOSTILE) == 2 + 1 + 4 + 3 + 3 + 2 + 3 + 1
    assert parsed.values("data-id")[:2] == ["1", _HOSTILE]
    assert set(parsed.values("download")) == {_HOSTILE}
    assert {_HOSTILE, f"../../{_HOSTILE}", "../c/1.html#m9", "../c/1.html#m7"} <= set(parsed.values("href"))
    assert parsed.values("alt").count(_HOSTILE) == 1
    assert set(parsed.values("aria-label")) >= {_HOSTILE, "Reactions"}


def test_a_sender_is_shown_once_in_ten_minutes() -> None:
    ann = PersonEntry(1, "ann", "Ann", "a", "A")
    minutes = (0, 9, 10, 19, 21)
    iso = "2026-11-22T13:11:03+01:00"
    items = [Item(str(n), n, f"m{n}", ann, "c0", n * 60_000, iso, b"", is_long=False) for n in minutes]
    html = Articles(escape).html_of(items)
    assert re.findall(r'class="message( more)?"', html) == ["", " more", "", " more", ""]
