"""No key in any error, not even in the locals of its frames: as error trackers and debuggers show them."""

import asyncio
import json
import logging
import pickle
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest

from chatrest import (
    ApiToolChanges,
    ApnsProvider,
    App,
    AsyncManagement,
    AsyncSession,
    AuthenticationError,
    ChatRestError,
    ConnectError,
    DeadlineExceededError,
    DeadlineOutcomeUnknownError,
    EnabledActions,
    FcmProvider,
    File,
    IntegrationMeta,
    NewExternalAgent,
    NewKeywordList,
    NewMessage,
    NewPushToken,
    NewWebhook,
    OutcomeUnknownError,
    RateLimitError,
    ReplyUnreadableError,
    RequestInvalidError,
    RequestTimeoutError,
    RetryPolicy,
    ServerError,
    ServerOutcomeUnknownError,
    Timeouts,
    TokenChanges,
    TransportError,
    VariableChanges,
)
from chatrest._core.replies.decode import read_json
from chatrest._core.requests.endpoint import Endpoint
from tests.cases import loop_over
from tests.scripted_server import KEY, Faulty, Peer, Step, chain, cut, deaf, hang, no_wait, reply, reset

pytestmark = pytest.mark.usefixtures("tidy")

HEADER = "he4der-s3cret-77aa"
MANAGEMENT = ("m4nagement-key-51", "m4nagement-s3cret-52")
CURSOR_KEY = b"cur5or-s3cret-0123456789"
PROVIDER = "pr0vider-s3cret-63"
HIDDEN_ONES = (KEY, HEADER, *MANAGEMENT, CURSOR_KEY.decode(), PROVIDER)
ONCE = RetryPolicy(attempts=1)
ECHO = {
    "error": {
        "code": "ERR_X", "message": f"{KEY} {HEADER}", "devMessage": KEY, "source": KEY,
        "details": {KEY: [HEADER, {"apiKey": MANAGEMENT[0], "deep": [f"x{KEY}y"]}]},
    }
}  # fmt: skip


def everything(error: BaseException) -> str:
    """All that can be shown of an error: texts, attributes, its pickle, and the locals of all frames."""
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    parts = ["".join(report.format())]
    for each in chain(error):
        parts += [repr(each), str(each), repr(each.args), repr(vars(each))]
        parts.append(repr(dict(getattr(each, "headers", None) or {})))
        if isinstance(each, ChatRestError):
            parts.append(pickle.dumps(each).decode("latin-1"))
    return "\n".join(parts).lower()


def assert_hidden(error: BaseException) -> None:
    text = everything(error)
    for secret in HIDDEN_ONES:
        assert secret.lower() not in text, text[max(0, text.index(secret.lower()) - 300) :][:400]


# ── what comes of a call ──


async def half_a_body(peer: Peer) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{" + KEY.encode())
    peer.reset()


STEPS: dict[str, Step] = {
    "dropped": reset,
    "hung-up": cut(b""),
    "in-the-headers": cut(b"HTTP/1.1 200 OK\r\nX-Echo: " + KEY.encode()),
    "in-the-body": half_a_body,
    "cut-off": cut(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{" + KEY.encode()),
    "no-http": cut(KEY.encode() + b"\r\n\r\n"),
    "silent": hang,
    "401": reply(ECHO, 401, x_echo=f"{KEY} {HEADER}"),
    "400": reply({"statusCode": 400, "message": f"no {HEADER}", "error": KEY}, 400),
    "429": reply(ECHO, 429),
    "503": reply(ECHO, 503),
    "not-json": reply(KEY),
    "redirect": reply(b"", 302, location=f"https://{KEY}.example/?{HEADER}"),
    "304": reply(b"", 304, x_echo=KEY),
    "206": reply(ECHO, 206),
    "too-large": reply(KEY * 100_000),
    "too-large-401": reply(KEY * 100_000, 401),
    "bad-gzip": reply(KEY, content_encoding="gzip"),
    "200": reply(ECHO),
    "upper": reply(json.dumps(ECHO).replace(KEY, KEY.upper()), 401),
    "header": reply(b"{}", 404, x_echo=f"apikey={KEY}", set_cookie=f"{KEY}={KEY}; =;", date=KEY),
    "retry-after": reply(ECHO, 429, retry_after=KEY),
    "html": reply(f"<html><p title='{KEY}'>{KEY}</p>", 403),
    "array": reply([KEY, {"message": KEY}], 400),
    "encoding": reply(KEY, content_encoding="br"),
    "status-line": cut(b"HTTP/1.1 2x0 " + KEY.encode() + b"\r\n\r\n"),
    "reason": cut(b"HTTP/1.1 500 " + KEY.encode() + b"\r\nContent-Length: 0\r\n\r\n"),
    "bad-header": cut(b"HTTP/1.1 200 OK\r\nno header " + KEY.encode() + b": x\r\n\r\n"),
    "bad-length": cut(b"HTTP/1.1 200 OK\r\nContent-Length: " + KEY.encode() + b"\r\n\r\n"),
    "bad-chunk": cut(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + KEY.encode() + b"\r\n"),
    "long-line": cut(b"HTTP/1.1 200 OK\r\nX-Echo: " + KEY.encode() * 5000 + b"\r\n\r\n"),
}
FEW: Final = ("in-the-body", "503", "not-json", "silent")
"""Steps for calls whose only difference is where their secret is: of each kind of error one."""
OF_EVERY_STEP: Final = ("send", "get")
CALLS: dict[str, Callable[[AsyncSession], Awaitable[Any]]] = {
    "list": lambda session: session.messages.list_user("bob").collect(),
    "send": lambda session: session.messages.send(NewMessage.text("bob", "hello"), on_behalf_of="me"),
    "get": lambda session: session.request("GET", f"/apikeys/{KEY}"),
    "post": lambda session: session.request("POST", f"/apikeys/{KEY}", json={"key": KEY}, query={"a": KEY}),
    "key": lambda session: session.api_keys.get(KEY),
    "token": lambda session: session.auth_tokens.update("bob", KEY, TokenChanges(platform="ios")),
}


def options(**other: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "headers": {"X-Trace": HEADER, "X-Auth": f"Bearer {HEADER}"}, "cursor_key": CURSOR_KEY,
        "max_reply_bytes": 100_000, "timeouts": Timeouts(read=0.02),
        "retry": RetryPolicy(attempts=2, limited=2),
    }  # fmt: skip
    return usual | other


@loop_over(
    ("step", "call"), [(step, call) for step in STEPS for call in (CALLS if step in FEW else OF_EVERY_STEP)]
)
async def test_no_error_of_a_call_leads_to_a_key(
    step: str, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    asyncio.get_running_loop().set_debug(True)
    async with Faulty(STEPS[step]) as server, server.session(**options()) as session:
        with pytest.raises(ChatRestError) as caught:
            await CALLS[call](session)
    assert_hidden(caught.value)
    assert caught.value.operation
    assert not any(secret in caplog.text for secret in HIDDEN_ONES)


SECRET_CALLS: dict[str, Callable[[AsyncSession, AsyncManagement], Awaitable[Any]]] = {
    "tokens": lambda session, _: session.notifications.list_push_tokens(PROVIDER, all=True),
    "token": lambda session, _: session.notifications.delete_push_token(PROVIDER, PROVIDER),
    "logout": lambda session, _: session.notifications.unregister_push_tokens(PROVIDER),
    "device": lambda session, _: session.notifications.register_push_token(NewPushToken(fcm_token=PROVIDER)),
    "apns": lambda session, _: session.notifications.add_apns_provider(ApnsProvider(p8_key=PROVIDER)),
    "fcm": lambda session, _: session.notifications.add_fcm_provider(
        FcmProvider(service_account_creds={"private_key": PROVIDER})
    ),
    "headers of a tool": lambda session, _: session.agents.update_api_tool(
        "s", ApiToolChanges(headers=PROVIDER, basic_auth_password=PROVIDER)
    ),
    "headers of an agent": lambda session, _: session.agents.create_external(
        NewExternalAgent(
            name="n",
            icon="https://i",
            integrate_with="ag2",
            integration_meta=IntegrationMeta(base_url="h", headers={"Authorization": PROVIDER}),
        )
    ),
    "variable": lambda session, _: session.agents.update_variable(
        "v", VariableChanges(constant_value=PROVIDER)
    ),
    "actions": lambda session, _: session.agents.enable_tool_actions(
        "a", "s", EnabledActions(actions=["x"], auth_meta=[PROVIDER])
    ),
    "file of a form": lambda session, _: session.moderation.create_keyword_list(
        NewKeywordList(category="word", file=File(f"word,{PROVIDER}".encode()))
    ),
    "password of a webhook": lambda _, account: account.webhooks.create(
        "app-1",
        NewWebhook(id="w", name="W", webhook_url="https://h.example", username="u", password=PROVIDER),
    ),
    "management": lambda _, account: account.apps.list().collect(),
}


@loop_over("call", SECRET_CALLS)
@loop_over("step", FEW)
async def test_no_error_leads_to_a_secret_of_an_argument(step: str, call: str) -> None:
    async with Faulty(STEPS[step]) as server:
        account = AsyncManagement(server.url, key=KEY, secret=MANAGEMENT[1], sleep=no_wait, **options())
        async with server.session(**options()) as session, account:
            with pytest.raises(ChatRestError) as caught:
                await SECRET_CALLS[call](session, account)
    assert_hidden(caught.value)


@loop_over("call", ["list", "send"])
async def test_a_reply_of_another_shape(call: str) -> None:
    async with Faulty(reply({"data": KEY, "meta": HEADER})) as server:
        await failed(server.session(**options()), call)


async def failed(session: AsyncSession, call: str, **changes: Any) -> ChatRestError:
    async with session:
        with pytest.raises(ChatRestError) as caught:
            await CALLS[call](session.with_options(**changes))
    assert_hidden(caught.value)
    return caught.value


async def test_every_class_of_error_was_seen() -> None:
    """Every error class is raised by `STEPS`, a pool, a deadline or a closed session."""
    patient = options(timeouts=Timeouts())  # 20 ms are for the silent step: a busy machine needs more
    async with Faulty(reply()) as gone:
        pass
    classes = [type(await failed(gone.session(**options()), "post"))]
    for step, call in (
        ("dropped", "get"), ("silent", "get"), ("not-json", "get"), ("401", "get"), ("429", "get"),
        ("503", "get"), ("503", "post"), ("dropped", "post"),
    ):  # fmt: skip
        async with Faulty(STEPS[step]) as server:
            session = server.session(**(options() if step == "silent" else patient))
            classes.append(type(await failed(session, call)))
    async with Faulty(reply(ECHO, 429, retry_after="9"), hang) as server:
        classes.append(type(await failed(server.session(**patient), "get", deadline=5.0)))
    async with Faulty(hang) as server:
        for deadline in (0.03, 0.3, 3.0, 30.0):  # a machine with much to do sends it only later
            late = server.session(**patient)
            kind = type(await failed(late, "post", deadline=deadline))
            if server.requests:
                break
        classes.append(kind)
    assert classes == [
        ConnectError, TransportError, RequestTimeoutError, ReplyUnreadableError, AuthenticationError,
        RateLimitError, ServerError, ServerOutcomeUnknownError, OutcomeUnknownError, DeadlineExceededError,
        DeadlineOutcomeUnknownError,
    ]  # fmt: skip


async def test_a_connection_that_is_not_answered() -> None:
    async with Faulty(reply(), greet=deaf) as server:
        app = App("app-1", KEY, base_url=f"https://127.0.0.1:{server.port}")
        session = AsyncSession(app, **options(timeouts=Timeouts(connect=0.02)))
        assert isinstance(await failed(session, "send"), ConnectError)


async def test_a_proxy_that_refuses() -> None:
    async with Faulty(reply(ECHO, 403)) as proxy:
        app = App("app-1", KEY, base_url="https://chat.invalid/v3")
        session = AsyncSession(app, proxy=proxy.url, **options())
        assert isinstance(await failed(session, "send"), ConnectError)


async def test_a_session_that_is_not_open_or_is_closed_during_the_call() -> None:
    async with Faulty(hang) as server:
        session = server.session(**options(timeouts=Timeouts()))
        for call in CALLS.values():
            with pytest.raises(RequestInvalidError) as caught:
                await call(session)
            assert_hidden(caught.value)
        async with session:
            tasks = [asyncio.ensure_future(call(session)) for call in CALLS.values()]
            await server.arrived.wait()
        for error in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(error, ChatRestError)
            assert_hidden(error)


# ── wrong arguments ──

BASE = "https://chat.example.com/v3"
SPACED = f"{KEY} "  # what no address, header or id may hold
WRONG: dict[str, Callable[[], Any]] = {
    "region": lambda: App("a", "eu", KEY),
    "app_id": lambda: App(SPACED, KEY),
    "api_key": lambda: App("a", SPACED),
    "service_domain": lambda: App("a", KEY, service_domain=SPACED),
    "port": lambda: App("a", KEY, service_domain=f"{KEY}:99999"),
    "base_url": lambda: App("a", KEY, base_url=KEY),
    "base_url-http": lambda: App("a", KEY, base_url=f"http://{KEY}.example.com"),
    "environment": lambda: App.from_env(
        {"CHATREST_APP_ID": "a", "CHATREST_API_KEY": KEY, "CHATREST_REGION": KEY, "CHATREST_BASE_URL": BASE}
    ),
    "no-app": lambda: AsyncSession(KEY),  # type: ignore[arg-type]
    "no-address": lambda: AsyncSession(App("a", KEY)),
    "proxy": lambda: AsyncSession(APP, proxy=KEY),
    "proxy-http": lambda: AsyncSession(APP, proxy=f"http://{KEY}@proxy.example.com"),
    "headers": lambda: AsyncSession(APP, headers=KEY),  # type: ignore[arg-type]
    "header-name": lambda: AsyncSession(APP, headers={SPACED: "x"}),
    "header-swapped": lambda: AsyncSession(APP, headers={KEY: 7}),  # type: ignore[dict-item]
    "header-value": lambda: AsyncSession(APP, headers={"X-A": f"{HEADER}\n"}),
    "header-value-view": lambda: AsyncSession(APP).with_options(headers={"X-A": f"{HEADER}\0"}),
    "cursor-key-array": lambda: AsyncSession(APP, cursor_key=bytearray(CURSOR_KEY)),  # type: ignore[arg-type]
    "cursor-key-text": lambda: AsyncSession(APP, cursor_key=CURSOR_KEY.decode()),  # type: ignore[arg-type]
    **{
        name: lambda name=name: AsyncSession(APP, **{name: KEY})  # type: ignore[misc]
        for name in (
            "concurrency", "timeouts", "retry", "deadline", "max_reply_bytes", "pace", "priority",
            "telemetry", "verify", "check_acting_user", "clock", "sleep", "dice",
        )
    },
    "view-deadline": lambda: AsyncSession(APP).with_options(deadline=KEY),  # type: ignore[arg-type]
    "view-priority": lambda: AsyncSession(APP).with_options(priority=KEY),  # type: ignore[arg-type]
    "other-app": lambda: AsyncSession(APP).for_app(KEY),  # type: ignore[arg-type]
    "management-url": lambda: AsyncManagement(MANAGEMENT[0], key=MANAGEMENT[0], secret=MANAGEMENT[1]),
    "management-key": lambda: AsyncManagement(BASE, key=f"{MANAGEMENT[0]} ", secret=MANAGEMENT[1]),
    "management-secret": lambda: AsyncManagement(BASE, key=MANAGEMENT[0], secret=f"{MANAGEMENT[1]}\n"),
    "management-proxy": lambda: AsyncManagement(
        BASE, key=MANAGEMENT[0], secret=MANAGEMENT[1], proxy=MANAGEMENT[1]
    ),
    "timeouts.read": lambda: Timeouts(read=KEY),  # type: ignore[arg-type]
    "retry.attempts": lambda: RetryPolicy(attempts=KEY),  # type: ignore[arg-type]
}  # fmt: skip
APP = App("app-1", KEY, base_url=BASE)


@loop_over("name", WRONG)
def test_an_argument_that_is_refused_is_not_repeated(name: str) -> None:
    with pytest.raises(RequestInvalidError) as caught:
        WRONG[name]()
    assert_hidden(caught.value)
    assert (
        "expected" in str(caught.value) or "no address" in str(caught.value) or "header" in str(caught.value)
    )


HAND: dict[str, dict[str, Any]] = {
    "method": {"method": KEY, "path": "/a"},
    "path": {"method": "GET", "path": SPACED},
    "path-key": {"method": "GET", "path": f"/apikeys/../{KEY}"},
    "query": {"method": "GET", "path": "/a", "query": KEY},
    "query-value": {"method": "GET", "path": f"/a/{KEY}", "query": {"a": b"x", "b": KEY}},
    "json": {"method": "POST", "path": f"/a/{KEY}", "json": {"key": KEY, "x": 1j}},
    "interface": {"method": "GET", "path": "/a", "interface": KEY},
}


@loop_over("name", HAND)
async def test_an_argument_of_a_request_by_hand_is_not_repeated(name: str) -> None:
    async with AsyncSession(APP, **options()) as session:
        with pytest.raises(RequestInvalidError) as caught:
            await session.request(**HAND[name])
    assert_hidden(caught.value)


async def test_a_body_that_cannot_be_sent_is_not_shown() -> None:
    """By the sender, as the collections call: a path and a body may hold a key, and the headers do."""
    create: Endpoint[Any] = Endpoint("api_keys.create", "POST", "/apikeys/{key}", read_json, "never")
    async with AsyncSession(APP, **options()) as session:
        with pytest.raises(RequestInvalidError) as caught:
            session.sender(create(key=KEY, body={"key": KEY, "x": 1j}))
    assert_hidden(caught.value)
    assert caught.value.operation == "api_keys.create"


# ── reprs, and what a header's value is ──


def test_no_repr_shows_a_secret() -> None:
    from rich.pretty import pretty_repr

    session = AsyncSession(APP, **options())
    account = AsyncManagement(BASE, key=MANAGEMENT[0], secret=MANAGEMENT[1], **options())
    for each in (session, account, session.sender, session.with_options(headers={"X-B": HEADER}).sender):
        for shown in (repr(each), repr(vars(each)), pretty_repr(each), pretty_repr(vars(each))):
            assert not any(secret in shown for secret in HIDDEN_ONES)


async def test_the_service_may_repeat_a_headers_value_of_three_characters() -> None:
    """`X-Flag: 1` is no secret: without this, every 1 in the service's text would be blotted out."""
    body = json.dumps({"error": {"message": "1 of 100 is wrong, said abcd"}})
    async with (
        Faulty(reply(body, 400)) as server,
        server.session(headers={"X-Flag": "1", "X-Word": "abcd"}) as session,
    ):
        with pytest.raises(ChatRestError, match=r"1 of 100 is wrong, said \[hidden\]"):
            await session.request("GET", "/a")
