"""A store in memory at every address."""

from collections.abc import Callable

import pytest

from chatrest._cloud.store import ObjectStore
from tests.cloud.store_double import StoreDouble


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[StoreDouble], StoreDouble]:
    """A function that makes a store the one at all addresses."""

    def set_store(store: StoreDouble) -> StoreDouble:
        monkeypatch.setattr(ObjectStore, "open", lambda *_: store)
        return store

    return set_store
