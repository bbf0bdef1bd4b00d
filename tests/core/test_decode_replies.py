"""The envelope, single records, users, tokens, apps, and any reply at all."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest.core.decode import many, one, read_json
from chatrest.errors import ReplyUnreadableError
from chatrest.models.app import AppInfo
from chatrest.models.message import (
    UnknownMessage,
)
from chatrest.models.meta import Pagination, Position
from chatrest.models.user import AuthToken, User
from tests.core.documented import (
    GOOD,
    KINDS,
    MESSAGE_ONE,
    PAGE,
    TEXT,
    body,
    some,
)

# ── the envelope ──


@pytest.mark.parametrize(
    "served",
    [
        b"",
        b"null",
        b"[]",
        b"5",
        b'"x"',
        b"{}",
        b'{"data":null}',
        b'{"data":5}',
        b'{"data":"x"}',
        b'{"data":{"0":{}}}',
        b'{"meta":{}}',
        b"<html>",
        b'{"data":[',
        b'{"data":[]',
        b'{"data":[]}x',
        b"\xff\xfe",
        b'{"data":[{]}',
        b'{"error":{"code":"X"}}',
        b'{[]:1,"data":[]}',
    ],
)
def test_what_is_not_the_envelope_is_unreadable(served: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        PAGE(served)


def test_an_object_with_an_id_stands_for_a_list_of_one() -> None:
    assert PAGE(json.dumps({"data": TEXT}).encode()).items == PAGE(body([TEXT])).items


@some
@given(st.binary(max_size=60) | st.text('{}[]:,"data metid\\0.-', max_size=40).map(str.encode))
def test_any_bytes_are_a_page_or_unreadable_and_nothing_else(served: bytes) -> None:
    for read in (PAGE, MESSAGE_ONE, many(User), one(AuthToken), many(AppInfo), read_json):
        for each in (served, b'{"data":' + served + b"}", b'{"data":[' + served + b"]}"):
            with suppress(ReplyUnreadableError):
                read(each)


@pytest.mark.parametrize(
    "meta",
    [
        {},
        [],
        None,
        {"pagination": []},
        {"pagination": None, "cursor": None},
        {"cursor": []},
        {"next": {"affix": "append"}},
    ],
)
def test_an_odd_meta_fails_no_page(meta: Any) -> None:
    assert [item.id for item in PAGE(body([TEXT], meta)).items] == ["1002"]


def test_a_meta_of_odd_types_is_mended_and_told() -> None:
    page = PAGE(
        body(
            [TEXT], {"pagination": {"total": "3", "per_page": 5.0}, "cursor": {"id": "77", "affix": "append"}}
        )
    )
    assert page.meta.pagination == Pagination(3, None, 5)
    assert page.meta.cursor == Position("append", "77")
    assert all(note.startswith("meta.pagination.") for note in page.repairs)


def test_a_mark_too_large_for_a_machines_integer_is_kept() -> None:
    assert PAGE(body([TEXT], {"cursor": {"id": 10**30, "affix": "append"}})).meta.cursor == Position(
        "append", 10**30
    )


# ── one record ──


@pytest.mark.parametrize(("record", "kind"), list(zip(GOOD, KINDS, strict=True)))
def test_one_record_is_read_in_its_envelope_or_in_an_array_of_one(record: Any, kind: type) -> None:
    message = MESSAGE_ONE(json.dumps({"data": record}).encode())
    assert type(message) is kind
    assert MESSAGE_ONE(json.dumps({"data": [record]}).encode()) == message


@pytest.mark.parametrize(
    "served", [b'{"data":[]}', b'{"data":[{"id":"1"},{"id":"2"}]}', b'{"data":{}}', b'{"data":null}', b"{}"]
)
def test_none_or_several_records_are_not_one(served: bytes) -> None:
    with pytest.raises(ReplyUnreadableError, match=r"^data: expected"):
        MESSAGE_ONE(served)


def test_one_record_of_a_kind_not_known_is_kept() -> None:
    message = MESSAGE_ONE(b'{"data":{"id":5,"category":"poll"}}')
    assert isinstance(message, UnknownMessage)
    assert (message.id, message.raw) == ("5", b'{"id":5,"category":"poll"}')


# ── users, tokens, apps ──


def test_a_user_is_mended_where_it_can_be() -> None:
    page = many(User)(b'{"data":[{"uid":5,"createdAt":"7","metadata":[],"hasBlockedMe":1},{"uid":"b"}]}')
    mended = page.items[0]
    assert (mended.uid, mended.created_at, mended.metadata, mended.has_blocked_me) == ("5", 7, {}, True)
    assert len(page.repairs) == 4


def test_a_user_that_is_none_is_unreadable() -> None:
    with pytest.raises(ReplyUnreadableError, match=r"data\[0\]"):
        many(User)(b'{"data":[5]}')


def test_a_token_is_read() -> None:
    token = one(AuthToken)(b'{"data":{"uid":"bob","authToken":"t","createdAt":"5","appInfo":{"a":1}}}')
    assert (token.uid, token.auth_token, token.created_at, token.app_info) == ("bob", "t", 5, {"a": 1})


@pytest.mark.parametrize("served", [b'{"uid":"bob"}', b'{"uid":"bob","authToken":null}'])
def test_a_reply_without_its_token_is_not_an_empty_token(served: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        one(AuthToken)(b'{"data":' + served + b"}")


def test_an_app_is_read_from_a_list_or_alone() -> None:
    app = b'{"id":"a","name":"A","region":"us","owner":5,"apiKeys":{"k":{"scope":"authOnly"}}}'
    assert many(AppInfo)(b'{"data":' + app + b"}").items == many(AppInfo)(b'{"data":[' + app + b"]}").items


# ── read_json ──


def test_any_json_is_taken_as_it_is_and_nothing_as_none() -> None:
    assert read_json(b'{"a":[1,null]}') == {"a": [1, None]}
    assert read_json(b"") is None
    assert read_json(b'"\\ud800"') == "\ud800"
    with pytest.raises(ReplyUnreadableError):
        read_json(b"<html>")
