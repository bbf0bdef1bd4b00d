"""Connections to a Dask cluster: to a scheduler's address, or to one that is started here."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import dask.config
from distributed import Client, LocalCluster
from distributed.client import AllExit

from ..core.requests.arguments import check
from ..errors import RequestInvalidError
from .coordinator import ClusterError

_LOCAL: Final = re.compile(r"local:([1-9][0-9]{0,2})")
_ADDRESS: Final = re.compile(r"(?:tcp|tls|ucx|ucxs|ws|wss)://[^\s/]+:[0-9]{1,5}")
_TLS: Final = ("tls", "ucxs", "wss")
_TLS_SETTINGS: Final = ("ca-file", "client.key", "client.cert")
_CONNECT_SECONDS: Final = 20
CLOSE_SECONDS: Final = 10
"""After these a cluster that does not answer is left alone."""


def check_address(address: str) -> int | None:
    """Return the number of workers of `local:N`; None for a scheduler's address.

    Raises `RequestInvalidError` for anything else.
    """
    if match := _LOCAL.fullmatch(address):
        return int(match[1])
    fits = _ADDRESS.fullmatch(address) is not None
    check(fits, "dask", address, "tcp://HOST:PORT, tls://HOST:PORT, or local:N with 1 to 999 workers")
    return None


@asynccontextmanager
async def connect(address: str, *, quiet: bool = False) -> AsyncIterator["Client"]:
    """Connect to the cluster at an address; `local:N` starts N processes here, and ends them behind.

    `quiet` keeps what Dask itself logs from standard error. Raises `RequestInvalidError` for a wrong address,
    and `ClusterError` where there is no scheduler.
    """
    workers = check_address(address)
    if quiet:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if workers is None:
        async with _client(address) as client:
            yield client
        return
    options: dict[str, Any] = {
        "n_workers": workers, "threads_per_worker": 2, "processes": True, "dashboard_address": "127.0.0.1:0",
        "memory_limit": 0, "asynchronous": True,
    }  # fmt: skip
    if quiet:
        options["silence_logs"] = logging.CRITICAL
    async with LocalCluster(**options) as cluster, _client(cluster) as client:
        yield client


@asynccontextmanager
async def _client(cluster: Any) -> AsyncIterator["Client"]:
    _silence(asyncio.get_running_loop())
    if isinstance(cluster, str) and cluster.partition(":")[0] in _TLS:
        _check_tls(cluster)
    client = None
    try:
        client = Client(cluster, asynchronous=True, timeout=_CONNECT_SECONDS, set_as_default=False)
        await client
    except (OSError, ValueError, TypeError) as error:
        if client is not None:
            with suppress(Exception):
                await client.close(CLOSE_SECONDS)
        raise ClusterError(f"no scheduler answers at {cluster}: {error}") from None
    try:
        yield client
    finally:
        await client.close(CLOSE_SECONDS)


def _check_tls(address: str) -> None:
    """Raise `ClusterError` where Dask has no certificate of ours, or not all of it."""
    lacking = {}
    for name in _TLS_SETTINGS:
        path = dask.config.get(f"distributed.comm.tls.{name}", None)
        if not path or not Path(path).is_file():
            variable = f"DASK_DISTRIBUTED__COMM__TLS__{name.upper().replace('.', '__').replace('-', '_')}"
            lacking[variable] = f" ({path} is no file)" if path else ""
    if lacking:
        names = ", ".join(f"{variable}{fault}" for variable, fault in lacking.items())
        raise ClusterError(f"{address} needs TLS: set {names} to the path of a PEM file")


def _silence(loop: asyncio.AbstractEventLoop) -> None:
    """Keep a loop from printing an exception by which Dask leaves a wait of its own."""
    previous = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), AllExit):
            return
        if previous is None:
            loop.default_exception_handler(context)
        else:
            previous(loop, context)

    loop.set_exception_handler(handle)


def check_client(client: object) -> "Client":
    """Return a client that works with `await`; `RequestInvalidError` for anything else."""
    if not isinstance(client, Client) or not client.asynchronous:
        raise RequestInvalidError(
            f"client = {client!r}: allowed is a distributed.Client with asynchronous=True"
        )
    return client
