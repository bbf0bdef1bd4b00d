"""From a body to the parts of a form."""

import os
from typing import Any

import pytest
from msgspec import UNSET, UnsetType, field

from chatrest import File
from chatrest._core.requests.endpoint import Endpoint
from chatrest._core.requests.form import Form, form
from chatrest._core.requests.wire import Headers, Request, request
from chatrest._parameters.checked import Body, Filter, Flag, Json, Text, Texts
from chatrest._parameters.files import Upload
from chatrest.errors import RequestInvalidError


class Terms(Body, frozen=True, kw_only=True, rename="camel"):
    """A body of every kind of part."""

    category: Text
    is_small: Flag | UnsetType = UNSET
    all_terms: Texts | UnsetType = UNSET
    meta: Json | UnsetType = UNSET
    file: Upload | UnsetType = UNSET


class Version(Filter, frozen=True, kw_only=True):
    """A header."""

    x_version: int | None = field(default=2, name="X-Version")


UPLOAD: Endpoint[Any] = Endpoint(
    "terms.create", "POST", "/terms", bytes, "never", body=Terms, media="multipart", headers=Version
)


def test_a_member_that_is_given_is_a_part() -> None:
    file = File(b"a,b")
    body = Terms(category="word", is_small=False, all_terms=["a,b", "c"], meta={"n": [1]}, file=file)
    assert form(body).parts == (
        ("category", "word"), ("isSmall", "false"), ("allTerms", "a,b"), ("allTerms", "c"),
        ("meta", '{"n":[1]}'), ("file", file),
    )  # fmt: skip
    assert form(Terms(category="word")).parts == (("category", "word"),)


def test_a_mapping_is_taken_as_it_is() -> None:
    assert form({"a": 1, "b": 2.5, "c": True}).parts == (("a", "1"), ("b", "2.5"), ("c", "true"))


@pytest.mark.parametrize("value", [b"bytes", object(), None])
def test_what_a_form_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(RequestInvalidError, match=r"^a = .*: expected a text, a number"):
        form({"a": value})


def test_a_form_is_spent_with_one_of_its_files() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        spent = File(pipe)
        both = Form((("a", File(b"x")), ("b", spent)))
        assert not both.is_spent
        spent.mark_read()
        assert both.is_spent
        assert Request("POST", "http://localhost/x", {}, both).is_spent


def test_the_body_of_a_multipart_operation_is_a_form() -> None:
    call = UPLOAD(body=Terms(category="word"))
    sent = request(call, "http://localhost", Headers(), "comma")
    assert sent.body == Form((("category", "word"),))
    assert sent.headers == {}
    assert not sent.is_spent


@pytest.mark.parametrize(("version", "expected"), [(2, {"X-Version": "2"}), (None, {})])
def test_the_headers_of_a_call_are_sent(version: int | None, expected: dict[str, str]) -> None:
    call = UPLOAD(body=Terms(category="word"), headers=Version(x_version=version))
    sent = request(call, "http://localhost", Headers(apikey="k"), "comma")
    assert sent.headers == {"apikey": "k", **expected}


def test_a_header_that_chatrest_writes_itself_is_refused() -> None:
    call = UPLOAD(body=Terms(category="word"), headers={"apikey": "x"})
    with pytest.raises(RequestInvalidError, match=r"^headers: chatrest writes the header 'apikey' itself$"):
        request(call, "http://localhost", Headers(), "comma")
