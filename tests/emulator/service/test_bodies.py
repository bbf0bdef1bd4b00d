"""Forms, and bodies of forms."""

import pytest
from msgspec import UNSET, UnsetType
from msgspec.json import encode

from chatrest.emulator.service.bodies import Body, UploadedFile, read_form, read_parts
from chatrest.emulator.service.refusals import Refusal

TYPE = "multipart/form-data; boundary=xyz"


class TermsBody(Body):
    """A body with a list and a file."""

    category: str
    is_small: bool = False
    all_terms: list[str] | UnsetType = UNSET
    file: UploadedFile | UnsetType = UNSET


def part(disposition: str, content: bytes, content_type: str = "") -> bytes:
    head = f"Content-Disposition: form-data; {disposition}\r\n"
    head += f"Content-Type: {content_type}\r\n" if content_type else ""
    return b"--xyz\r\n" + head.encode() + b"\r\n" + content + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--xyz--\r\n"


def test_texts_and_files_are_read_byte_for_byte() -> None:
    data = b"\r\na\x00\xff\n\r\n--xy\r\n"
    body = form(
        part('name="a"', "wörd".encode()),
        part('name="file"; filename="größe \\"1\\".csv"', data, "text/csv"),
        part('name="a"', b""),
    )
    assert read_parts(TYPE, body) == {
        "a": ["wörd", ""], "file": [UploadedFile('größe "1".csv', "text/csv", data)]
    }  # fmt: skip


def test_an_empty_form_has_no_parts() -> None:
    assert read_parts('multipart/form-data; boundary="xyz"', form()) == {}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (TYPE, b""),
        (TYPE, b"--xyz\r\n"),
        (TYPE, form(part('name="a"', b"x"))[:-6]),
        (TYPE, b"junk" + form()),
        (TYPE, form(b"--xyz\r\nno head\r\n")),
        (TYPE, form(part("nothing", b"x"))),
        ("multipart/form-data", form()),
        ("multipart/form-data; boundary=other", form()),
    ],
)
def test_what_is_no_form_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        read_parts(content_type, body)
    assert (caught.value.status, caught.value.error["code"]) == (400, "ERR_BAD_REQUEST")


def test_a_form_becomes_a_body() -> None:
    body = form(
        part('name="category"', b"word"),
        part('name="isSmall"', b"true"),
        part('name="allTerms"', b"one"),
        part('name="file"; filename="a.csv"', b"a,b"),
    )
    read = read_form(TYPE, body, TermsBody)
    assert read == TermsBody(
        category="word", is_small=True, all_terms=["one"], file=UploadedFile("a.csv", "text/plain", b"a,b")
    )


def test_json_is_taken_in_the_place_of_a_form() -> None:
    read = read_form("application/json", encode({"category": "word", "allTerms": ["a"]}), TermsBody)
    assert (read.category, read.all_terms) == ("word", ["a"])


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ([], "category"),
        ([part('name="category"; filename="a"', b"x")], "category"),
        ([part('name="category"', b"x"), part('name="isSmall"', b"perhaps")], "isSmall"),
        ([part('name="category"', b"x"), part('name="file"', b"no file")], "file"),
    ],
)
def test_a_wrong_member_is_refused_by_its_name(parts: list[bytes], field: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_form(TYPE, form(*parts), TermsBody)
    assert list(caught.value.error["details"]) == [field]
