"""Queries and bodies, parsed by the endpoints of the operations."""

from typing import Any

import pytest

from chatrest._resources import OPERATIONS
from chatrest.emulator.service.handler_input import read_body, read_query
from chatrest.emulator.service.refusals import ServiceRefusal
from tests.emulator.conftest import ServiceClient
from tests.support.cases import loop_over

LIST = OPERATIONS["messages.list"]
KEYWORDS = OPERATIONS["moderation.create_keyword_list"]
TYPE = "multipart/form-data; boundary=xyz"


@loop_over("query", ["tags=a,b", "tags=a&tags=b", "tags[]=a&tags%5B%5D=b", "tags=&tags=a,,b"])
def test_a_list_is_read_from_commas_repeated_keys_or_brackets(query: str) -> None:
    assert read_query(query, LIST) == {"tags": ("a", "b")}


def test_values_have_the_types_of_the_filter_and_unknown_ones_stay_texts() -> None:
    query = "unread=1&count=false&per_page=3&perPage=7&sentAt[to]=5&mentionswithTagInfo=1&page=1&receiver=x"
    query += "&sentAt[from]=null"
    assert read_query(query, LIST) == {
        "unread": True, "count": False, "perPage": 7, "sentAt[to]": 5, "mentionsWithTagInfo": True, "page": 1,
        "receiver": "x",
    }  # fmt: skip


@loop_over(
    ("query", "name"),
    [
        ("limit=0", "limit"), ("page=0", "page"), ("limit=1001", "limit"), ("id=x", "id"),
        ("unread=maybe", "unread"),
        ("affix=up", "affix"), ("attachmentTypes=image,poem", "attachmentTypes"),
        ("sentAt[from]=x", "sentAt[from]"), (f"id={10**18 + 1}", "id"), ("searchKey=null&pinned=2", "pinned"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_refused_by_its_name(query: str, name: str) -> None:
    with pytest.raises(ServiceRefusal) as caught:
        read_query(query, LIST)
    assert (caught.value.status, list(caught.value.error["details"])) == (400, [name])


def part(disposition: str, content: bytes) -> bytes:
    return b"--xyz\r\nContent-Disposition: form-data; %b\r\n\r\n%b\r\n" % (disposition.encode(), content)


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + b"--xyz--\r\n"


WORD = part('name="category"', b"word")


@loop_over(
    ("more", "expected"),
    [
        (part('name="searchTerms"', "wörd,b".encode()), {"searchTerms": "wörd,b"}),
        (part('name="disallowedSentences"', b"one"), {"disallowedSentences": ("one",)}),
        (part('name="name"', b"a") + part('name="name"', b"b"), None),
        (
            part('name="file"; filename="gr\xc3\xb6\xc3\x9f.csv"', b"\r\na\x00\n\r\n--xy\r\n"),
            {"file": "\r\na\x00\n\r\n--xy\r\n"},
        ),
        (part('name="file"', b"no file"), None),
    ],
)
def test_a_form_has_texts_lists_and_files(more: bytes, expected: Any) -> None:
    if expected is None:
        with pytest.raises(ServiceRefusal):
            read_body(form(WORD, more), TYPE, KEYWORDS)
    else:
        assert read_body(form(WORD, more), TYPE, KEYWORDS) == {"category": "word"} | expected


@loop_over(
    ("content_type", "body"),
    [
        (TYPE, b""),
        (TYPE, b"--xyz\r\n"),
        (TYPE, form(WORD)[:-6]),
        ("multipart/form-data", form(WORD)),
        ("multipart/form-data; boundary=other", form(WORD)),
        ("multipart/form-data; boundary=\udcff", form(WORD)),
        ("application/json", form(WORD)),
    ],
)
def test_a_body_that_is_no_form_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(ServiceRefusal) as caught:
        read_body(body, content_type, KEYWORDS)
    assert (caught.value.code, list(caught.value.error["details"])) == ("ERR_BAD_REQUEST", ["body"])


def test_a_body_has_the_members_and_the_defaults_of_its_struct() -> None:
    assert read_body(b'{"name":"n","more":1}', "", OPERATIONS["apps.create"]) == {"name": "n", "region": "us"}
    assert read_body(b"junk", "", OPERATIONS["users.get"]) == {}


def test_a_body_nested_beyond_all_bounds_is_refused(ask: ServiceClient) -> None:
    answer = ask.post("/v3/users", b'{"metadata":{"a":' + b"[" * 9000)
    assert (answer.status, list(answer.json["error"]["details"])) == (400, ["body"])
