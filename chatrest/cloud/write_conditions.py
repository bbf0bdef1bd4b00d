"""The test of a store for conditional writes, which also reads the store's clock."""

from contextlib import suppress
from datetime import datetime
from typing import final

from msgspec import Struct

from .operations import Operations
from .store_errors import (
    ConditionUnsupportedError,
    ObjectChangedError,
    ObjectExistsError,
    ObjectStoreError,
)


@final
class WriteConditions(Struct, frozen=True):
    """The result of the test."""

    deviation: str
    """The store's behaviour that makes its conditional writes useless; empty if they work."""
    now: datetime
    """The time of the test, by the store's clock."""

    @property
    def are_kept(self) -> bool:
        """True if a conditional write is refused where its condition is not met."""
        return not self.deviation


async def probe_conditions(store: Operations, owner: str) -> WriteConditions:
    """Create an object of one's own twice, and replace it twice with the same e-tag.

    Both second attempts must be refused. Sends up to eight requests and leaves nothing; `owner` is part of
    the object's name. Raises `ObjectStoreError` if the store cannot be written at all.
    """
    name = f"writer-probe-{owner}"
    try:
        conditions = await _probe(store, name)
    except ObjectStoreError as error:
        if error.status is None:  # without a reply, the object may be there
            with suppress(ObjectStoreError):
                await store.delete(name)
        raise
    await store.delete(name)
    return conditions


async def _probe(store: Operations, name: str) -> WriteConditions:
    deviation = ""
    etag = None
    try:
        etag = await _create(store, name)
    except ConditionUnsupportedError:
        deviation = "refuses conditional writes"
        await store.put(name, b"1")
    now = (await store.head(name)).modified
    if not deviation:
        deviation = "gives no e-tags" if etag is None else await _deviation(store, name, etag)
    return WriteConditions(deviation, now)


async def _create(store: Operations, name: str) -> str | None:
    try:
        return await store.put_new(name, b"1")
    except ObjectExistsError:  # the same owner was killed here before
        await store.delete(name)
    return await store.put_new(name, b"1")


async def _deviation(store: Operations, name: str, etag: str) -> str:
    ignored = "ignores the conditions of writes"
    try:
        await store.put_new(name, b"2")
    except ObjectExistsError:
        pass
    else:
        return ignored
    try:
        await store.replace(name, b"3", etag)
        await store.replace(name, b"4", etag)
    except ObjectChangedError:
        return ""
    except ConditionUnsupportedError:
        return "refuses conditional writes"
    return ignored
