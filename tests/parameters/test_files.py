"""Files to upload: their names and types, and what they are made of."""

import io
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, UnsetType

from chatrest import File
from chatrest._parameters.checked import Body
from chatrest._parameters.files import Upload
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over


class Photo(Body, frozen=True, kw_only=True, rename="camel"):
    small_photo: Upload | UnsetType = UNSET


@pytest.mark.parametrize(
    ("file_name", "content_type"),
    [("terms.csv", "text/csv"), ("photo.png", "image/png"), ("no-ending", "application/octet-stream")],
)
def test_name_and_type_come_from_the_path(tmp_path: Path, file_name: str, content_type: str) -> None:
    path = tmp_path / file_name
    path.write_bytes(b"a,b")
    with path.open("rb") as opened:
        for source in (path, str(path), opened):
            file = File(source)
            assert (file.name, file.content_type, file.content) == (file_name, content_type, b"a,b")


OPENED = io.BytesIO(b"head,a,b")
OPENED.seek(5)


@loop_over("source", [b"a,b", bytearray(b"a,b"), OPENED])
def test_a_source_without_a_path_has_a_plain_name(source: Any) -> None:
    file = File(source)
    assert not getattr(source, "closed", False)
    assert (file.name, file.content_type, file.content) == ("file", "application/octet-stream", b"a,b")


def test_a_pipe_is_read_and_has_no_name() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"hello")
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        file = File(pipe)
    assert (file.name, file.content) == ("file", b"hello")


def test_name_and_type_can_be_given() -> None:
    file = File(b"a,b", name="terms.csv", content_type="text/plain; charset=utf-8")
    assert repr(file) == "<File 'terms.csv', text/plain; charset=utf-8>"
    assert File(b"a,b", name="terms.csv").content_type == "text/csv"


CLOSED = io.BytesIO(b"x")
CLOSED.close()


@loop_over("source", [None, 5, "", "a\0b", io.StringIO("text"), [b"x"], b"a".decode, b""[:0].strip, CLOSED])
def test_another_source_is_refused(source: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^source = .*: expected the path of a file, an object"):
        File(source)


@pytest.mark.parametrize(
    ("name", "reason"), [("gone.csv", "No such file"), (".", "it is not a reg"), ("pipe", "it is not a reg")]
)
def test_a_file_that_cannot_be_read_is_an_error_when_it_is_made(
    tmp_path: Path, name: str, reason: str
) -> None:
    os.mkfifo(tmp_path / "pipe")  # who opens it to read waits for ever
    with pytest.raises(RequestInvalidError, match=rf"^file '.*' cannot be read: {reason}"):
        File(tmp_path / name)
    with pytest.raises(RequestInvalidError, match=rf"^small_photo: file '.*' cannot be read: {reason}"):
        Photo(small_photo=tmp_path / name)


@loop_over("text", ["", "a\r\nb", "a\0", 5, b"a"])
@loop_over("argument", ["name", "content_type"])
def test_a_name_or_type_that_cannot_stand_in_a_header_is_refused(argument: str, text: Any) -> None:
    with pytest.raises(RequestInvalidError, match=rf"^{argument} = "):
        File(b"x", **{argument: text})


@loop_over("value", [Path(__file__), File(__file__), b"a,b", io.BytesIO(b"a,b")])
def test_a_field_takes_whatever_makes_a_file_but_a_text(value: Any) -> None:
    photo = Photo(small_photo=value).small_photo
    assert isinstance(photo, File)
    assert b"a,b" in photo.content


@loop_over("value", ["a.csv", 5, [], io.StringIO("text")])
def test_a_field_takes_nothing_else(value: Any) -> None:
    with pytest.raises(
        RequestInvalidError,
        match=r"^small_photo = .*: expected a chatrest\.File, the Path of a file, an open",
    ):
        Photo(small_photo=value)
