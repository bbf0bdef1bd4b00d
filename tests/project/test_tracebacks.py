"""No secret in an error, the locals of its frames, a log line, telemetry or a span, whatever fails.

Error trackers and debuggers show the locals of frames.
"""

import asyncio
import json
import logging
import pickle
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from rich.pretty import pretty_repr

import chatrest as c
from chatrest._core.replies.scanner import read_json
from chatrest._core.requests.endpoint import Endpoint
from chatrest._network.session_options import ClientOptions
from chatrest.otel import OpenTelemetryListener
from tests.support.cases import loop_over
from tests.support.scripted_server import (
    KEY,
    FaultyServer,
    Step,
    chain,
    cut,
    deaf,
    hang,
    no_wait,
    reply,
    reset,
)

pytestmark = pytest.mark.usefixtures("tidy")

HEADER, SECRET, BODY = "he4der-s3cret-77aa", "m4nagement-s3cret-52", "pr0vider-s3cret-63"
CURSOR_KEY = b"cur5or-s3cret-0123456789"
SECRETS = (KEY, HEADER, SECRET, BODY, CURSOR_KEY.decode())
WHOM = "uid-of-somebody"
BASE = "https://chat.example.com/v3"
APP = c.App("app-1", KEY, base_url=BASE)
ECHO = {
    "error": {
        "code": "ERR_X", "message": f"{KEY} {HEADER}", "devMessage": KEY, "source": KEY,
        "details": {KEY: [HEADER, {"apiKey": SECRET, "deep": [f"x{KEY}y"]}]},
    }
}  # fmt: skip
HEAD: Final = b"HTTP/1.1 200 OK\r\n"
BYTES = KEY.encode()
STEPS: dict[str, Step] = {
    "dropped": reset, "silent": hang, "not-json": reply(KEY), "503": reply(ECHO, 503),
    "in the body": cut(HEAD + b"Content-Length: 99\r\n\r\n{" + BYTES),
    "status line": cut(b"HTTP/1.1 2x0 " + BYTES + b"\r\n\r\n"),
    "bad header": cut(HEAD + b"no header " + BYTES + b": x\r\n\r\n"),
    "bad chunk": cut(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + BYTES + b"\r\n"),
    "long line": cut(HEAD + b"X-Echo: " + BYTES * 5000 + b"\r\n\r\n"),
    "401": reply(json.dumps(ECHO).replace(KEY, KEY.upper()), 401, x_echo=f"{KEY} {HEADER}"),
    "400": reply({"statusCode": 400, "message": f"no {HEADER}", "error": KEY}, 400),
    "429": reply(ECHO, 429, retry_after=KEY), "200": reply(ECHO), "206": reply(ECHO, 206),
    "redirect": reply(b"", 302, location=f"https://{KEY}.example/?{HEADER}"),
    "too large": reply(KEY * 100_000), "too large error": reply(KEY * 100_000, 401),
    "gzip": reply(KEY, content_encoding="gzip"), "encoding": reply(KEY, content_encoding="br"),
    "headers": reply(b"{}", 404, x_echo=f"apikey={KEY}", set_cookie=f"{KEY}={KEY}; =;", date=KEY),
    "html": reply(f"<html><p title='{KEY}'>{KEY}</p>", 403),
}  # fmt: skip
FEW: Final = ("in the body", "503", "not-json", "silent")
"""Steps for calls whose only difference is where their secret is: of each kind of error one."""
OF_EVERY_STEP: Final = ("send", "get")
CALLS: dict[str, Callable[[c.AsyncSession, c.AsyncManagement], Awaitable[Any]]] = {
    "send": lambda session, _: session.messages.send(c.NewMessage.text(WHOM, "hello"), on_behalf_of=WHOM),
    "get": lambda session, _: session.request("GET", f"/apikeys/{KEY}", query={"searchKey": WHOM}),
    "post": lambda session, _: session.request("POST", f"/a/{WHOM}", json={"key": KEY}, query={"key": KEY}),
    "list": lambda session, _: session.as_user(WHOM).users.list(c.UserQuery(search_key=WHOM)).collect(),
    "token": lambda session, _: session.auth_tokens.update(WHOM, KEY, c.TokenChanges(platform="ios")),
    "device": lambda session, _: session.notifications.delete_push_token(BODY, BODY),
    "provider": lambda session, _: session.notifications.add_apns_provider(c.ApnsProvider(p8_key=BODY)),
    "tool": lambda session, _: session.agents.update_api_tool("s", c.ApiToolChanges(headers=BODY)),
    "file": lambda session, _: session.moderation.create_keyword_list(
        c.NewKeywordList(category="word", file=c.File(f"word,{BODY}".encode()))
    ),
    "webhook": lambda _, account: account.webhooks.create(
        "app-1", c.NewWebhook(id="w", name="W", webhook_url="https://h.example", username="u", password=BODY)
    ),
    "management": lambda _, account: account.apps.list().collect(),
}


def options(**other: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "headers": {"X-Trace": HEADER, "X-Auth": f"Bearer {HEADER}"}, "cursor_key": CURSOR_KEY,
        "max_reply_bytes": 100_000, "timeouts": c.Timeouts(read=0.02),
        "retry": c.RetryPolicy(attempts=2, limited=2),
    }  # fmt: skip
    return usual | other


def assert_hidden(error: BaseException) -> None:
    """Check all that can be shown of an error: texts, attributes, its pickle, the locals of all frames."""
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    parts = ["".join(report.format())]
    for each in chain(error):
        parts += [repr(each), repr(vars(each)), repr(dict(getattr(each, "headers", None) or {}))]
        parts += [pickle.dumps(each).decode("latin-1")] if isinstance(each, c.ChatRestError) else []
    text = "\n".join(parts).lower()
    assert [secret for secret in SECRETS if secret.lower() in text] == []


@loop_over(
    ("step", "call"), [(step, call) for step in STEPS for call in (CALLS if step in FEW else OF_EVERY_STEP)]
)
async def test_nothing_that_shows_a_failed_call_has_a_secret(
    step: str, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Log, telemetry and spans do not name either whom the call is about, but for the log of addresses."""
    for name in ("", "chatrest.requests"):
        caplog.set_level(logging.DEBUG, name)
    provider, spans, records = TracerProvider(), InMemorySpanExporter(), list[Any]()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    listeners = [records.append, OpenTelemetryListener(provider.get_tracer("test"), propagate=True)]
    asyncio.get_running_loop().set_debug(True)
    async with FaultyServer(STEPS[step]) as server:
        session = server.session(**options(telemetry=listeners))
        account = c.AsyncManagement(
            server.url, key=KEY, secret=SECRET, sleep=no_wait, **options(telemetry=listeners)
        )
        async with session, account:
            with pytest.raises(c.ChatRestError) as caught:
                await CALLS[call](session, account)
    assert_hidden(caught.value)
    assert caught.value.operation
    texts = [repr(records), caplog.text, *(span.to_json() for span in spans.get_finished_spans())]
    assert len(texts) > 2
    assert [each for each in SECRETS if any(each in text for text in texts)] == []
    lines = "\n".join(texts).splitlines()
    assert [line for line in lines if WHOM in line and "chatrest.requests:" not in line] == []
    assert any("chatrest.requests:" in line and ": [hidden]" in line for line in lines)


async def test_failed_connections_and_deadlines_show_no_secret() -> None:
    failures: list[type[Exception]] = []

    async def fail(session: c.AsyncSession, **changes: Any) -> None:
        async with session:
            with pytest.raises(c.ChatRestError) as caught:
                await session.with_options(**changes).request("POST", f"/apikeys/{KEY}", json={"key": KEY})
        assert_hidden(caught.value)
        failures.append(type(caught.value))

    patient = options(timeouts=c.Timeouts())
    async with FaultyServer(reply()) as gone:
        pass
    await fail(gone.session(**options()))
    async with FaultyServer(reply(ECHO, 403), greet=deaf) as server, FaultyServer(reply(ECHO, 403)) as proxy:
        app = c.App("app-1", KEY, base_url=f"https://127.0.0.1:{server.port}")
        await fail(c.AsyncSession(app, **options(timeouts=c.Timeouts(connect=0.02))))
        await fail(c.AsyncSession(app, proxy=proxy.url, **options()))
    async with FaultyServer(reply(ECHO, 429, retry_after="9"), hang) as server:
        await fail(server.session(**patient), deadline=5.0)
        await fail(server.session(**patient), deadline=0.3)
    async with FaultyServer(hang) as server, server.session(**patient) as session:
        late = asyncio.create_task(session.request("GET", f"/apikeys/{KEY}"))
        await server.arrived.wait()
    [error] = await asyncio.gather(late, return_exceptions=True)
    assert isinstance(error, c.ChatRestError)
    assert_hidden(error)
    assert failures == [c.ConnectError] * 3 + [c.DeadlineExceededError, c.DeadlineOutcomeUnknownError]


SPACED = f"{KEY} "  # what no address, header or id may hold
WRONG: list[Callable[[], Any]] = [
    lambda: c.App("a", "eu", KEY),
    lambda: c.App("a", SPACED),
    lambda: c.App("a", KEY, service_domain=f"{KEY}:99999"),
    lambda: c.App("a", KEY, base_url=f"http://{KEY}.example.com"),
    lambda: c.App.from_env({"CHATREST_APP_ID": "a", "CHATREST_API_KEY": KEY, "CHATREST_BASE_URL": KEY}),
    lambda: c.AsyncSession(KEY),  # type: ignore[arg-type]
    lambda: c.AsyncSession(c.App("a", KEY)),
    lambda: c.AsyncSession(APP, proxy=f"http://{KEY}@proxy.example.com"),
    lambda: c.AsyncSession(APP, headers={KEY: 7}),  # type: ignore[dict-item]
    lambda: c.AsyncSession(APP).with_options(headers={"X-A": f"{HEADER}\0"}),
    lambda: c.AsyncSession(APP, cursor_key=CURSOR_KEY.decode()),  # type: ignore[arg-type]
    *(
        lambda name=name: c.AsyncSession(APP, **{name: KEY})  # type: ignore[misc]
        for name in ClientOptions.__annotations__
    ),
    lambda: c.AsyncSession(APP).for_app(KEY),  # type: ignore[arg-type]
    lambda: c.AsyncManagement(SECRET, key=SECRET, secret=SECRET),
    lambda: c.AsyncManagement(BASE, key=f"{SECRET} ", secret=SECRET),
    lambda: c.Timeouts(read=KEY),  # type: ignore[arg-type]
]
BY_HAND: list[dict[str, Any]] = [
    {"method": KEY, "path": "/a"},
    {"method": "GET", "path": f"/apikeys/../{KEY}"},
    {"method": "GET", "path": f"/a/{KEY}", "query": {"a": b"x", "b": KEY}},
    {"method": "POST", "path": f"/a/{KEY}", "json": {"key": KEY, "x": 1j}},
]


@loop_over("make", WRONG)
def test_an_argument_that_is_refused_is_not_repeated(make: Callable[[], Any]) -> None:
    with pytest.raises(c.RequestInvalidError, match=r"expected|no address|header") as caught:
        make()
    assert_hidden(caught.value)


async def test_an_argument_of_a_call_is_not_repeated() -> None:
    """By hand, and by the sender, as the collections call."""
    create: Endpoint[Any] = Endpoint("api_keys.create", "POST", "/apikeys/{key}", read_json, "never")
    async with c.AsyncSession(APP, **options()) as session:
        for number in range(len(BY_HAND)):
            with pytest.raises(c.RequestInvalidError) as caught:
                await session.request(**BY_HAND[number])
            assert_hidden(caught.value)
        with pytest.raises(c.RequestInvalidError) as caught:
            session.sender(create(key=KEY, body={"key": KEY, "x": 1j}))
    assert_hidden(caught.value)
    assert caught.value.operation == "api_keys.create"


def test_no_repr_shows_a_secret() -> None:
    session = c.AsyncSession(APP, **options())
    account = c.AsyncManagement(BASE, key=KEY, secret=SECRET, **options())
    for each in (session, account, session.sender, session.with_options(headers={"X-B": HEADER}).sender):
        shown = repr(each) + repr(vars(each)) + pretty_repr(each) + pretty_repr(vars(each))
        assert [secret for secret in SECRETS if secret in shown] == []


async def test_the_service_may_repeat_a_headers_value_of_three_characters() -> None:
    """`X-Flag: 1` is no secret: without this, every 1 in the service's text would be blotted out."""
    body = json.dumps({"error": {"message": "1 of 100 is wrong, said abcd"}})
    headers = {"X-Flag": "1", "X-Word": "abcd"}
    async with FaultyServer(reply(body, 400)) as server, server.session(headers=headers) as session:
        with pytest.raises(c.ChatRestError, match=r"1 of 100 is wrong, said \[hidden\]"):
            await session.request("GET", "/a")
