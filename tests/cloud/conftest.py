"""An S3 server on loopback, started once and only for the tests that ask for it, and stores on it."""

import http.client
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Final

import pytest

from chatrest._cloud.address import client_of, parse_address
from chatrest._cloud.store import ObjectStore
from tests.cloud.fault_proxy import KEY_ID, LIMITS, PART_SIZE, SECRET, FaultProxy
from tests.support.buckets import memory_store

_BUCKETS: Final = count(1)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from moto.moto_server.threaded_moto_server import ThreadedMotoServer
        from moto.s3 import models

        logging.getLogger("werkzeug").disabled = True
        server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
        server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        # Real servers take no parts below 5 MiB; small ones make the tests fast.
        patch.setattr(models, "S3_UPLOAD_PART_MIN_SIZE", 1)
        yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_server: str) -> str:
    name = f"bucket-{next(_BUCKETS)}"
    connection = http.client.HTTPConnection(s3_server.removeprefix("http://"))
    connection.request("PUT", f"/{name}")
    assert connection.getresponse().status == 200
    connection.close()
    return name


@pytest.fixture
def s3_environment(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that sets the usual environment variables for an endpoint."""

    def set_endpoint(url: str) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setenv("AWS_REGION", "us-east-1")

    return set_endpoint


@pytest.fixture(params=["memory", "s3"])
def store(request: pytest.FixtureRequest) -> ObjectStore:
    if request.param == "memory":
        return memory_store(part_size=PART_SIZE)
    return request.getfixturevalue("s3_store")  # type: ignore[no-any-return]


def store_at(address: str) -> ObjectStore:
    """Return the store at an address, with small parts and few repetitions."""
    parts = parse_address(address)
    return ObjectStore(client_of(parts, LIMITS), parts, LIMITS, PART_SIZE)


@pytest.fixture
def s3_store(s3_server: str, bucket: str, s3_environment: Callable[[str], None]) -> ObjectStore:
    s3_environment(s3_server)
    return store_at(f"s3://{bucket}/some/prefix")


@pytest.fixture
async def proxy(s3_server: str) -> AsyncIterator[FaultProxy]:
    """A connection to the S3 server on which faults can be made."""
    async with FaultProxy(s3_server) as proxy:
        yield proxy


@pytest.fixture
def proxied_store(proxy: FaultProxy, bucket: str, s3_environment: Callable[[str], None]) -> ObjectStore:
    """An empty store behind `proxy`."""
    s3_environment(proxy.url)
    return store_at(f"s3://{bucket}/prefix")
