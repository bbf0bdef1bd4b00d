"""Queries and bodies, parsed by the endpoints of the operations; and lists that go on by a position."""

import json
from typing import Any

import pytest

from chatrest._resources import OPERATIONS
from chatrest.emulator.service.arguments import read_body, read_query
from chatrest.emulator.service.refusals import ServiceRefusal
from chatrest.emulator.service.replies import ListForm, encode_page
from tests.cases import loop_over

LIST = OPERATIONS["messages.list"]
KEYWORDS = OPERATIONS["moderation.create_keyword_list"]
TYPE = "multipart/form-data; boundary=xyz"


@loop_over("query", ["tags=a,b", "tags=a&tags=b", "tags[]=a&tags%5B%5D=b", "tags=&tags=a,,b"])
def test_a_list_comes_as_comma_list_repeated_key_or_brackets(query: str) -> None:
    assert read_query(query, LIST) == {"tags": ("a", "b")}


def test_values_have_the_types_of_the_filter_and_unknown_ones_stay_texts() -> None:
    query = "unread=1&count=false&per_page=3&perPage=7&sentAt[to]=5&mentionswithTagInfo=1&page=1&receiver=x"
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
def test_forms(more: bytes, expected: Any) -> None:
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
def test_what_is_no_form_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(ServiceRefusal) as caught:
        read_body(body, content_type, KEYWORDS)
    assert (caught.value.code, list(caught.value.error["details"])) == ("ERR_BAD_REQUEST", ["body"])


def test_a_body_has_the_members_and_the_defaults_of_its_struct() -> None:
    assert read_body(b'{"name":"n","more":1}', "", OPERATIONS["apps.create"]) == {"name": "n", "region": "us"}
    assert read_body(b"junk", "", OPERATIONS["users.get"]) == {}


PAGES, CURSORS = ListForm("position", "at", "from", 2), ListForm("cursor", "id", "cursor")
ENTRIES = [{"id": name, "at": at} for name, at in zip("abcdef", (1, 2, 2, 3, 10, 11), strict=True)]


def page(form: ListForm = PAGES, **query: Any) -> tuple[str, Any]:
    sent = {name.rstrip("_"): value for name, value in query.items()}
    reply = json.loads(encode_page(sent, ENTRIES[:5] if form is CURSORS else ENTRIES, form))
    return "".join(entry["id"] for entry in reply["data"]), reply["meta"]


def test_pages_go_on_from_a_position_in_both_directions_and_never_part_those_of_one() -> None:
    ids, meta = page()
    assert (ids, meta["current"]) == ("abc", {"limit": 2, "count": 3})
    assert (meta["previous"], meta["next"]) == ({"affix": "prepend", "at": ""}, {"affix": "append", "at": 2})
    assert page(from_=2)[0] == "de"
    assert page(from_=10)[1]["next"] == {"affix": "append", "at": 11}
    ids, meta = page(from_=11)
    assert (ids, meta["current"], meta["next"]) == (
        "",
        {"limit": 2, "count": 0},
        {"affix": "append", "at": 11},
    )
    assert page(affix="prepend")[0] == "fe"
    ids, meta = page(affix="prepend", from_=10, limit=3)
    assert (sorted(ids), meta["next"]) == (["b", "c", "d"], {"affix": "prepend", "at": 2})
    assert meta["previous"] == {"affix": "append", "at": 3}


def test_pages_by_a_cursor_name_a_next_one_where_there_is_one() -> None:
    for affix, expected in (("append", ["ed", "cb", "a"]), ("prepend", ["ab", "cd", "e"])):
        shown, query = [], {"limit": 2, "affix": affix}
        while query:
            ids, meta = page(CURSORS, **query)
            shown.append(ids)
            query = {"limit": 2, **meta["next"]} if "next" in meta else {}
        assert shown == expected
