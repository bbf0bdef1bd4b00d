"""The first request of a command to a store: an endpoint that does not answer is noticed within seconds.

The limits of later requests are those of large transfers over slow connections, and their repetitions would
take minutes.
"""

import asyncio
from typing import Final

from .operations import Operations
from .publication_plan import MANIFEST
from .store_errors import ObjectNotFoundError, ObjectStoreError

_SECONDS: Final = 20.0


async def check_reachable(store: Operations, seconds: float = _SECONDS) -> None:
    """Ask for the facts of the manifest; raise `ObjectStoreError` where no reply comes within `seconds`.

    Any reply is enough: the requests that follow tell more of a refusal than this one, whose reply has no
    text.
    """
    try:
        async with asyncio.timeout(seconds):
            await store.head(MANIFEST)
            return
    except TimeoutError:
        pass
    except ObjectNotFoundError:
        return
    except ObjectStoreError as error:
        if error.status is None:
            raise
        return
    raise ObjectStoreError(
        f"{store.address} did not answer within {seconds:g} s: check the network, and the endpoint in the "
        "environment variables"
    )
