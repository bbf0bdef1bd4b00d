"""The workers that a fan-out may use: their tokens, their credentials, and how many items each one runs."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable
from concurrent.futures import CancelledError
from typing import Any, Final, TypeVar, final

from distributed import Client

from .coordinator import ClusterError
from .credentials import Credentials, is_private, refusal
from .fan_out_worker import WorkerState, give_credentials, state_of

R = TypeVar("R")

REFRESH_SECONDS: Final = 2.0
"""The age that the list of workers may have, in seconds."""
_WORKERLESS_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.25


async def call(work: Awaitable[R]) -> R:
    """Return the result of a call of the scheduler; `ClusterError` where it is gone."""
    try:
        return await work
    except (OSError, CancelledError) as error:
        raise ClusterError(f"the scheduler is gone: {error}") from None


@final
class ClusterWorkers:
    """The workers of a cluster that have the plugin of a fan-out, and credentials."""

    def __init__(self, client: Client, plugin: str, credentials: Credentials) -> None:
        self.running: Counter[str] = Counter()
        """The items under way by the address of the worker."""
        self._client: Any = client
        self._plugin = plugin
        self._credentials = credentials
        self._tokens: dict[str, str] = {}
        self._listed_at = float("-inf")
        self._connected: tuple[float, frozenset[str]] = (float("-inf"), frozenset())
        self._lock = asyncio.Lock()

    async def choose(self) -> tuple[str, str]:
        """Return the address and the token of the worker with the fewest items; wait for one if need be."""
        end = time.monotonic() + _WORKERLESS_SECONDS
        while True:
            async with self._lock:
                if time.monotonic() > self._listed_at + REFRESH_SECONDS:
                    await self._list()
            if self._tokens:
                return min(self._tokens.items(), key=lambda each: self.running[each[0]])
            if time.monotonic() > end:
                raise ClusterError("the cluster has no workers")
            await asyncio.sleep(_LOOK_SECONDS)
            self.refresh()

    def refresh(self) -> None:
        """Look for the workers anew when the next one is chosen: one was lost."""
        self._listed_at = float("-inf")

    async def is_gone(self, address: str) -> bool:
        """Return True if the scheduler has lost a worker; a task that wants it may wait for ever then."""
        async with self._lock:
            now = time.monotonic()
            if now > self._connected[0] + REFRESH_SECONDS:
                self._connected = now, frozenset(await call(self._client.nthreads()))
        return address not in self._connected[1]

    def check_connection(self) -> None:
        """Raise `ClusterError` if the scheduler is gone."""
        if self._client.status != "running":
            raise ClusterError("the scheduler is gone")

    async def _list(self) -> None:
        states = await self._states()
        if lacking := [address for address, state in states.items() if not state.has_credentials]:
            await self._send_credentials(lacking)
            states |= await self._states(lacking)
        for address, state in states.items():
            if state.fault:
                raise ClusterError(f"the worker {address} cannot run items: {state.fault}")
        self._tokens = {address: state.token for address, state in states.items() if state.has_credentials}
        self._listed_at = time.monotonic()

    async def _states(self, workers: list[str] | None = None) -> dict[str, WorkerState]:
        states = await call(self._client.run(state_of, self._plugin, workers=workers, on_error="ignore"))
        return {address: state for address, state in states.items() if state is not None}

    async def _send_credentials(self, workers: list[str]) -> None:
        scheduler = str(self._client.scheduler.address)
        if not all(map(is_private, (scheduler, *workers))):
            raise ClusterError(refusal(scheduler))
        await call(
            self._client.run(
                give_credentials, self._plugin, self._credentials, workers=workers, on_error="ignore"
            )
        )
