"""Replies that are written to be slow or large: their cost is bounded, and the event loop keeps running."""

import asyncio
import gc
import gzip
import logging
import pickle
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import quote

import pytest

from chatrest import (
    ApiError,
    AsyncSession,
    ChatRestError,
    DeadlineExceededError,
    NewMessage,
    NotFoundError,
    ReplyUnreadableError,
    RetryPolicy,
)
from chatrest._core.replies import bounds as reply_bounds
from chatrest._core.replies.bounds import INLINE_BYTES, MAX_RECORDS, MAX_VALUES, check_values
from chatrest._core.replies.decode import ManyRecords, many
from chatrest._core.replies.rows import row_reader
from chatrest._core.replies.scanner import read_json
from chatrest._models.messages import Message
from chatrest._models.users import User
from chatrest._network.reply_results import decode_large
from chatrest._parameters.notifications import PushTokenQuery
from tests.support.cases import loop_over
from tests.support.scripted_server import FaultyServer, reply

pytestmark = pytest.mark.usefixtures("tidy")


def array(item: bytes, count: int) -> bytes:
    return b"[" + b",".join([item] * count) + b"]"


def packed(body: bytes, status: int = 200) -> bytes:
    return reply(gzip.compress(body), status, content_encoding="gzip")


def messages(session: AsyncSession) -> Any:
    return session.messages.list_user("bob").collect()


def users(session: AsyncSession) -> Any:
    return session.users.list().collect()


def groups(session: AsyncSession) -> Any:
    return session.groups.list().collect()


@pytest.mark.parametrize("status", [200, 404])
async def test_an_error_with_a_huge_array_is_read_to_64_kib(status: int) -> None:
    body = b'{"error":{"code":"ERR_UID_NOT_FOUND","message":"no","details":' + array(b"{}", 3_000_000) + b"}}"
    async with FaultyServer(packed(body, status)) as server, server.session() as session:
        with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND: no") as caught:
            await session.users.get("bob")
    assert caught.value.details is None
    assert len(server.requests) == 1


async def test_the_details_of_an_error_below_64_kib_are_complete() -> None:
    details = [{}] * 15_000
    async with (
        FaultyServer(reply({"error": {"code": "ERR_X", "details": details}}, 400)) as server,
        server.session() as session,
    ):
        with pytest.raises(ApiError) as caught:
            await session.users.get("bob")
    assert caught.value.details == details


@pytest.mark.parametrize(
    ("collect", "item"),
    [
        *((messages, item) for item in (b"{}", b"0", b'"x"', b"[]")),
        *((collect, b'{"uid":"a","guid":"a","id":"1"}') for collect in (messages, users, groups)),
    ],
)
async def test_a_list_of_far_more_records_than_a_page_has_is_unreadable(
    collect: Callable[[AsyncSession], Any], item: bytes
) -> None:
    body = b'{"data":' + array(item, 100_000) + b"}"
    async with FaultyServer(packed(body)) as server, server.session() as session:
        with pytest.raises(ReplyUnreadableError, match=r"records, got 100000|expected"):
            await collect(session)
    assert len(server.requests) == 1


@pytest.mark.parametrize("reader", [many(Message), many(User), row_reader(None)])
def test_exactly_the_most_records_are_read(reader: Any) -> None:
    record = b'{"id":"1","uid":"u"}'
    assert len(reader(b'{"data":' + array(record, MAX_RECORDS) + b"}").items) == MAX_RECORDS
    with pytest.raises(ReplyUnreadableError, match=f"expected at most {MAX_RECORDS} records"):
        reader(b'{"data":' + array(record, MAX_RECORDS + 1) + b"}")


def test_no_record_is_made_of_a_list_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    reader: ManyRecords[Any] = many(Message)
    monkeypatch.setattr(reader.kind, "_lenient", lambda *args: made.append(args))
    for item in (b"{}", b'{"id":"1"}', b"7"):
        with pytest.raises(ReplyUnreadableError):
            reader(b'{"data":' + array(item, 50_000) + b"}")
    assert not made


@pytest.mark.parametrize(
    "body",
    [
        lambda: b'{"data":{"id":"1","x":' + array(b"{}", 2_000_000) + b"}}",
        lambda: b'{"data":{"id":"1","x":' + array(b"1", 3_000_000) + b"}}",
        lambda: b'{"data":[{"id":"1","tags":' + array(b'""', 2_000_000) + b"}]}",
        lambda: b"{" + b",".join(b'"a%d":0' % number for number in range(1_000_001)) + b"}",
        lambda: b'{"data":[' + b"[" * 6_000_000,
    ],
)
async def test_a_body_of_too_many_values_is_not_decoded(body: Callable[[], bytes]) -> None:
    with pytest.raises(ReplyUnreadableError, match=f"expected at most {MAX_VALUES}"):
        await decode_large(read_json, body())


def test_a_small_body_is_not_counted() -> None:
    check_values(b"[" * 4 * 1024 * 1024)


@pytest.mark.parametrize(
    "body",
    [
        lambda: b'{"data":[{"id":"1","x":' + b"[[]," * 50_000 + b"1" + b"]" * 50_000 + b"}]}",
        lambda: b'{"data":[{"id":"1","x":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}]}",
        lambda: b'{"data":[{"id":"1","x":"' + b"\\ud800" * 100_000 + b'"}]}',
        lambda: b'{"data":[{"id":"1","x":' + b"9" * 100_000 + b"}]}",
        lambda: b'{"data":[{"id":"1","category":"message","tags":' + array(b"1", 100_000) + b"}]}",
        lambda: (
            b'{"data":[{"id":"1","category":"message","type":"text","data":{"attachments":'
            + array(b'{"url":1}', 50_000)
            + b"}}]}"
        ),
        lambda: b'{"data":' + array(b'{"id":"1","category":"new"}', MAX_RECORDS) + b"}",
    ],
    ids=["leafy", "nested", "surrogates", "digits", "tags", "attachments", "unknown"],
)
async def test_record_by_record_decoding_is_off_the_event_loop(body: Callable[[], bytes]) -> None:
    reader: ManyRecords[Any] = many(Message)
    threads: set[int] = set()

    class Watched:
        strictly = reader.strictly

        def leniently(self, body: bytes) -> Any:
            threads.add(threading.get_ident())
            return reader.leniently(body)

        def __call__(self, body: bytes, /) -> Any:
            threads.add(threading.get_ident())
            return reader(body)

    page = await decode_large(Watched(), body())
    assert page.items[0].id == "1"
    assert sum(map(len, page.repairs)) < 1_000_000
    assert threads
    assert threading.get_ident() not in threads


async def test_a_page_as_documented_is_decoded_on_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("chatrest._network.reply_results.to_thread", refuse)
    body = b'{"data":' + array(b'{"uid":"%b"}' % (b"u" * 900), 1000) + b"}"
    assert INLINE_BYTES < len(body) <= reply_bounds.STRICT_BYTES
    assert len((await decode_large(many(User), body)).items) == 1000


async def test_a_deadline_does_not_wait_for_a_decode(monkeypatch: pytest.MonkeyPatch) -> None:
    release, began = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def stuck(body: bytes) -> None:
        loop.call_soon_threadsafe(began.set)
        release.wait()

    monkeypatch.setattr("chatrest._network.reply_results.check_values", stuck)
    body = {"data": ["x" * INLINE_BYTES]}
    try:
        async with FaultyServer(reply(body)) as server:
            for deadline in (0.05, 0.5, 5.0, 50.0):  # a machine with much to do gets so far only later
                async with server.session(deadline=deadline) as session:
                    with pytest.raises(DeadlineExceededError):
                        await session.request("GET", "/a")
                if began.is_set():
                    break
            assert began.is_set()
    finally:
        release.set()


async def test_other_calls_continue_while_a_body_is_unpacked() -> None:
    body = b'{"data":"' + b"x" * (12 << 20) + b'"}'
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with FaultyServer(packed(body)) as server, server.session() as session:
        ticking = asyncio.create_task(tick())
        assert len((await session.request("GET", "/a"))["data"]) == 12 << 20
        ticking.cancel()
    assert turns > 10


@loop_over("body", [b"{}", b'{"data":{}}', b'{"data": [] }', b"[]", b'{"data":null}'])
async def test_nothing_in_the_place_of_a_record_is_a_missing_record(body: bytes) -> None:
    async with FaultyServer(reply(body)) as server, server.session() as session:
        with pytest.raises(
            NotFoundError, match=r"users\.get: 200: the service answered without a record"
        ) as e:
            await session.users.get("bob")
    assert (e.value.status, e.value.operation, e.value.is_unserved) == (200, "users.get", False)
    assert len(server.requests) == 1


async def test_a_list_reply_without_content_is_an_empty_page() -> None:
    async with FaultyServer(reply(b"", 204)) as server, server.session() as session:
        assert await users(session) == []
        assert await messages(session) == []
        with pytest.raises(ReplyUnreadableError):
            await session.users.get("bob")


@pytest.mark.parametrize("is_enabled", [True, False])
async def test_no_collection_holds_up_the_loop_while_a_large_body_is_decoded(is_enabled: bool) -> None:
    """A record with one wrong field, whose other members are 200,000 arrays."""
    record = b'{"id":7,"category":"custom","sentAt":"5","data":{"customData":%b}}' % array(
        b'["abcd"]', 200_000
    )
    body = b'{"data":[' + record + b"]}"
    began: list[str] = []
    gc.callbacks.append(lambda phase, _: began.append(phase))
    (gc.enable if is_enabled else gc.disable)()
    try:
        page = await decode_large(many(Message), body)
        assert gc.isenabled() is is_enabled
    finally:
        gc.callbacks.pop()
        gc.enable()
    assert began.count("start") <= 5  # some 300 otherwise
    assert (len(page.items), page.items[0].sent_at) == (1, 5)


MESSAGE = {
    "id": "1", "conversationId": "alice_user_bob", "sender": "alice", "receiver": "bob",
    "receiverType": "user", "category": "message", "type": "text", "data": {"text": "hello"},
    "sentAt": 1, "updatedAt": 1,
}  # fmt: skip
HELLO = NewMessage.text("bob", "hello")


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.WARNING, "chatrest")
    return lambda: [record.getMessage() for record in caplog.records]


async def test_an_ordinary_reply_logs_nothing(warnings: Any) -> None:
    async with FaultyServer(reply({"data": MESSAGE})) as server, server.session() as session:
        await session.messages.send(HELLO, on_behalf_of="alice")
        await session.messages.send(HELLO)
    assert warnings() == []


async def test_an_acting_user_that_was_ignored_is_logged_once_for_each_operation(warnings: Any) -> None:
    answer = reply({"data": {**MESSAGE, "sender": "app_system"}})
    async with FaultyServer(answer) as server, server.session(retry=RetryPolicy(attempts=1)) as session:
        await session.messages.send(HELLO)
        assert warnings() == []
        await session.messages.send(HELLO, on_behalf_of="alice")
        await session.as_user("alice").messages.send(HELLO)
    words = "the service ignored the acting user (onBehalfOf): its reply shows another user"
    assert warnings() == [f"messages.send: {words}"]


TOKEN = "alice_1700/abc+def"
Call = Callable[[AsyncSession], Awaitable[Any]]
PUSH: Final = PushTokenQuery(auth_token=TOKEN)
CALLS: dict[str, Call] = {
    "path": lambda session: session.auth_tokens.get("alice", TOKEN),
    "delete": lambda session: session.auth_tokens.delete("alice", TOKEN),
    "by hand": lambda session: session.request("GET", f"/users/alice/auth_tokens/{quote(TOKEN, safe='')}"),
    "by hand, body": lambda session: session.request("POST", "/a", json={"x": [{"authToken": TOKEN}]}),
    "by hand, query": lambda session: session.request("GET", "/a", query={"authToken": TOKEN}),
    "query": lambda session: session.notifications.list_push_tokens(
        PushTokenQuery(auth_token=TOKEN)
    ).collect(),
}
BODIES = {
    "prose": {"error": {"code": "ERR_X", "message": f"The token {TOKEN} is not one of alice's"}},
    "details": {"error": {"code": "ERR_X", "message": "no", "details": {"uid": [f"unknown: {TOKEN}"]}}},
    "shape": {"data": [{TOKEN: 1}, {TOKEN: 2}]},
}


@loop_over("call", CALLS.values())
@loop_over("body", BODIES.values())
@loop_over("status", [404, 500])
async def test_a_token_that_the_service_repeats_is_in_no_error(call: Call, body: Any, status: int) -> None:
    async with FaultyServer(reply(body, status, x_echo=TOKEN)) as server, server.session() as session:
        with pytest.raises(ChatRestError) as caught:
            await call(session)
    error = caught.value
    shown = [str(error), repr(error), repr(error.args), repr(vars(error)), repr(error.__cause__)]
    assert TOKEN not in "".join(shown)
    assert TOKEN.encode() not in pickle.dumps(error)
    assert dict(getattr(error, "headers", {"X-Echo": "[hidden]"}))["X-Echo"] == "[hidden]"


async def test_a_success_of_another_shape_does_not_repeat_a_token() -> None:
    async with FaultyServer(reply(BODIES["shape"])) as server, server.session() as session:
        with pytest.raises(ChatRestError) as caught:
            await session.auth_tokens.get("alice", TOKEN)
    assert TOKEN not in str(caught.value)
