"""Imports into a service that loses replies, refuses batches, or is interrupted in one."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given, settings, strategies as st

from chatrest import App, AsyncSession, OutcomeUnknownError, ReplyUnreadableError
from chatrest.importing import ImportResult, run
from tests.importing.conftest import Write, message
from tests.scripted_server import no_wait

KINDS = {"users": "uid", "groups": "guid", "members": "memberId", "messages": "muid"}
TAKEN = {
    "users": "ERR_UID_ALREADY_EXISTS", "groups": "ERR_GUID_ALREADY_EXISTS",
    "members": "ERR_ALREADY_JOINED", "messages": "ERR_IMPORT_MUID_ALREADY_EXISTS",
}  # fmt: skip


class BatchService:
    """An app's imports on a real socket; `stored` has the keys of each kind, in the order of their coming."""

    def __init__(self) -> None:
        self.stored: dict[str, list[str]] = {kind: [] for kind in KINDS}
        self.most = 50
        """Records of a request; a larger one is 413."""
        self.refuses_all: set[str] = set()
        """Records because of which a whole request is 400."""
        self.refuses: set[str] = set()
        """Records that are refused one by one."""
        self.habit: Callable[[], str] = lambda: ""
        """What becomes of the next request: `lost`, `halfway`, `500`, `502`, `limit`, or nothing special."""
        self.after: Callable[[], None] = lambda: None
        """Called with every request that was applied, before its reply is sent."""

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        application = web.Application()
        application.router.add_post("/data_import/{kind}", self._import)
        async with TestServer(application) as server:
            here = App("app-1", "k" * 20, base_url=str(server.make_url("")).rstrip("/"))
            async with AsyncSession(here, sleep=no_wait, dice=lambda: 0.5) as session:
                yield session

    async def _import(self, request: web.Request) -> web.Response:
        kind, habit = request.match_info["kind"], self.habit()
        records = (await request.json())[kind]
        if habit in ("limit", "502"):
            return refusal(
                429 if habit == "limit" else 502, "ERR_TOO_MANY_REQUESTS" if habit == "limit" else ""
            )
        if len(records) > self.most:
            return refusal(413, "")
        if self.refuses_all & records.keys():
            return refusal(400, "ERR_BAD_REQUEST")
        applied = list(records)[: len(records) // 2] if habit == "halfway" else list(records)
        outcomes = {key: self._outcome(kind, key) for key in applied}
        self.after()
        if habit == "500":
            return refusal(500, "")
        if habit == "unreadable":
            return web.json_response({"data": 7})
        if habit in ("lost", "halfway"):
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"data": outcomes})

    def _outcome(self, kind: str, key: str) -> dict[str, Any]:
        if key in self.refuses:
            return {"success": False, "error": {"code": "ERR_UID_NOT_FOUND", "message": "no"}}
        if key in self.stored[kind]:
            return {"success": False, "error": {"code": TAKEN[kind], "message": "there"}}
        self.stored[kind].append(key)
        return {"success": True, "data": {}}


def refusal(status: int, code: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": "no"} if code else {}}, status=status)


def record(kind: str, number: int) -> dict[str, Any]:
    match kind:
        case "users":
            return {"uid": f"k{number}", "name": "N"}
        case "groups":
            return {"guid": f"k{number}", "name": "N", "type": "public"}
        case "members":
            return {"guid": "g", "uid": f"{number}", "memberId": f"k{number}"}
    return message(number, muid=f"k{number}")


def refused(result: ImportResult) -> dict[str, str]:
    return {note.key: note.code for note in result.refused}


def script(*habits: str) -> Callable[[], str]:
    left = list(habits)
    return lambda: left.pop(0) if left else ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [400, 413])
async def test_what_was_applied_before_the_refusal_of_a_whole_batch_is_there(
    write: Write, kind: str, status: int
) -> None:
    service = BatchService()

    def refuse_from_now_on() -> None:
        if status == 413:
            service.most = 3
        else:
            service.refuses_all = {"k5"}
        service.after = lambda: None

    service.habit, service.after = script("lost"), refuse_from_now_on
    if status == 400:
        service.habit = script("halfway")
    path = write(f"{kind}.ndjson", [record(kind, number) for number in range(10)])
    async with service.session() as session:
        result = await run(session, [path])
    bad = {"k5": "ERR_BAD_REQUEST"} if status == 400 else {}
    assert refused(result) == bad
    assert sorted(service.stored[kind]) == sorted(f"k{n}" for n in range(10) if f"k{n}" not in bad)
    assert result.imported == 10 - len(bad)


async def test_replies_that_can_never_be_read_end_the_import(write: Write) -> None:
    service = BatchService()
    service.habit = lambda: "unreadable"
    path = write("users.ndjson", [record("users", number) for number in range(10)])
    async with service.session() as session:
        with pytest.raises(ReplyUnreadableError):
            await run(session, [path])
        service.habit = script()
        assert (await run(session, [path])).imported == 10


async def test_what_was_never_sent_before_is_refused_where_it_exists(write: Write) -> None:
    service = BatchService()
    service.most, service.stored["messages"] = 3, ["k4"]
    path = write("messages.ndjson", [record("messages", number) for number in range(10)])
    async with service.session() as session:
        result = await run(session, [path])
    assert refused(result) == {"k4": "ERR_IMPORT_MUID_ALREADY_EXISTS"}
    assert result.imported == 9


async def test_a_group_that_is_full_has_no_member_that_is_there(write: Write) -> None:
    service = BatchService()
    service.habit = script("502")
    path = write("members.ndjson", [record("members", 0)])

    def full(kind: str, key: str) -> dict[str, Any]:
        return {"success": False, "error": {"code": "ERR_NO_VACANCY", "message": "full"}}

    service._outcome = full  # type: ignore[method-assign]
    async with service.session() as session:
        result = await run(session, [path])
    assert refused(result) == {"k0": "ERR_NO_VACANCY"}


@settings(max_examples=8)
@given(st.integers(0, 2**32), st.sampled_from([*KINDS]))
async def test_every_record_is_applied_once_or_named(
    tmp_path_factory: pytest.TempPathFactory, seed: int, kind: str
) -> None:
    dice, service = Random(seed), BatchService()
    count = dice.randrange(1, 70)
    keys = [f"k{number}" for number in range(count)]
    service.most = dice.choice([1, 2, 7, 49, 50])
    service.refuses_all = set(dice.sample(keys, min(count, dice.randrange(3))))
    service.refuses = set(dice.sample(keys, min(count, dice.randrange(4)))) - service.refuses_all
    trouble = dice.choice([0.0, 0.1, 0.3])
    habits = ["lost", "halfway", "500", "502", "limit", "unreadable"]
    service.habit = lambda: dice.choice(habits) if dice.random() < trouble else ""
    path = tmp_path_factory.mktemp("any") / "records.ndjson"
    path.write_text("".join(f"{json.dumps(record(kind, number))}\n" for number in range(count)))
    async with service.session() as session:
        result = await finished(session, path, kind, service, dice)
    bad = dict.fromkeys(service.refuses_all, "ERR_BAD_REQUEST") | dict.fromkeys(
        service.refuses, "ERR_UID_NOT_FOUND"
    )
    assert refused(result) == bad
    assert service.stored[kind] == [key for key in keys if key not in bad]
    assert result.imported == count - len(bad)
    assert [(each.lines, each.refused) for each in result.files] == [(count, len(bad))]


async def finished(
    session: AsyncSession, path: Path, kind: Any, service: BatchService, dice: Random
) -> ImportResult:
    """Return the result of the run that came to its end, after runs that were ended in a request."""
    for deaths in range(1000):
        work = asyncio.ensure_future(run(session, [path], kind=kind))

        def die(work: "asyncio.Future[ImportResult]" = work, chance: float = 0.2 / (1 + deaths / 5)) -> None:
            if dice.random() < chance:
                work.cancel()

        service.after = die
        try:
            return await work
        except (OutcomeUnknownError, ReplyUnreadableError, asyncio.CancelledError):
            continue
    raise AssertionError("the import has no end")
