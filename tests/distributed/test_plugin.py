"""The plugin of a job on a worker: its end, and Dask's log."""

import asyncio
import logging
from typing import Any

import pytest

from chatrest.distributed.plugin import JobPlugin, is_rare_call


async def test_a_worker_that_closes_does_not_wait_for_ever_for_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chatrest.distributed.plugin._END_SECONDS", 0.05)
    job: Any = JobPlugin("chatrest-1", b"")
    job.rates["a part that does not end"] = None
    async with asyncio.timeout(10):
        await job.teardown(None)
    assert job.has_ended


def test_dask_does_not_log_each_message_about_the_rate() -> None:
    def record(name: str) -> logging.LogRecord:
        return logging.LogRecord(
            "distributed.worker", 20, "", 1, "Run out-of-band function %r", (name,), None
        )

    assert [is_rare_call(record(name)) for name in ("receive_grants", "other")] == [False, True]
