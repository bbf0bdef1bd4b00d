"""Progress: the numbers that a run's requests add up to, and the sums of several reports."""

from typing import Any

import pytest

from chatrest import AsyncSession, RetryPolicy
from chatrest._telemetry import Attempt
from chatrest.errors import ConnectError, CursorError, ExportIncompleteError, NotFoundError
from chatrest.export import AttachmentCounts, ExportFailure, NextRun, Progress, Report
from chatrest.export.plan.report import sums
from tests.support.cases import loop_over
from tests.support.scripted_server import FaultyServer, no_wait, reply

BUSY = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\n{}"


def attempt(**fields: Any) -> Attempt:
    plain = {
        "call": 1, "operation": "messages.list", "method": "GET", "template": "/messages", "app_id": "app-1",
        "region": "eu", "number": 1, "status": 200, "reply_bytes": 9, "paced": 0.0, "queued": 0.0,
        "network": 0.0, "decoded": 0.0, "error": None, "cause": None,
    }  # fmt: skip
    return Attempt(**{**plain, **fields})


@loop_over(
    ("lacking", "expected"),
    [
        ([], NextRun.NOTHING),
        ([ExportFailure.of("user x", NotFoundError("404"))], NextRun.FAILS),
        (
            [
                ExportFailure.of("user x", ConnectError("down")),
                ExportFailure.of("user y", NotFoundError("404")),
            ],
            NextRun.CONTINUES,
        ),
        (["some sources are not read"], NextRun.CONTINUES),
        (
            [ExportFailure.of("user x", CursorError("a circle")), "some sources are not read"],
            NextRun.CONTINUES,
        ),
    ],
)
def test_a_report_says_whether_another_run_can_help(
    lacking: list[str | ExportFailure], expected: NextRun
) -> None:
    report = Report(complete=not lacking)
    for each in lacking:
        report.lacks(each)
    assert report.next_run is expected
    if lacking:
        with pytest.raises(ExportIncompleteError) as caught:
            report.check()
        assert caught.value.can_continue is (expected is NextRun.CONTINUES)
        assert NextRun.after(caught.value) is expected


def test_a_run_of_some_sources_reports_only_those_as_incomplete() -> None:
    Report(only=["user a"], not_read=3).check()
    for lacking in ("some sources are not read", ExportFailure.of("user a", ConnectError("down"))):
        report = Report(only=["user a"])
        report.lacks(lacking)
        with pytest.raises(ExportIncompleteError):
            report.check()


def test_a_fault_is_shown_until_a_request_succeeds() -> None:
    progress = Progress()
    progress.heard(attempt(status=503, error="ServerError"))
    assert progress.trouble == "ServerError"
    progress.heard(attempt(status=None, error="ConnectError"))
    assert progress.trouble == "ConnectError"
    progress.heard(attempt(number=2))
    assert progress.trouble is None


@pytest.mark.usefixtures("tidy")
async def test_a_session_reports_its_requests() -> None:
    progress = Progress()
    async with (
        FaultyServer(BUSY, reply(b'{"data":[]}')) as server,
        AsyncSession(
            server.app(), telemetry=progress.heard, retry=RetryPolicy(attempts=3), sleep=no_wait
        ) as session,
    ):
        assert await session.messages.list_user("bob").collect() == []
    assert (progress.requests, progress.limited, progress.repeated, progress.trouble) == (2, 1, 1, None)


def test_sums_add_numbers_join_lists_and_add_counts_by_name() -> None:
    counted = [
        AttachmentCounts(failed=1, errors={"the server answers 403": 1}),
        AttachmentCounts(failed=2, stored=3, errors={"the server answers 403": 1, "no connection": 1}),
    ]
    added = AttachmentCounts(**sums(counted, AttachmentCounts.__struct_fields__))
    assert added == AttachmentCounts(
        failed=3, stored=3, errors={"the server answers 403": 2, "no connection": 1}
    )
    assert sums([Report(kept=["a"]), Report(kept=["b", "c"])], ["kept"]) == {"kept": ["a", "b", "c"]}
    assert sums([], ["kept"]) == {}
