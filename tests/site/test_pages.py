"""The pages of a site: all is there once and linked, and nothing of a message acts."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from chatrest.emulator.store import Store
from tests.support.stored_exports import StoredRuns

pytest.importorskip("jinja2")

from chatrest.site import index_build, pages as site_pages, write_site
from chatrest.site.items import COLOURS
from chatrest.site.pages import TEMPLATES

from .chats import (
    HOSTILE,
    LONG,
    NAMES,
    START,
    Page,
    files,
    make_site,
    message,
    page_of,
    pages,
    person,
    shown_ids,
)  # fmt: skip


def test_every_message_is_there_once(site: Path, made: list[dict[str, Any]]) -> None:
    assert sorted(shown_ids(site), key=int) == [each["id"] for each in made]


def test_pages_are_bounded_and_linked_with_one_another(site: Path) -> None:
    every = pages(site)
    for name, page in every.items():
        assert (site / name).stat().st_size < 450_000 or re.search(r"/m\d+\.html$", name)
        assert len(page.values("data-id")) <= 250
        for link in page.values("href") + page.values("src"):
            address, _, anchor = link.partition("#")
            if address.startswith("https:"):
                continue
            target = (site / name).parent / address.partition("?")[0] if address else site / name
            assert target.is_file(), (name, link)
            if anchor:
                linked = every[target.resolve().relative_to(site.resolve()).as_posix()]
                assert anchor in linked.values("id"), (name, link)


def test_each_reader_fetches_few_bytes(site: Path) -> None:
    assert (site / "site.js").stat().st_size <= 16_384
    assert (site / "site.css").stat().st_size <= 12_288


def test_the_index_leads_to_the_end_of_each_conversation(site: Path, made: list[dict[str, Any]]) -> None:
    links = {
        tag["data-conversation"]: tag["href"]
        for _, tag in Page(site / "index.html").tags
        if "data-conversation" in tag
    }
    assert set(links) == {each["conversationId"] for each in made}
    assert str(LONG) in Page(site / str(links["ann_user_bob"]).removesuffix("#end")).values("data-id")


def test_a_message_is_shown_with_all_members(site: Path) -> None:
    text = Page(site / page_of(site, "the parent")).text
    words = ["👍 3", "2 replies", "in a thread", "edited by Bob", "Deleted by Ann <b>",
             "@Ann <b> and @nobody", "Ann <b> added Bob", "audio call, initiated", "Pizzatag?",
             "a riddle", "quoting"]  # fmt: skip
    assert [each for each in words if each not in text] == []


def test_a_line_about_a_name_from_right_to_left_shows_no_codes(tmp_path: Path) -> None:
    action = {"action": "added", "entities": {"by": person("dana"), "on": person("bob")}}
    talk = [
        message(1, "before", "dana"),
        message(2, "", "dana", category="call", type="audio", data={"action": "initiated"}),
        message(3, "", "dana", category="action", type="groupMember", data=action),
    ]
    site = make_site(tmp_path, talk)
    text = Page(site / page_of(site, "before")).text
    assert "דנה כהן: audio call" in text
    assert "דנה כהן added Bob" in text
    assert [each.name for each in site.rglob("*") if each.is_file() and b"U+2068" in each.read_bytes()] == []


def test_each_kind_of_event_has_a_distinct_form(tmp_path: Path) -> None:
    session = {"sessionid": "call-1", "startedAt": START, "endedAt": START + 1234}
    call = {"category": "call", "type": "audio"}
    talk = [
        message(1, "the parent", data={"reactions": [{"reaction": "👍", "count": 1}]}),
        message(2, "an answer", parentId="1"),
        message(3, "", category="action", data={"action": "deleted", "entities": {
            "by": person("ann"), "on": {"entity": {"id": "1"}, "entityType": "message"}}}),
        message(4, "", **call, data={"action": "initiated", "entities": {"on": {"entity": session}}}),
        message(5, "", **call, data={"action": "ended", "entities": {"on": {"entity": session}}}),
        message(6, "", category="custom", type="poll", data={
            "customData": {"question": "Where?", "options": {"1": "Rooftop", "2": "Office"}}}),
        message(7, "", category="custom", type="location", data={
            "customData": {"latitude": 38.7, "longitude": "-9.1", "name": "<b>Lisbon"}}),
        message(8, "", category="riddle", data={"answer": {"deep": ["first", 7]}}),
        message(9, "https://ok.example/alone"),
        message(10, "", category="action", data={"action": "renamed", "entities": {
            "by": {"entity": {"name": "Robot"}}, "on": {"entity": {"guid": "den-2"}}}}),
        message(11, "", category="", type="", data={}),
        message(12, "long " * 50),
    ]  # fmt: skip

    def react(store: Store) -> None:
        store.marks.add("reaction", 1, "bob", value="👍")

    site = make_site(tmp_path, talk, react)
    page = Page(site / page_of(site, "the parent"))
    words = ["Ann <b>: audio call, 20 min 34 s", "questionWhere?", "options 1Rooftop", "latitude38.7",
             "<b>Lisbon", "answer deep 1first", "👍 1 Bob", "1 reply",
             "Robot: renamed den-2", "unknown"]  # fmt: skip
    text = " ".join(page.text.split())
    assert [each for each in words if each not in text] == []
    assert text.count("audio call") == 1
    assert shown_ids(site) == [str(number) for number in range(1, 13)]
    to_parent = [link for link in page.values("href") if link.endswith("/1.html#m1")]
    assert len(to_parent) == 2
    assert "https://ok.example/alone" in page.values("href")
    assert f"{('long ' * 50)[:160]}…" in Page(site / "index.html").text


def test_earlier_texts_are_below_the_edited_one(tmp_path: Path) -> None:
    runs, site = StoredRuns(tmp_path / "out"), tmp_path / "site"
    runs.run([json.dumps(message(1, "call 0170 1234567")).encode()])
    write_site(runs.folder, site)
    runs.run(changed=[json.dumps(message(1, "other words", editedAt=START)).encode()])
    write_site(runs.folder, site, redact=True)
    page = Page(site / page_of(site, "other words"))
    assert "call [phone]" in page.text
    assert "details" in dict(page.tags)


def test_ten_people_who_talk_have_ten_colours(tmp_path: Path) -> None:
    others = [message(n, "hi", f"x{n}") for n in range(1, 8)]
    talk = [message(10 + n, "hi", f"user-{n}", "den") for n in range(COLOURS)]
    site = make_site(tmp_path, [*others, *talk])
    page = Page(site / page_of(site, "user-3"))
    colours = {tag["class"] for _, tag in page.tags if str(tag.get("class")).startswith("who c")}
    assert len(colours) == COLOURS == 10


def test_a_deleted_text_is_in_no_file(site: Path) -> None:
    assert [name for name, data in files(site).items() if b"deleted secretly" in data] == []


def test_a_large_message_is_shortened_and_has_a_separate_page(site: Path) -> None:
    name = page_of(site, "The whole message, 25,006 letters")
    assert Page(site / name).text.count("The whole message") == 2
    assert "needle" not in Page(site / name).text
    [whole] = [page for other, page in pages(site).items() if re.search(r"/m\d+\.html$", other)
               and HOSTILE["huge"] in page.text]  # fmt: skip
    assert "needle" in whole.text


def test_a_name_of_spaces_is_the_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NAMES, "blank", " \u200b\u3164")
    site = make_site(tmp_path, [message(1, "hello", "blank")])
    assert "blank & Bob" in Page(site / "index.html").text
    assert re.search(r"\bblank\b", Page(site / page_of(site, "hello")).text)
    assert [page for name, page in pages(site).items() if "\u3164" in page.text] == []


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_have_contrast(scheme: int) -> None:
    css = (TEMPLATES / "site.css").read_text()
    sheets = [
        dict(re.findall("--([\\w-]+): (#[0-9a-f]{6})", each)) for each in css.split("@media screen")[:2]
    ]
    colours = {**sheets[0], **sheets[scheme]}
    pairs = [("mark-text", "mark"), *product(("text", "quiet", "link", "warn"), ("ground", "card", "target"))]
    pairs += product((f"c{n}" for n in range(COLOURS)), ("card", "target", "face"))
    low = {pair: ratio for pair in pairs if (ratio := contrast(*(colours[name] for name in pair))) < 4.5}
    assert low == {}


def contrast(color: str, background: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(color), luminance(background)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_days_are_by_year_and_month_with_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_build, "MESSAGES", 2)
    times = [0, START - 2 * 3600, START - 3600, START, START + 31 * 86_400]
    talk = [message(number, f"no{number}", sentAt=time) for number, time in enumerate(times, 1)]
    page = Page(*make_site(tmp_path, talk).rglob("days.html"))
    years = " ".join(page.text.partition("First Last People")[2].partition("Made with")[0].split())
    assert years.startswith(
        "undated 1 2025 2 2026 2 undated 1 message First of them"
        " 2025 2 messages December 2 Wed 31 2"
        " 2026 2 messages January 1 Thu 1 1 February 1 Sun 1 1 People"
    )
    links = [link for link in page.values("href") if "#d" in link]
    assert links == ["1.html#dundated", "1.html#d2025-12-31", "2.html#d2026-01-01", "3.html#d2026-02-01"]


def test_a_list_of_several_pages_has_the_newest_conversation_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_pages, "LIST", 2)
    site = make_site(tmp_path, [message(n, "hi", f"x{n}") for n in range(1, 6)])
    lists = [Page(site / f"index{end}.html").values("data-conversation") for end in ("", "-2", "-3")]
    assert [[key[-1] for key in keys] for keys in lists] == [["5", "4"], ["3", "2"], ["1"]]
    script = (site / "conversations.js").read_text()
    rows, total = json.loads(script.removeprefix("chatrest(").removesuffix(");\n"))
    assert (total, [row[1][-1] for row in rows]) == (5, ["5", "4", "3", "2", "1"])


def test_threads_fill_pages_and_lead_to_the_pages_of_their_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_build, "MESSAGES", 3)
    parents = {4: 1, 5: 1, 6: 2, **dict.fromkeys(range(7, 11), 3)}
    talk = [message(n, f"no{n}", parentId=str(parents.get(n, 0))) for n in range(1, 11)]
    threads = [Page(path) for path in sorted(make_site(tmp_path, talk).rglob("threads-*.html"))]
    links = [re.findall(r"\b(\d+)\.html#m(\d+)", " ".join(page.values("href"))) for page in threads]
    assert links == [
        [("1", "1"), ("2", "4"), ("2", "5")],
        [("1", "2"), ("2", "6")],
        [("1", "3"), ("3", "7"), ("3", "8"), ("3", "9")],
        [("1", "3"), ("4", "10")],
    ]


def test_no_message_becomes_an_element_or_an_address(site: Path) -> None:
    for name, page in pages(site).items():
        assert [dict(tag) for kind, tag in page.tags if kind == "script"] == [
            {"src": "../" * name.count("/") + "site.js", "defer": None}
        ]
        assert not [tag for _, tag in page.tags if any(re.match("on|style$", each) for each in tag)]
        for link in page.values("href") + page.values("src"):
            assert re.match(r"https://|[\w./#?=%-]*$", link), link
        policies = [
            tag["content"] for _, tag in page.tags if tag.get("http-equiv") == "Content-Security-Policy"
        ]
        assert [str(each).partition(";")[0] for each in policies] == ["default-src 'none'"]


def test_signs_that_act_on_their_surroundings_are_written_as_numbers(site: Path) -> None:
    for name, data in files(site).items():
        text = data.decode()
        assert not re.search("[\x00\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text), name
    assert "before\N{REPLACEMENT CHARACTER}after" in Page(site / page_of(site, "harmless")).text


def test_names_of_files_are_the_sites_own(site: Path) -> None:
    own = r"(site\.(css|js)|(about|conversations)\.js|(index|people)\.html|u/\w{16}\.html"
    own += r"|search/(meta|w/\w+|p/0/\d+)\.js"
    own += r"|c/\w{16}/(days\.js|(\d+(-source)?|days|threads-\d+|m\d+)\.html))"
    assert [name for name in files(site) if not re.fullmatch(own, name)] == []


def test_attachments_are_shown_in_place_or_linked(with_files: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    result = write_site(with_files, site)
    assert result.missing == 0
    copied = {path.name: path.read_bytes() for path in (site / "files").rglob("*") if path.is_file()}
    stored = {path.name: path.read_bytes() for path in (with_files / "attachments" / "files").rglob("*.*")}
    assert copied == {name.replace(".html", ".bin"): data for name, data in stored.items()}
    assert any(name.endswith(".bin") for name in copied)
    tags = [each for name, page in pages(site).items() if name.startswith("c/") for each in page.tags]
    for kind, extension in (("img", "png"), ("video", "mp4"), ("audio", "mp3")):
        shown = [tag["src"] for name, tag in tags if name == kind]
        assert any(str(each).endswith(extension) for each in shown)
    downloads = {str(tag["href"]).rpartition("/")[2] for name, tag in tags if "download" in tag}
    assert downloads == set(copied)
    assert write_site(with_files, site).written == 0
