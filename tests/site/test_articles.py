"""The articles of messages: nothing that others have written becomes an element or leaves its attribute."""

from pathlib import Path

import pytest

from chatrest.site.index import PersonEntry
from chatrest.site.items import Item
from chatrest.site.text import TextPart

from .chats import Page

pytest.importorskip("jinja2")

from markupsafe import escape

from chatrest.site.articles import Articles

_HOSTILE = "\"'><script>&amp;"


def test_each_part_is_escaped(tmp_path: Path) -> None:
    ann = PersonEntry(1, "ann", "Ann", "a", "A")
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
    page.write_bytes(Articles(escape, lambda *_: "", lambda *_: "").of(items).data)
    parsed = Page(page)
    assert {name for name, _ in parsed.tags} == {"article", "header", "a", "p", "bdi"}
    assert parsed.text.count(_HOSTILE) == 4
    assert "half ?" in parsed.text
    assert parsed.values("data-id") == [_HOSTILE, "2", "3"]
    links = {f"https://x.example/{_HOSTILE}", f"../../u/{_HOSTILE}.html"}
    assert {link for link in parsed.values("href") if link} == links
