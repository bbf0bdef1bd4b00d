"""The session of a worker: the one place that knows how its rate is shared with other workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..core.pacer import Pace
from ..session import AsyncSession
from .credentials import Credentials


@asynccontextmanager
async def open_session(
    credentials: Credentials, job: str, requests_per_second: float | None
) -> AsyncIterator[AsyncSession]:
    """Open a session for the shards of a job, with a share of the app's rate; None finds the rate out."""
    pace = None if requests_per_second is None else Pace(rate=requests_per_second, window=1)
    async with AsyncSession(credentials.app, headers=credentials.headers, pace=pace) as session:
        yield session
