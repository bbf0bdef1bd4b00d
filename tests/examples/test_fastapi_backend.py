"""The FastAPI backend: what a browser gets, also where the service is struck by faults."""

import asyncio
import json
import re
import runpy
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpx
import pytest
from msgspec import structs

from chatrest import (
    AsyncSession,
    ChatRestError,
    Cursor,
    CursorError,
    DeadlineExceededError,
    RateLimitError,
    RetryPolicy,
    ServerError,
    errors,
)
from chatrest.emulator import Emulator, Fault, First, HalfOpen, Reset, Status, TooManyRequests
from chatrest.examples.fastapi_backend import answer_error
from tests.cases import loop_over
from tests.pages import GUIDE
from tests.scripted_server import no_wait
from tests.virtual_time import run

CONVERSATION = "/conversations/user-002/messages"
NEW = {"text": "hello", "muid": "0123456789abcdef"}


class Backend(NamedTuple):
    """A running backend, and a browser that is signed in as user-001."""

    emulator: Emulator
    browser: httpx.AsyncClient
    sessions: list[AsyncSession]
    """All that were opened."""

    def sent(self) -> list[str]:
        """Return sender and text of the messages that the backend has sent."""
        store = self.emulator.store
        records = [json.loads(record) for record in store.records(store.ids())]
        return [
            f"{record['sender']}: {record['data']['text']}"
            for record in records
            if record.get("muid") == NEW["muid"]
        ]


@asynccontextmanager
async def running(key: bytes = b"k" * 32) -> AsyncIterator[Backend]:
    from chatrest.examples.fastapi_backend import LOGINS, make_app  # FastAPI takes long to load

    clock = asyncio.get_running_loop().time
    sessions = []
    async with Emulator(users=3, messages=150, groups=0) as emulator:

        def open_chat() -> AsyncSession:
            retry = RetryPolicy(attempts=2)
            session = AsyncSession(emulator.app, cursor_key=key, clock=clock, sleep=no_wait, retry=retry)
            sessions.append(session)
            return session

        app = make_app(open_chat, LOGINS.get)
        transport, headers = httpx.ASGITransport(app), {"Authorization": "Bearer login-of-ann"}
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="https://backend", headers=headers) as browser,
        ):
            yield Backend(emulator, browser, sessions)


@pytest.fixture
async def backend() -> AsyncIterator[Backend]:
    async with running() as backend:
        yield backend


async def test_a_browser_pages_through_a_conversation_with_one_session(backend: Backend) -> None:
    from chatrest.examples.fastapi_backend import PAGE

    backend.emulator.store.add_message("user-003", "user-002", "of another conversation")
    walk = backend.sessions[0].messages.list_user("user-002", on_behalf_of="user-001")
    expected = sorted([message.id async for message in walk], key=int, reverse=True)
    ids, path = [], CONVERSATION
    for _ in range(len(expected) // PAGE + 1):
        page = (await backend.browser.get(path)).json()
        ids += [message["id"] for message in page["messages"]]
        path = f"{CONVERSATION}?cursor={page['next']}"
    assert ids == expected
    assert page["next"] is None
    assert len(backend.sessions) == 1


async def test_a_token_serves_its_own_list_and_user_alone(backend: Backend) -> None:
    browser = backend.browser
    token = (await browser.get(CONVERSATION)).json()["next"]
    unsigned = str(structs.replace(Cursor.parse(token), mac=b""))
    before = len(backend.emulator.requests)
    for path in (
        f"/conversations/user-003/messages?cursor={token}",
        f"{CONVERSATION}?cursor={token[:-1]}",
        f"{CONVERSATION}?cursor={unsigned}",
    ):
        assert (await browser.get(path)).status_code == 400
    browser.headers["Authorization"] = "Bearer login-of-bob"
    answer = await browser.get(f"/conversations/user-001/messages?cursor={token}")
    assert (answer.status_code, answer.json()["error"]) == (400, "cursor_refused")
    assert len(backend.emulator.requests) == before


async def test_nobody_is_served_without_a_login(backend: Backend) -> None:
    backend.browser.headers["Authorization"] = "Bearer of-nobody"
    answers = [
        await backend.browser.get(CONVERSATION),
        await backend.browser.post(CONVERSATION, json=NEW),
        await backend.browser.post("/chat-token"),
    ]
    assert [answer.status_code for answer in answers] == [401, 401, 401]
    assert not backend.emulator.requests


async def test_the_token_of_a_chat_client_is_for_the_signed_in_user(backend: Backend) -> None:
    answer = await backend.browser.post("/chat-token")
    tokens = [token async for token in backend.sessions[0].auth_tokens.list("user-001")]
    assert [token.auth_token for token in tokens] == [answer.json()["auth_token"]]
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("fault", "status", "seconds"),
    [
        (Status(401), 500, None),
        (Reset(), 502, None),
        (TooManyRequests(wait=60.0), 503, 60),
    ],
    ids=str,
)
async def test_faults_of_the_service_are_statuses(
    backend: Backend, caplog: pytest.LogCaptureFixture, fault: Fault, status: int, seconds: int | None
) -> None:
    backend.emulator.weather.add(fault)
    answer = await backend.browser.get(CONVERSATION)
    assert answer.status_code == status
    waits = answer.headers.get("Retry-After")
    assert waits is None if seconds is None else int(waits) in (seconds, seconds + 1)
    assert "messages.list_user" in caplog.text  # the log has what the browser has not
    for text in (answer.text, str(answer.headers)):
        assert "messages.list_user" not in text
        assert backend.emulator.app.api_key not in text
    assert backend.emulator.app.api_key not in caplog.text


async def test_control_characters_of_a_path_do_not_reach_the_log(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await backend.browser.get("/conversations/x%1B[2J/messages")
    assert answer.status_code == 400
    assert "[2J" in caplog.text
    assert "\x1b" not in caplog.text


@pytest.mark.parametrize("processed", [True, False])
async def test_a_message_whose_reply_is_lost_is_settled(backend: Backend, processed: bool) -> None:
    backend.emulator.weather.add(Reset(route="messages.send", processed=processed, when=First()))
    answer = await backend.browser.post(CONVERSATION, json=NEW)
    if processed:
        assert (answer.status_code, answer.json()["text"]) == (201, "hello")
    else:
        assert (answer.status_code, answer.json()["error"]) == (504, "outcome_unknown")
    for _ in range(2):
        again = await backend.browser.post(CONVERSATION, json={**NEW, "repeated": True})
        assert again.status_code == 201
    assert backend.sent() == ["user-001: hello"]


async def test_an_outcome_stays_unknown_where_the_list_fails(backend: Backend) -> None:
    backend.emulator.weather.add(Reset(route="messages.send", processed=True))
    backend.emulator.weather.add(Status(503, route="messages.list_user"))
    answer = await backend.browser.post(CONVERSATION, json=NEW)
    assert (answer.status_code, answer.json()["error"]) == (504, "outcome_unknown")


async def test_half_a_character_does_not_break_a_page(backend: Backend) -> None:
    store = backend.emulator.store
    record = store.add_message("user-002", "user-001", "whole")
    half = {"id": str(store.last_id + 1), "data": {"text": "half \ud83d"}}
    store.add_records([json.dumps(record | half).encode()])  # as an escape, as services write it
    messages = (await backend.browser.get(CONVERSATION)).json()["messages"]
    assert [message["text"] for message in messages[:2]] == ["half ?", "whole"]


def test_a_service_that_hangs_costs_no_more_than_the_requests_time() -> None:
    from chatrest.examples.fastapi_backend import REQUEST_SECONDS

    async def main() -> None:
        now = asyncio.get_running_loop().time
        async with running() as backend:
            hangs = HalfOpen(processed=True, route="messages.send", when=First())
            backend.emulator.weather.add(hangs)
            sent = await backend.browser.post(CONVERSATION, json=NEW)
            assert (sent.status_code, now()) == (201, pytest.approx(REQUEST_SECONDS / 2))
            assert backend.sent() == ["user-001: hello"]
            backend.emulator.weather.add(HalfOpen(route="messages.list_user"))
            began = now()
            read = await backend.browser.get(CONVERSATION)
            assert (read.status_code, now() - began) == (504, pytest.approx(REQUEST_SECONDS))
            backend.emulator.weather.release()

    run(main())


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from chatrest.examples import fastapi_backend

    fastapi_backend.main()
    printed = capsys.readouterr().out
    statuses = ["401", "200", "200", "400", "404", "200", "201", "503"]
    assert [line[4:7] for line in printed.splitlines() if line[4:7].isdigit()] == statuses
    assert "Retry-After: 2" in printed


def test_the_example_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from chatrest.examples import fastapi_backend

    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(SystemExit, match="pip install fastapi httpx"):
        runpy.run_path(str(fastapi_backend.__file__), run_name="__main__")


# ── errors as HTTP statuses ──

CLASSES = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
NOT_OF_A_REQUEST = (ChatRestError, errors.ExportIncompleteError)
"""The base class, and what no request of a browser raises."""
SECRET = "the text of the error: k3y"


@loop_over("kind", [kind for kind in CLASSES if kind not in NOT_OF_A_REQUEST])
def test_every_error_has_an_answer_of_its_own_that_shows_nothing_of_it(kind: type[ChatRestError]) -> None:
    answer = answer_error(kind(SECRET))
    assert answer.body != answer_error(ChatRestError()).body
    assert 400 <= answer.status < 600
    assert answer.status != 401  # the browser would sign its user out
    assert SECRET not in str(answer)


@loop_over("kind", [kind for kind in CLASSES if issubclass(kind, errors.OutcomeUnknownError)])
def test_an_unknown_outcome_never_looks_like_a_failure(kind: type[ChatRestError]) -> None:
    error = kind(SECRET)
    vars(error).update(retry_after=5.0, reason="rate limit")  # as of a 503 with a time, and of a deadline
    answer = answer_error(error)
    assert (answer.status, answer.body["error"], answer.headers) == (504, "outcome_unknown", {})


@loop_over(("seconds", "header"), [(0.0, "1"), (0.2, "1"), (20.0, "20"), (20.1, "21")])
def test_a_time_is_passed_on_in_whole_seconds(seconds: float, header: str) -> None:
    error = RateLimitError(SECRET)
    error.retry_after = seconds
    assert answer_error(error).headers == {"Retry-After": header}
    assert answer_error(RateLimitError(SECRET)).headers == {}


def test_a_deadline_that_the_rate_limit_exceeds_is_answered_as_the_rate_limit() -> None:
    limited = answer_error(DeadlineExceededError(SECRET, reason="rate limit", retry_after=60.0))
    assert limited.status == answer_error(RateLimitError(SECRET)).status
    assert limited.headers == {"Retry-After": "60"}
    assert answer_error(DeadlineExceededError(SECRET, reason="network")).status == 504


def test_the_cursors_of_the_service_are_not_the_browsers_fault() -> None:
    error = CursorError(SECRET)
    assert answer_error(error).status == 400
    error.operation = "messages.list_user"
    assert answer_error(error) == answer_error(ServerError(SECRET))


def test_the_guide_has_the_statuses() -> None:
    page = (GUIDE / "backends.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d{3}) +\| (.+?) +\|", page, re.MULTILINE)
    stated = {(name, int(status)) for status, names in rows for name in re.findall(r"`(\w+Error)`", names)}
    assert len(stated) > 12
    others = {(name, answer_error(getattr(errors, name)(SECRET)).status) for name, _ in stated}
    assert stated - others == {("CursorError", 502)}, "of a list"
