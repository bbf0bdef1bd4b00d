"""One document of a selection: all of it once and in order, with what a reader needs to quote it."""

import hashlib
import json
import re
import subprocess
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from chatrest import RequestInvalidError
from chatrest.export import runs, seal
from tests.support.stored_exports import StoredParts, StoredRuns, record

pytest.importorskip("jinja2")

from chatrest.site import write_document
from chatrest.site.zone import Zone

from .chats import Page, message


def test_every_message_is_shown_once_and_replies_after_their_message(
    out: Path, made: list[dict[str, Any]], tmp_path: Path
) -> None:
    result = write_document(out, tmp_path / "all.html", title="The case", timezone="Europe/Berlin",
                            now=lambda: datetime(2026, 11, 23, tzinfo=UTC))  # fmt: skip
    page = Page(tmp_path / "all.html")
    ids = page.values("data-id")
    assert sorted(ids, key=int) == [each["id"] for each in made]
    assert (result.messages, result.conversations, result.missing) == (len(made), 2, 0)
    assert {"c1", "c2"} == set(page.values("id"))
    parent = next(each["id"] for each in made if each["data"]["text"] == "the parent")
    replies = [each["id"] for each in made if each.get("parentId") == parent]
    at = ids.index(parent)
    assert ids[at : at + 3] == [parent, *replies]
    exported = Zone("Europe/Berlin").time_text([*runs(out)][-1].finished * 1000)
    words = ["The case", "Europe/Berlin", "623 in 2 conversations", f"Exported{exported}",
             "2026-11-23 01:00:00 +01:00", "2026-01-01 01:10:00 +01:00", "00:10:00 +00:00", "group_den",
             "id 623", "question: Pizzatag?", "Deleted by Ann <b>", "Edited by Bob",
             "Reactions: 👍 3"]  # fmt: skip
    assert [each for each in words if each not in page.text] == []
    assert "deleted secretly" not in page.text
    assert '{"' not in page.text
    assert [tag for tag, _ in page.tags if tag in ("script", "link", "iframe")] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.html"]


def test_earlier_versions_are_below_the_edited_message(tmp_path: Path) -> None:
    runs = StoredRuns(tmp_path / "out")
    runs.run([json.dumps(message(1, "first words")).encode()])
    runs.run(changed=[json.dumps(message(1, "other words", editedAt=1_800_000_000)).encode()])
    write_document(runs.folder, tmp_path / "one.html", redact=True)
    text = Page(tmp_path / "one.html").text
    assert re.search("other words.*Edited.*Earlier version.*first words", text, re.DOTALL)


@pytest.mark.parametrize("kind", ["one", "parts", "apps"])
def test_a_document_has_the_hashes_of_the_export(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    match kind:
        case "one":
            StoredRuns(folder).run([record(1), record(2)])
        case "parts":
            StoredParts(folder, 2).run(range(1, 5))
        case _:
            StoredRuns(folder / "app=one").run([record(1), record(2)])
            StoredParts(folder / "app=two", 2).run(range(1, 5))
    manifests = sorted(path.relative_to(folder) for path in folder.rglob("manifest.json"))
    command = ["sha256sum", *map(str, manifests)]
    printed = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE).stdout
    digest = printed[:64].decode() if kind == "one" else hashlib.sha256(printed).hexdigest()
    root = seal(folder, tmp_path / "bag").root
    for out, hashes in ((folder, [digest]), (tmp_path / "bag", [digest, root])):
        write_document(out, tmp_path / "paper.html", redact=True, title='"; } body { color: red } </style>')
        page = Page(tmp_path / "paper.html")
        foot = re.search(r'@bottom-left { content: "([^"]*)"; font', page.text)
        assert foot is not None
        assert re.findall("[0-9a-f]{64}", page.text.replace(foot[1], "")) == hashes
        text = re.sub(r"\\([0-9a-f]+) ", lambda code: chr(int(code[1], 16)), foot[1])
        lines = text.splitlines()
        assert (lines[0], lines[1][-64:]) == ('"; } body { color: red } </style>', hashes[-1])
        assert "style" not in [tag for tag, _ in page.tags[page.tags.index(("body", {})) :]]


def test_pictures_are_inside_and_other_files_are_named_with_their_hash(
    with_files: Path, tmp_path: Path
) -> None:
    assert write_document(with_files, tmp_path / "all.html").missing == 0
    page = Page(tmp_path / "all.html")
    stored = list((with_files / "attachments" / "files").rglob("*.*"))
    assert [path.name for path in stored if path.name.partition(".")[0] not in page.text] == []
    pictures = [tag["src"] for name, tag in page.tags if name == "img"]
    assert pictures
    assert all(str(each).startswith("data:image/") for each in pictures)


def test_a_selection_is_chosen_and_a_folder_is_refused(out: Path, tmp_path: Path) -> None:
    assert write_document(out, tmp_path / "den.html", conversations=["group_den"]).conversations == 1
    with pytest.raises(RequestInvalidError, match="is a folder: expected the path of a file"):
        write_document(out, tmp_path)
    with pytest.raises(RequestInvalidError, match="no message is of conversation 'group_dem'"):
        write_document(out, tmp_path / "x.html", conversations=["group_dem"])
    with pytest.raises(RequestInvalidError, match="timezone = 'Mars': expected the name of a zone"):
        write_document(out, tmp_path / "x.html", timezone="Mars")
    with pytest.raises(TypeError, match="unexpected keyword argument 'zone'"):
        write_document(out, tmp_path / "x.html", zone="UTC")  # type: ignore[call-arg]
    assert not (tmp_path / "x.html").exists()


def document_of(records: list[dict[str, Any]], folder: Path, **options: Any) -> Page:
    runs = StoredRuns(folder / "out")
    runs.run([json.dumps(each).encode() for each in records])
    write_document(runs.folder, folder / "one.html", **options)
    return Page(folder / "one.html")


def test_dates_are_days_of_the_zone_and_the_document_names_its_window(tmp_path: Path) -> None:
    times = ["2026-04-30T21:59:59Z", "2026-04-30T22:00Z", "2026-05-31T21:59:59Z", "2026-05-31T22:00Z"]
    sent = [int(datetime.fromisoformat(each).timestamp()) for each in times]
    talk = [message(number, f"no{number}", sentAt=at) for number, at in enumerate([*sent, 0], 1)]
    window: dict[str, Any] = {"since": "2026-05-01", "until": date(2026, 5, 31), "timezone": "Europe/Berlin"}
    page = document_of(talk, tmp_path, **window)
    assert page.values("data-id") == ["5", "2", "3"]
    bounds = "from 2026-05-01 00:00:00 +02:00 until 2026-05-31 23:59:59 +02:00, and 1 message without a time"
    assert bounds in page.text
    refused = (
        r"until = 2026-05-01: the window ends before it begins: expected a time after since = 2026-05-02"
    )
    with pytest.raises(RequestInvalidError, match=refused):
        write_document(tmp_path / "out", tmp_path / "x.html", since="2026-05-02", until="2026-05-01")
    moment = {"since": sent[0], "until": sent[0]}
    assert write_document(tmp_path / "out", tmp_path / "y.html", **moment).messages == 2
    assert not (tmp_path / "x.html").exists()


def test_a_chain_of_replies_may_be_of_any_length(tmp_path: Path) -> None:
    chain = [
        message(1, "first"),
        *(message(each, "reply", parentId=str(each - 1)) for each in range(2, 1_101)),
    ]
    assert document_of(chain, tmp_path).values("data-id") == [str(number) for number in range(1, 1_101)]


def test_a_document_that_could_not_be_made_leaves_nothing(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatrest.site.document._member_lines", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_document(out, tmp_path / "one.html")
    assert list(tmp_path.iterdir()) == []


def test_the_foot_has_the_hash_and_no_other_text_of_its_length(tmp_path: Path) -> None:
    key = "group_" + 58 * "g"
    page = document_of([message(1, "x", conversationId=key)], tmp_path, conversations=[key])
    foot = re.search(r'@bottom-left { content: "([^"]*)"; font', page.text)
    assert foot is not None
    assert "manifest" in foot[1]
    assert "gggg" not in foot[1]


def test_a_call_is_one_line_with_its_duration(tmp_path: Path) -> None:
    states = ["initiated", "ongoing", "ended"]
    calls = [
        message(number, "", category="call", type="audio", sentAt=1_800_000_000 + 90 * number, data={
            "action": state, "entities": {
                "by": {"entity": {"uid": "ann", "name": "Ann"}, "entityType": "user"},
                "on": {"entity": {"sessionid": "s1", "status": state}, "entityType": "call"}}})
        for number, state in enumerate(states, 1)
    ]  # fmt: skip
    page = document_of([*calls, message(4, "then")], tmp_path)
    assert page.values("data-id") == ["4", "1", "2", "3"]
    assert [name for name, _ in page.tags].count("article") == 2
    assert "Ann: audio call, 1 min 30 s" in page.text
    assert "4 of the same call: ended" in page.text
