"""Pages of a folder of many apps, whose messages, people and conversations have the same ids."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2")

import msgspec

from chatrest.site import write_document, write_site

from .chats import Page, files, make_export, message, page_of, pages, records, shown_ids


def made_by(app: str) -> list[dict[str, Any]]:
    """Return messages of an app: the same ids as of any other one, with other texts."""
    made = records()[-20:]
    for each in [*made, *(each["quotedMessage"] for each in made if "quotedMessage" in each)]:
        each["data"]["text"] = f"{each['data']['text']} of {app}"
    return made


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("apps") / "out"
    for app in ("one", "two"):
        make_export(folder / f"app={app}", made_by(app))
    return folder


@pytest.fixture(scope="module")
def site(out: Path) -> Path:
    write_site(out, out.with_name("site"))
    return out.with_name("site")


def test_each_message_is_there_once_in_the_conversation_of_its_app(site: Path) -> None:
    ids = [each["id"] for each in made_by("one")]
    assert sorted(shown_ids(site)) == sorted(ids * 2)
    links = [tag for _, tag in Page(site / "index.html").tags if "data-conversation" in tag]
    assert [tag["data-conversation"] for tag in links] == ["one/group_den", "two/group_den"]
    for tag in links:
        app = str(tag["data-conversation"])[:3]
        page = Page(site / str(tag["href"]).partition("#")[0])
        assert set(re.findall(r"\bof (one|two)\b", page.text)) == {app}
        assert f"{app}: The den & more" in page.text
    index, script = (site / "index.html").read_text(), (site / "conversations.js").read_text()
    rows, total = msgspec.json.decode(script[len("chatrest(") : -3])
    assert total == len(rows) == index.count("</b>") == 2
    for app, (_, title, initials, *_) in zip(("one", "two"), rows, strict=True):
        assert (title, initials) == (f"{app}: The den & more", "TD")
        assert f'aria-hidden="true">TD</span><b>{app}: The den &amp; more</b>' in index


def test_quotes_threads_mentions_and_people_stay_within_an_app(site: Path) -> None:
    for app in ("one", "two"):
        name = page_of(site, f"the parent of {app}")
        page, folder = Page(site / name), name.rpartition("/")[0]
        links = [link for link in page.values("href") if link.startswith("../") and "#m" in link]
        assert [link.partition("/1.html")[0] for link in links] == [f"../{folder.partition('/')[2]}"] * 4
        assert "2 replies" in page.text
        thread = Page(site / folder / "threads-1.html")
        assert set(re.findall(r"\bof (one|two)\b", thread.text)) == {app}
        [person] = {tag["href"] for _, tag in page.tags if tag.get("class") == "mention"}
        assert f"{app}/ann" in Page(site / folder / str(person)).text
    assert {"one/ann", "two/ann"} <= set(Page(site / "people.html").text.replace(",", "").split())


def test_an_app_that_is_added_or_removed_leaves_the_pages_of_others(
    site: Path, out: Path, tmp_path: Path
) -> None:
    shutil.copytree(out, tmp_path / "out")
    removed = shutil.move(tmp_path / "out" / "app=two", tmp_path / "two")
    write_site(tmp_path / "out", tmp_path / "site")
    alone = {name: data for name, data in files(tmp_path / "site").items() if name.startswith("c/")}
    shutil.move(removed, tmp_path / "out" / "app=two")
    write_site(tmp_path / "out", tmp_path / "site")
    assert files(tmp_path / "site") == files(site)
    assert {name: files(site)[name] for name in alone} == alone
    shutil.rmtree(tmp_path / "out" / "app=two")
    write_site(tmp_path / "out", tmp_path / "site")
    assert {name for name in files(tmp_path / "site") if name.startswith("c/")} == alone.keys()


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"users": ["ann"]}, {"one", "two"}),
        ({"users": ["two/ann"]}, {"two"}),
        ({"conversations": ["one/group_den"]}, {"one"}),
    ],
)
def test_ids_are_chosen_in_all_apps_or_in_one(
    choice: dict[str, Any], expected: set[str], out: Path, tmp_path: Path
) -> None:
    write_site(out, tmp_path / "site", **choice)
    text = Page(tmp_path / "site" / "index.html").text
    assert set(re.findall(r"(one|two): The den", text)) == expected


def test_pseudonyms_are_of_people_and_not_of_names(out: Path, tmp_path: Path) -> None:
    write_site(out, tmp_path / "site", pseudonyms=True)
    people = [page for name, page in pages(tmp_path / "site").items() if name.startswith("u/")]
    names = [re.findall(r"Person \d+", page.text)[0] for page in people]
    assert len(names) == len(set(names)) > 4, "ann of one and ann of two are two people"
    mentions = [
        re.findall(r"hello (@Person \d+|@\[name\])", page.text) for page in pages(tmp_path / "site").values()
    ]
    assert len({name for of_page in mentions for name in of_page}) == 2, "ann of each app has a number"


def test_a_document_has_all_apps(out: Path, tmp_path: Path) -> None:
    result = write_document(out, tmp_path / "all.html")
    page = Page(tmp_path / "all.html")
    assert (result.messages, result.conversations) == (40, 2)
    texts = re.findall(r"(?:the parent|a reply|another reply) of (?:one|two)", page.text)
    parts = [
        f"{text} of {app}" for app in ("one", "two") for text in ("the parent", "a reply", "another reply")
    ]
    assert [text for text in texts if text in parts][:3] == parts[:3]
    assert "one/group_den" in page.text


def test_attachments_are_found_in_the_app_that_has_them(with_files: Path, tmp_path: Path) -> None:
    shutil.copytree(with_files, tmp_path / "out" / "app=two")
    make_export(tmp_path / "out" / "app=one", [message(number, "no file") for number in range(1, 90)])
    write_site(with_files, tmp_path / "alone")
    assert write_site(tmp_path / "out", tmp_path / "site").missing == 0
    stored = {name for name in files(tmp_path / "site") if name.startswith("files/")}
    assert stored == {name for name in files(tmp_path / "alone") if name.startswith("files/")}
