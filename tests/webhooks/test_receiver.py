"""The rules of receiving, in virtual time: acknowledgement, time limits, repetitions, refusals."""

import asyncio
import gzip
import logging
import threading
from typing import Any

import pytest

from chatrest import RequestInvalidError
from chatrest.webhooks import Event, MessageEvent, asgi_app, parse as parse_event, receiver
from tests.support.cases import loop_over
from tests.support.virtual_time import virtual
from tests.webhooks.asgi_client import (
    HELLO,
    OTHER,
    PASSWORD,
    USERNAME,
    AsgiClient,
    Handler,
    Response,
    at_once,
    basic,
    fails,
    takes,
)
from tests.webhooks.samples import delivery


def now() -> float:
    return asyncio.get_running_loop().time()


async def status(client: AsgiClient, body: bytes = HELLO, **headers: Any) -> int:
    response = await client.post(body, **headers)
    assert response is not None
    return response.status


@virtual
async def test_an_event_is_acknowledged_after_its_handler() -> None:
    handler = Handler(takes(1.0))
    assert await AsgiClient(asgi_app(handler)).post() == Response(
        200, {"content-type": "text/plain; charset=utf-8", "content-length": "0"}, ""
    )
    assert (now(), handler.finished) == (1.0, 1)
    [event] = handler.events
    assert isinstance(event, MessageEvent)
    assert event.raw == HELLO


@virtual
async def test_a_late_handler_continues_and_a_repetition_runs_it_again() -> None:
    handler = Handler(takes(5.0), at_once)
    client = AsgiClient(asgi_app(handler))
    assert await status(client) == 503
    assert (now(), handler.finished) == (1.5, 0)
    await asyncio.sleep(10.0)
    assert handler.finished == 1
    assert (await status(client), handler.finished, len(handler.events)) == (200, 2, 2)


@virtual
async def test_the_repetition_waits_for_a_handler_that_still_runs() -> None:
    handler = Handler(takes(12.0))
    client = AsgiClient(asgi_app(handler))
    assert await status(client) == 503
    await asyncio.sleep(10.0)
    assert await status(client) == 200
    assert (now(), len(handler.events)) == (12.0, 1)


@virtual
async def test_a_handler_that_failed_is_run_again(caplog: pytest.LogCaptureFixture) -> None:
    handler = Handler(fails, at_once)
    client = AsgiClient(asgi_app(handler, username=USERNAME, password=PASSWORD))
    assert await status(client, authorization=basic()) == 500
    [record] = caplog.records
    assert "the handler of webhook events failed on 'message_sent'" in record.getMessage()
    assert "the database is down" in caplog.text
    assert await status(client, authorization=basic()) == 200
    assert len(handler.events) == 2
    assert PASSWORD not in caplog.text


@virtual
async def test_a_trigger_of_a_stranger_is_logged_in_plain_characters(
    caplog: pytest.LogCaptureFixture,
) -> None:
    body = delivery("\ud83d\n" + "x" * 1000, {})
    assert await status(AsgiClient(asgi_app(Handler(fails), username="u", password="p"))) == 401
    assert await status(AsgiClient(asgi_app(Handler(fails))), body) == 500
    text = caplog.records[-1].getMessage()
    assert text.isascii()
    assert text.isprintable()
    assert len(text) < 200


@virtual
async def test_a_handler_continues_after_the_request_ends() -> None:
    handler = Handler(takes(1.0))
    client = AsgiClient(asgi_app(handler))
    request = asyncio.create_task(client.post())
    await asyncio.sleep(0.5)
    request.cancel()
    assert await status(client) == 200
    assert (now(), handler.finished, len(handler.events)) == (1.0, 1, 1)


@virtual
async def test_concurrent_deliveries_of_an_event_run_one_handler() -> None:
    handler = Handler(takes(1.0))
    client = AsgiClient(asgi_app(handler))
    statuses = await asyncio.gather(*(status(client, body) for body in (HELLO, OTHER, HELLO, OTHER, HELLO)))
    assert statuses == [200] * 5
    assert [event.raw for event in handler.events] == [HELLO, OTHER]


@virtual
async def test_handlers_beyond_the_concurrency_wait_in_turn() -> None:
    handler = Handler(takes(0.5))
    client = AsgiClient(asgi_app(handler, concurrency=2))
    bodies = [delivery("message_sent", {"message": {"id": str(number)}}) for number in range(8)]
    statuses = await asyncio.gather(*(status(client, body) for body in bodies))
    assert statuses.count(200) + statuses.count(503) == 8
    assert statuses.count(200) >= 4
    assert handler.most == 2
    again = [status(client, body) for body, each in zip(bodies, statuses, strict=True) if each == 503]
    assert set(await asyncio.gather(*again)) <= {200}
    assert {event.raw for event in handler.events} == set(bodies)


@virtual
async def test_closing_waits_and_then_cancels() -> None:
    handler = Handler(takes(1.0), takes(99.0))
    client = AsgiClient(asgi_app(handler))
    requests = [asyncio.create_task(client.post(body)) for body in (HELLO, OTHER)]
    await asyncio.sleep(0.1)
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await client.app({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert (handler.finished, handler.active) == (1, 0)
    assert [response.status for response in await asyncio.gather(*requests) if response] == [200, 503]


@virtual
async def test_credentials_are_checked_before_the_body_is_read(caplog: pytest.LogCaptureFixture) -> None:
    client = AsgiClient(asgi_app(Handler(), username=USERNAME, password=PASSWORD))
    for header in (None, basic(password="guess-4711"), basic(username="other"), "Bearer x", "Basic %%%"):
        response = await client.post(authorization=header)
        assert response is not None
        assert (response.status, client.received) == (401, 0)
        assert response.headers["www-authenticate"] == 'Basic realm="webhook", charset="UTF-8"'
    assert await status(client, authorization=basic()) == 200
    for secret in (PASSWORD, "guess-4711", basic(), basic(password="guess-4711")):
        assert secret not in caplog.text
        assert secret not in repr(client.app)


@pytest.mark.parametrize(
    ("request_", "expected", "messages"),
    [
        ({"method": "GET"}, 405, 0),
        ({"content_encoding": "gzip", "chunks": gzip.compress(HELLO, mtime=0)}, 415, 0),
        ({"content_length": "99999999999"}, 413, 0),
        ({"content_length": "9" * 5000}, 413, 0),
        ({"chunks": [b"x" * 600] * 1000}, 413, 2),
        ({"chunks": gzip.compress(HELLO, mtime=0)}, 400, 2),
        ({"chunks": b""}, 400, 2),
        ({"chunks": HELLO[:-9]}, 400, 2),
        ({"chunks": b"[]"}, 400, 2),
        ({"chunks": b'{"trigger":"\\ud800'}, 400, 2),
    ],
)  # fmt: skip
@virtual
async def test_a_request_that_is_not_a_delivery_is_refused(
    request_: dict[str, Any], expected: int, messages: int, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Handler()
    client = AsgiClient(asgi_app(handler, max_body_bytes=1000))
    response = await client.post(**request_)
    assert response is not None
    assert (response.status, client.received, handler.events) == (expected, messages, [])
    assert bool(response.text) is True
    warnings = [record for record in caplog.records if f"answered with {expected}" in record.getMessage()]
    assert len(warnings) == (expected != 405)


@virtual
async def test_a_large_body_is_parsed_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[bool] = []

    def parse(body: bytes) -> Event:
        threads.append(threading.current_thread() is not threading.main_thread())
        return parse_event(body)

    monkeypatch.setattr(receiver, "parse", parse)
    handler = Handler()
    client = AsgiClient(asgi_app(handler))
    large = delivery("message_sent", {"message": {"id": "1", "data": "x" * 100_000}})
    assert [await status(client, large), await status(client, HELLO)] == [200, 200]
    assert await status(client, large[:-1]) == 400
    assert threads == [True, False, True]
    assert [event.raw for event in handler.events] == [large, HELLO]


@virtual
async def test_a_client_that_hangs_up_gets_no_answer() -> None:
    handler = Handler()
    client = AsgiClient(asgi_app(handler))
    assert await client.post(HELLO[:50], ending="http.disconnect") is None
    assert handler.events == []


@virtual
async def test_a_body_that_never_ends_is_given_up() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(1.0)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    await asgi_app(Handler())({"type": "http", "method": "POST", "headers": []}, receive, send)
    assert (sent[0]["status"], now()) == (408, 1.5)


@virtual
async def test_other_protocols_are_refused() -> None:
    app = asgi_app(Handler())
    with pytest.raises(RequestInvalidError, match="scope type = 'websocket': expected 'http' or 'lifespan'"):
        await app({"type": "websocket"}, None, None)  # type: ignore[arg-type]


@loop_over(
    ("arguments", "text"),
    [
        ({"username": "u"}, "password = None: expected a username and a password, or neither"),
        ({"password": "p"}, "username = None"),
        ({"username": "", "password": "p"}, "username: expected a non-empty text"),
        ({"username": "a:b", "password": "p"}, "username: expected a text without a colon"),
        ({"username": "u", "password": "p4ss\n"}, "password: expected a non-empty text"),
        ({"username": "u", "password": b"p4ss"}, "password: expected a non-empty text"),
        ({"answer_within": 0}, "answer_within = 0: expected a number of seconds above 0, at most 60"),
        ({"answer_within": 61}, "answer_within = 61"),
        ({"answer_within": float("nan")}, "answer_within = nan"),
        ({"answer_within": "1"}, "answer_within = "),
        ({"max_body_bytes": 1.5}, "max_body_bytes = 1.5: expected a whole number above 0"),
        ({"concurrency": 0}, "concurrency = 0"),
        ({"concurrency": True}, "concurrency = True"),
        ({"user": "u"}, "no option is called 'user': expected 'username', 'password', 'answer_within', "),
        ({"on_event": None}, "on_event = None: expected a coroutine function"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(RequestInvalidError) as caught:
        asgi_app(**{"on_event": Handler()} | arguments)
    assert str(caught.value).startswith(text)
    assert "p4ss" not in str(caught.value)


def test_a_receiver_without_credentials_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    asgi_app(Handler(), username=USERNAME, password=PASSWORD)
    assert caplog.text == ""
    asgi_app(Handler())
    [record] = caplog.records
    assert (record.levelno, "checks no credentials" in record.getMessage()) == (logging.WARNING, True)
