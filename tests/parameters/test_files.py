"""Files to upload: their names and types, what they are made of, and which can be sent again."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from msgspec import UNSET, UnsetType

from chatrest import File
from chatrest._parameters.checked import Body
from chatrest._parameters.files import Upload
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over


class Photo(Body, frozen=True, kw_only=True, rename="camel"):
    """A body with a file."""

    small_photo: Upload | UnsetType = UNSET


@pytest.fixture
def pipe() -> Iterator[BinaryIO]:
    """An open file that holds `hello` and cannot be rewound."""
    reading, writing = os.pipe()
    os.write(writing, b"hello")
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        yield file


@loop_over(
    ("source", "name", "content_type"),
    [
        ("folder/terms.csv", "terms.csv", "text/csv"),
        (Path("photo.png"), "photo.png", "image/png"),
        (b"a,b", "file", "application/octet-stream"),
        (io.BytesIO(b"a,b"), "file", "application/octet-stream"),
        ("no-ending", "no-ending", "application/octet-stream"),
    ],
)
def test_name_and_type_come_from_the_path(source: Any, name: str, content_type: str) -> None:
    file = File(source)
    assert (file.name, file.content_type) == (name, content_type)


def test_an_open_file_has_the_name_of_its_path(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    with (tmp_path / "a.json").open("rb") as opened:
        assert (File(opened).name, File(opened).content_type) == ("a.json", "application/json")


def test_a_pipe_whose_name_is_a_number_has_none(pipe: BinaryIO) -> None:
    assert File(pipe).name == "file"


def test_name_and_type_can_be_given() -> None:
    file = File(b"a,b", name="terms.csv", content_type="text/plain; charset=utf-8")
    assert (file.name, file.content_type) == ("terms.csv", "text/plain; charset=utf-8")
    assert repr(file) == "<File 'terms.csv', text/plain; charset=utf-8>"


def test_the_type_is_guessed_from_a_given_name() -> None:
    assert File(b"a,b", name="terms.csv").content_type == "text/csv"


@loop_over("source", [None, 5, "", "a\0b", io.StringIO("text"), [b"x"], b"a".decode, b""[:0].strip])
def test_another_source_is_refused(source: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^source = .*: expected the path of a file, an object"):
        File(source)


def test_a_closed_file_is_refused() -> None:
    closed = io.BytesIO(b"x")
    closed.close()
    with pytest.raises(RequestInvalidError, match=r"^source = \[BytesIO\]"):
        File(closed)


@loop_over("text", ["", "a\r\nb", "a\0", 5, b"a"])
@loop_over("argument", ["name", "content_type"])
def test_a_name_or_type_that_cannot_stand_in_a_header_is_refused(argument: str, text: Any) -> None:
    with pytest.raises(RequestInvalidError, match=rf"^{argument} = "):
        File(b"x", **{argument: text})


@loop_over(
    ("value", "name"),
    [(Path("a.csv"), "a.csv"), (File("a.csv"), "a.csv"), (b"a,b", "file"), (io.BytesIO(b"a,b"), "file")],
)
def test_a_field_takes_whatever_makes_a_file_but_a_text(value: Any, name: str) -> None:
    photo = Photo(small_photo=value).small_photo
    assert isinstance(photo, File)
    assert photo.name == name


@loop_over("value", ["a.csv", 5, [], io.StringIO("text")])
def test_a_field_takes_nothing_else(value: Any) -> None:
    with pytest.raises(
        RequestInvalidError,
        match=r"^small_photo = .*: expected a chatrest\.File, the Path of a file, an open",
    ):
        Photo(small_photo=value)


def test_an_open_file_is_rewound_to_where_it_stood() -> None:
    opened = io.BytesIO(b"head,a,b")
    opened.seek(5)
    file = File(opened)
    for _ in range(2):
        assert file.rewind() == 3
        file.mark_read()
        assert opened.read() == b"a,b"
    assert not file.is_spent


def test_a_pipe_is_spent_when_it_was_read(pipe: BinaryIO) -> None:
    file = File(pipe, name="a.csv")
    assert file.rewind() is None
    assert file.rewind() is None
    file.mark_read()
    assert file.is_spent
    with pytest.raises(RequestInvalidError, match=r"^file 'a\.csv': it has been read, and cannot be rewound"):
        file.rewind()


@pytest.mark.parametrize("source", ["a.csv", b"a,b"])
def test_a_path_and_bytes_are_never_spent(source: Any) -> None:
    file = File(source)
    file.mark_read()
    assert not file.is_spent
