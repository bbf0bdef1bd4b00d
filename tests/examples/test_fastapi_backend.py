"""The FastAPI backend: what a browser gets, also where the service is struck by faults."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from chatrest import AsyncSession, ChatRestError, CursorError, DeadlineExceededError, RateLimitError, errors
from chatrest.emulator import Emulator, First, HalfOpen, Reset
from chatrest.examples import fastapi_backend
from tests.support.cases import loop_over
from tests.support.pages import GUIDE
from tests.support.scripted_server import no_wait
from tests.support.virtual_time import run

CONVERSATION = "/conversations/user-002/messages"
NEW = {"text": "hello", "muid": "0123456789abcdef"}
SECRET = "the text of the error: k3y"


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Emulator, httpx.AsyncClient]]:
    clock = asyncio.get_running_loop().time
    async with Emulator(users=3, messages=150, groups=0) as emulator:
        options: dict[str, Any] = {"cursor_key": b"k" * 32, "clock": clock, "sleep": no_wait}
        logins = {"ann": "user-001", "bob": "user-002"}
        app = fastapi_backend.make_app(lambda: AsyncSession(emulator.app, **options), logins.get)
        transport, headers = httpx.ASGITransport(app), {"Authorization": "Bearer ann"}
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="https://backend", headers=headers) as browser,
        ):
            yield emulator, browser


async def test_a_browser_pages_through_a_conversation_with_tokens() -> None:
    async with running() as (emulator, browser):
        record = emulator.store.add_message("user-002", "user-001", "complete")
        half = {"id": str(emulator.store.last_id + 1), "data": {"text": "half \ud83d"}}
        emulator.store.add_records([json.dumps(record | half).encode()])  # as an escape, as services write it
        stored = [json.loads(each) for each in emulator.store.records(emulator.store.ids())]
        parties = {"user-001", "user-002"}
        ids, path = [], CONVERSATION
        messages = (await browser.get(path)).json()["messages"]
        assert [message["text"] for message in messages[:2]] == ["half ?", "complete"]
        while path:
            page = (await browser.get(path)).json()
            ids += [message["id"] for message in page["messages"]]
            path = f"{CONVERSATION}?cursor={page['next']}" if page["next"] else ""
        expected = [each["id"] for each in stored if {each["sender"], each["receiver"]} == parties]
        assert ids == sorted(expected, key=int, reverse=True)


async def test_a_token_is_valid_for_one_list_and_user() -> None:
    async with running() as (emulator, browser):
        token = (await browser.get(CONVERSATION)).json()["next"]
        before = len(emulator.requests)
        assert (await browser.get(f"/conversations/user-003/messages?cursor={token}")).status_code == 400
        assert (await browser.get(f"{CONVERSATION}?cursor={token[:-1]}")).status_code == 400
        browser.headers["Authorization"] = "Bearer bob"
        answer = await browser.get(f"/conversations/user-001/messages?cursor={token}")
        assert (answer.status_code, answer.json()) == (400, {"error": "cursor_refused"})
        browser.headers["Authorization"] = "Bearer user-001"
        assert (await browser.get(CONVERSATION)).status_code == 401
        assert (await browser.post(CONVERSATION, json=NEW)).status_code == 401
        assert len(emulator.requests) == before


@pytest.mark.parametrize("processed", [True, False])
async def test_a_message_is_sent_once_if_the_reply_is_lost(processed: bool) -> None:
    async with running() as (emulator, browser):
        emulator.weather.add(Reset(route="messages.send", processed=processed, when=First()))
        answer = await browser.post(CONVERSATION, json=NEW)
        assert (answer.status_code, answer.json()) == (504, {"error": "outcome_unknown"})
        for _ in range(2):
            again = await browser.post(CONVERSATION, json={**NEW, "repeated": True})
            assert (again.status_code, again.json()["text"]) == (201, "hello")
        records = [json.loads(each) for each in emulator.store.records(emulator.store.ids())]
        assert [each["sender"] for each in records if each.get("muid") == NEW["muid"]] == ["user-001"]


def test_a_service_that_hangs_costs_no_more_than_the_requests_time() -> None:
    async def main() -> None:
        async with running() as (emulator, browser):
            emulator.weather.add(HalfOpen(route="messages.list_user"))
            now = asyncio.get_running_loop().time
            began = now()
            assert (await browser.get(CONVERSATION)).status_code == 504
            assert now() - began == pytest.approx(fastapi_backend.REQUEST_SECONDS)
            emulator.weather.release()

    run(main())


def answer_of(error: ChatRestError) -> tuple[int, str, str | None]:
    request: Any = type("Request", (), {"method": "GET", "url": httpx.URL("https://backend/x%1B[2J")})
    answer = asyncio.run(fastapi_backend.show_error(request, error))
    return answer.status_code, bytes(answer.body).decode(), answer.headers.get("Retry-After")


CLASSES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.ChatRestError)
]


@loop_over("kind", CLASSES)
def test_every_error_has_a_status_without_details(kind: type[ChatRestError]) -> None:
    error = kind(SECRET)
    vars(error).update(retry_after=5.0, reason="rate limit")
    status, body, wait = answer_of(error)
    assert 400 <= status < 600
    assert status != 401  # the browser would sign its user out
    assert SECRET not in body
    if isinstance(error, errors.OutcomeUnknownError):  # as of a 503 with a time, and of a deadline
        assert (status, body, wait) == (504, '{"error":"outcome_unknown"}', None)


def test_the_status_depends_on_code_and_class() -> None:
    assert answer_of(DeadlineExceededError(SECRET, reason="network"))[0] == 504
    assert answer_of(DeadlineExceededError(SECRET, reason="rate limit", retry_after=20.1))[::2] == (503, "21")
    assert answer_of(RateLimitError(SECRET))[::2] == (503, None)
    error = CursorError(SECRET)
    error.operation = "messages.list_user"
    assert answer_of(error)[0] == 502


def test_the_guide_has_the_statuses() -> None:
    page = (GUIDE / "backends.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d{3}) +\| (.+?) +\|", page, re.MULTILINE)
    stated = {(name, int(status)) for status, names in rows for name in re.findall(r"`(\w+Error)`", names)}
    others = {(name, answer_of(getattr(errors, name)(SECRET))[0]) for name, _ in stated}
    assert len(others) > 12
    assert stated - others == {("CursorError", 502)}, "of a list"
