"""People on pages: all of a group, and each told apart; and the files of a ZIP that is handed on."""

import json
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from chatrest import RequestInvalidError
from chatrest.emulator.store import Store
from tests.support.stored_exports import StoredRuns

pytest.importorskip("jinja2")

from chatrest.site import write_document, write_site, write_zip

from .chats import Page, files, make_export, message, page_of, pages


def test_silent_members_are_listed_and_selectable(tmp_path: Path) -> None:
    def fill(store: Store) -> None:
        for number in range(15):
            store.add_user(f"silent-{number}", "Same Name" if number < 2 else f"Member {number}")
            store.members.add("den", f"silent-{number}")
        store.members.add("den", "ann")

    out = make_export(tmp_path / "out", [message(1, "hi", receiver="den")], fill, tables=["members"])
    result = write_site(out, tmp_path / "site", users=["silent-3"])
    assert result.conversations == 1
    days = next(page for name, page in pages(tmp_path / "site").items() if name.endswith("days.html"))
    assert [each for each in range(15) if f"silent-{each}" not in days.text] == []
    assert "Members who wrote nothing" in days.text
    assert any("16 members, 1 wrote" in page.text for page in pages(tmp_path / "site").values())
    write_document(out, tmp_path / "one.html")
    assert "Wrote nothing" in (text := Page(tmp_path / "one.html").text)
    assert "Same Name (silent-1)" in text
    assert text.count("silent-14") == 1


def test_users_of_the_same_name_are_shown_with_the_uid(tmp_path: Path) -> None:
    talk = [
        message(number, "hi <@uid:ann>", uid, "den") for number, uid in enumerate(("ann", "Ann", "bob"), 1)
    ]
    for each in talk:
        each["data"]["entities"]["sender"]["entity"]["name"] = "Ann Ng" if each["sender"] != "bob" else "Bob"
    runs = StoredRuns(tmp_path / "out")
    runs.run([json.dumps(each).encode() for each in talk])
    write_site(runs.folder, tmp_path / "site")
    page = Page(tmp_path / "site" / page_of(tmp_path / "site", "hi"))
    assert re.findall(r"Ann Ng \(ann\)|Ann Ng \(Ann\)|Bob", page.text)[:3] == [
        "Ann Ng (ann)",
        "Ann Ng (Ann)",
        "Bob",
    ]
    assert page.text.count("@Ann Ng (ann)") == 3


def test_a_zip_has_the_files_of_the_site_alone(out: Path, tmp_path: Path) -> None:
    write_site(out, tmp_path / "site")
    names = {f"site/{name}" for name in files(tmp_path / "site")}
    (tmp_path / "site" / "notes.txt").write_text("private")
    write_zip(tmp_path / "site", tmp_path / "site.zip")
    with ZipFile(tmp_path / "site.zip") as packed:
        assert set(packed.namelist()) == names
    (tmp_path / "site" / "people.html").unlink()
    with pytest.raises(FileNotFoundError):
        write_zip(tmp_path / "site", tmp_path / "site.zip")
    assert not (tmp_path / "site.zip.new").exists()
    with pytest.raises(RequestInvalidError, match="is in the site: expected a file outside of it"):
        write_zip(tmp_path / "site", tmp_path / "site" / "site.zip")
    with pytest.raises(RequestInvalidError, match="expected a file in a folder that exists"):
        write_zip(tmp_path / "site", tmp_path / "none" / "site.zip")
    with pytest.raises(RequestInvalidError, match="is not a site"):
        write_zip(tmp_path, tmp_path.with_suffix(".zip"))
