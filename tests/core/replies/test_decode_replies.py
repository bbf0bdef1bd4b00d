"""The envelope, single records, users, tokens, apps, and any reply at all."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest._core.replies.decode import JSON, array, bare, many, one
from chatrest._core.replies.scanner import read_json
from chatrest._models.apps import AppInfo
from chatrest._models.messages import AddedMember, Message, MessageCount
from chatrest._models.meta import PageCounts
from chatrest._models.users import AuthToken, Entity, User
from chatrest.errors import ReplyUnreadableError
from tests.core.replies.documented import GOOD, KINDS, MESSAGE_ONE, PAGE, body
from tests.support.cases import loop_over


@loop_over(
    "served",
    [
        b"", b"null", b"[]", b"5", b'"x"', b"{}", b'{"data":null}', b'{"data":5}', b'{"data":"x"}',
        b'{"data":{"0":{}}}', b'{"meta":{}}', b"<html>", b'{"data":[', b'{"data":[]', b'{"data":[]}x',
        b"\xff\xfe", b'{"data":[{]}', b'{"error":{"code":"X"}}', b'{[]:1,"data":[]}',
    ],
)  # fmt: skip
def test_a_reply_without_the_envelope_is_unreadable(served: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        PAGE(served)


@given(st.binary(max_size=60) | st.text('{}[]:,"data metid\\0.-', max_size=40).map(str.encode))
def test_any_bytes_are_a_page_or_unreadable_and_nothing_else(served: bytes) -> None:
    for read in (
        PAGE,
        MESSAGE_ONE,
        bare(User),
        bare(Message),
        many(User),
        one(AuthToken),
        many(AppInfo),
        read_json,
    ):
        for each in (served, b'{"data":' + served + b"}", b'{"data":[' + served + b"]}"):
            with suppress(ReplyUnreadableError):
                read(each)


@loop_over(("record", "kind"), list(zip(GOOD, KINDS, strict=True)))
def test_one_record_is_read_from_data_or_an_array_of_one(record: Any, kind: type) -> None:
    message = MESSAGE_ONE(json.dumps({"data": record}).encode())
    assert type(message) is kind
    assert MESSAGE_ONE(json.dumps({"data": [record]}).encode()) == message


@loop_over(
    "served", [b'{"data":[]}', b'{"data":[{"id":"1"},{"id":"2"}]}', b'{"data":{}}', b'{"data":null}', b"{}"]
)
def test_none_or_several_records_are_not_one(served: bytes) -> None:
    with pytest.raises(ReplyUnreadableError, match=r"^data: expected"):
        MESSAGE_ONE(served)


@loop_over(
    "served",
    [
        {"data": {"id": "a"}}, {"data": [{"id": "a"}]}, {"data": {"data": {"id": "a"}}},
        {"data": [{"data": {"id": "a"}}]}, [{"data": {"id": "a"}}],
    ],
)  # fmt: skip
def test_one_record_is_read_in_every_wrapping_that_services_use(served: Any) -> None:
    assert one(AppInfo)(json.dumps(served).encode()) == AppInfo("a")


@loop_over("data", [5, "x", True, [5], [], {}, {"data": {}}, {"data": 5}, {"name": "n"}, {"id": None}])
def test_an_object_without_the_identifying_field_is_not_a_record(data: Any) -> None:
    with pytest.raises(ReplyUnreadableError, match=r"^data"):
        one(AppInfo)(json.dumps({"data": data}).encode())


def test_an_envelope_has_the_types_of_the_records() -> None:
    assert (many(User).record, many(User).identified_by) == (User, "uid")
    assert (many(Message).record, many(Message).identified_by) == (Message, "id")
    assert (many(MessageCount).record, many(MessageCount).identified_by) == (MessageCount, "identity")
    assert one(AuthToken).record is AuthToken
    assert bare(User).record is User


@loop_over(
    "served",
    [
        {"uid": "bob", "name": "Bob"},
        {"data": {"uid": "bob", "name": "Bob"}},
        {"data": [{"uid": "bob", "name": "Bob"}]},
        [{"uid": "bob", "name": "Bob"}],
        {"uid": "bob", "name": "Bob", "data": {"uid": "eve"}},
    ],
)
def test_a_record_is_read_at_the_root_and_in_data(served: Any) -> None:
    assert bare(User)(json.dumps(served).encode()) == User("bob", "Bob")
    assert bare(User)(b"\xef\xbb\xbf" + json.dumps(served, indent=1).encode()) == User("bob", "Bob")


@loop_over("body", [b"%b", b"[%b]", b'{"data": %b}', b'{"data": [%b]}', b'{"data": {"data": %b}}'])
def test_a_records_bytes_are_those_that_were_served(body: bytes) -> None:
    record = b'{"uid": "bob",\n "novel": 1.50, "n": {"a": [1]}}'
    served = body % record
    assert bare(User).record_bytes(served) == record
    if body.startswith(b"{"):
        assert one(User).record_bytes(served) == record


def test_a_record_whose_fields_are_all_optional_is_looked_for_in_data_first() -> None:
    assert bare(Entity)(b'{"data":{"uid":"bob"}}') == Entity(uid="bob")
    assert bare(Entity)(b'{"uid":"bob"}') == Entity(uid="bob")


def test_a_member_called_data_that_the_record_has_itself_is_no_wrapper() -> None:
    assert bare(AddedMember)(b'{"success":true,"data":{"id":"5"}}') == AddedMember(True, data={"id": "5"})


@loop_over(
    "served",
    [b"", b"5", b"null", b"[]", b"[1,2]", b"{}", b'{"name":"Bob"}', b'{"data":[]}', b'{"data":"x"}',
     b"<html>", b'{"uid":{}}', b'{"error":{"code":"X"}}'],
)  # fmt: skip
def test_a_root_that_is_not_a_record_is_unreadable(served: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        bare(User)(served)


def test_an_error_in_the_place_of_a_record_is_unreadable() -> None:
    with pytest.raises(ReplyUnreadableError, match="holds an error"):
        bare(Entity)(b'{"error":{"code":"X"}}')


@pytest.mark.parametrize("form", [b"%b", b'{"data":%b}', b" %b\n"])
def test_a_list_may_be_an_array_at_the_root(form: bytes) -> None:
    served = form % b'[{"uid":"a"},{"uid":5}]'
    page = array(User)(served)
    assert [user.uid for user in page.items] == ["a", "5"]
    assert page.raw is served
    assert page.repairs == ("data[1].uid: expected text, got whole number",)
    assert array(User)(form % b"[]").items == []


@loop_over("served", [b"", b"5", b"{}", b'[{"uid":"a"}', b'{"error":{"code":"X"}}', b'[{"name":"n"}]'])
def test_data_that_is_not_an_array_of_records_is_unreadable(served: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        array(User)(served)


def test_a_list_of_another_form_is_read_as_the_usual_list() -> None:
    def of_groups(reply: Any) -> dict[str, Any] | None:
        return {"data": reply["users"], "meta": {"current": {"count": 1}}} if "users" in reply else None

    page = many(User, of_groups)(b'{"users":[{"uid":"a"}]}')
    assert [user.uid for user in page.items] == ["a"]
    assert page.meta.current == PageCounts(count=1)
    assert many(User, of_groups)(b'{"data":[{"uid":"b"}]}').items[0].uid == "b"
    with pytest.raises(ReplyUnreadableError, match="data: expected records, got nothing"):
        many(User, of_groups)(b'{"members":[]}')


def test_a_bad_member_of_one_user_costs_the_page_nothing() -> None:
    odd = {"uid": "eve", "tags": 5, "createdAt": "soon", "metadata": "x", "name": None, "status": ["x"]}
    page = many(User)(body([{"uid": "bob"}, odd, {"uid": "carol", "tags": "x"}]))
    assert page.items == [User("bob"), User("eve"), User("carol")]
    assert page.repairs == (
        "data[1].name: expected text, got null",
        "data[1].status: expected text, got array",
        "data[1].createdAt: expected whole number, got text",
        "data[1].metadata: expected object, got text",
        "data[1].tags: expected array, got whole number",
        "data[2].tags: expected array, got text",
    )


@loop_over(
    ("record", "fault"),
    [
        ({"name": "Eve"}, r"^data\[1\]\.uid: expected text, got nothing$"),
        ({"uid": None}, r"^data\[1\]\.uid: expected text, got null$"),
        ({"uid": []}, r"^data\[1\]\.uid: expected text, got array$"),
        (None, r"^data\[1\]: expected object, got null$"),
    ],
)
def test_an_unreadable_record_is_named_by_index(record: Any, fault: str) -> None:
    with pytest.raises(ReplyUnreadableError, match=fault):
        many(User)(body([{"uid": "bob"}, record]))


@pytest.mark.parametrize("served", [b'{"uid":"bob"}', b'{"uid":"bob","authToken":null}'])
def test_a_reply_without_a_token_is_unreadable(served: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        one(AuthToken)(b'{"data":' + served + b"}")


def test_any_json_is_returned_unchanged_and_an_empty_body_as_none() -> None:
    assert JSON is read_json
    assert read_json(b'{"a":[1,null]}') == {"a": [1, None]}
    assert read_json(b"") is None
    assert read_json(b'"\\ud800"') == "\ud800"
    with pytest.raises(ReplyUnreadableError):
        read_json(b"<html>")
