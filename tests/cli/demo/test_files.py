"""The demo's directory: whole files or none, and nobody else's touched."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from chatrest import RequestInvalidError
from chatrest.cli.demo.files import MARK, Folder, JsonLines, file_name


@pytest.mark.parametrize(
    ("uid", "name"),
    [
        ("user-01", "user-01"),
        ("a/b", "a%2Fb"),
        ("..", "%2E."),
        (".hidden", "%2Ehidden"),
        ("a\0\n", "a%00%0A"),
        ("☃", "%E2%98%83"),
        ("\ud800", "%ED%A0%80"),
    ],
)
def test_a_uid_as_a_file_name(uid: str, name: str) -> None:
    assert file_name(uid) == name


@given(st.text(st.characters(), min_size=1), st.text(st.characters(), min_size=1))
def test_any_uid_has_a_name_of_its_own_that_any_system_takes(one: str, other: str) -> None:
    name = file_name(one)
    assert name.isascii()
    assert "/" not in name
    assert not name.startswith(".")
    assert 0 < len(name) < 200
    assert (name == file_name(other)) == (one == other)


def test_long_uids_with_one_beginning_stay_apart() -> None:
    assert file_name("x" * 500) != file_name("x" * 501)


def test_a_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "below" / "x.jsonl"
    with JsonLines(path) as file:
        file.write([b"1", b"2"])
        assert not path.exists()
    assert path.read_bytes() == b"1\n2\n"
    assert file.size == 4
    assert [entry.name for entry in path.parent.iterdir()] == ["x.jsonl"]


def test_a_file_that_never_gets_whole_leaves_the_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"earlier\n")
    file = JsonLines(path)
    file.write([b"1"])
    file.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert path.read_bytes() == b"earlier\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.jsonl"]


def test_nothing_written_is_no_file(tmp_path: Path) -> None:
    with JsonLines(tmp_path / "x.jsonl"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_run_replaces_the_files_of_the_one_before_and_no_others(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = Folder(out)
    first.plan(["u/a.jsonl", "u/b.jsonl", "m.jsonl"])
    for name in ("u/a.jsonl", "m.jsonl"):
        with first.file(name) as file:
            file.write([b"1"])
    (out / "u" / "b.jsonl.part").write_bytes(b"cut sh")
    (out / "notes.txt").write_text("mine")
    second = Folder(out)
    second.plan(["m.jsonl"])
    assert sorted(entry.name for entry in out.iterdir()) == [MARK, "notes.txt"]


def test_the_mark_names_what_is_there_at_the_end(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    folder.plan(["a.jsonl", "b.jsonl"])
    with folder.file("b.jsonl") as file:
        file.write([b"1"])
    folder.finish({"messages": 1})
    mark = json.loads((tmp_path / "out" / MARK).read_bytes())
    assert mark == {"made_by": "chatrest demo", "files": ["b.jsonl"], "report": {"messages": 1}}


def test_a_directory_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "precious.jsonl").write_text("{}")
    for mark in (None, b"", b"{}", b'{"made_by": "me", "files": ["precious.jsonl"]}'):
        if mark is not None:
            (theirs / MARK).write_bytes(mark)
        with pytest.raises(RequestInvalidError, match="not touched"):
            Folder(theirs).plan(["x.jsonl"])
    assert (theirs / "precious.jsonl").exists()
    with pytest.raises(RequestInvalidError, match="no directory"):
        Folder(theirs / "precious.jsonl").claim()


def test_an_empty_directory_is_taken(tmp_path: Path) -> None:
    Folder(tmp_path).plan([])
    assert [entry.name for entry in tmp_path.iterdir()] == [MARK]


@pytest.mark.parametrize("name", ["../precious.jsonl", "/precious.jsonl", "a/../../precious.jsonl", "x.txt"])
def test_a_forged_mark_reaches_nothing_outside(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    precious = [tmp_path / "precious.jsonl", out / "x.txt"]
    for path in precious:
        path.write_text("{}")
    forged = str(tmp_path / "precious.jsonl") if name.startswith("/") else name
    (out / MARK).write_text(json.dumps({"made_by": "chatrest demo", "files": [forged]}))
    Folder(out).plan([])
    assert all(path.exists() for path in precious)
