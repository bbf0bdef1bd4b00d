"""The transport of the tests of exchanges."""

from collections.abc import AsyncIterator

import pytest

from chatrest._network.transport import Transport
from tests.network.exchanges import CAP


@pytest.fixture
async def transport() -> AsyncIterator[Transport]:
    transport = Transport(cap=CAP)
    yield transport
    await transport.close()
