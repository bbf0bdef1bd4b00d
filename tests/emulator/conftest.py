"""Shared by the tests of the emulator: a service without a socket, and requests to it."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from chatrest.emulator.service.dispatch import Keys, Service
from chatrest.emulator.service.handler_input import Context, ServiceRequest
from chatrest.emulator.store import Store
from chatrest.emulator.store.generated_data import fill

COLLECTIONS = {
    "agents", "api_keys", "apps", "calls", "metrics", "moderation", "notifications", "rbac",
    "restricted_features", "roles", "triggers", "webhooks",
}  # fmt: skip
"""Those whose operations administer an app: no handler is written for most of them."""
NOW = 2_000_000_000
KEYS = Keys("full", "auth", "manage", "hush")


class Answer(NamedTuple):
    status: int
    json: Any
    body: bytes = b""

    @property
    def ids(self) -> list[int]:
        return [int(record["id"]) for record in self.json["data"]]

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class ServiceClient:
    """A client of a service without a socket: gives status and decoded JSON."""

    def __init__(self, service: Service, store: Store) -> None:
        self.service = service
        self.store = store

    def __call__(
        self,
        path: str,
        query: str = "",
        *,
        method: str = "GET",
        acting_user: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: Any = b"",
    ) -> Answer:
        sent = {"apikey": KEYS.full_access} if headers is None else dict(headers)
        if acting_user is not None:
            sent["onbehalfof"] = acting_user
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        reply = self.service.answer(ServiceRequest(method, path, query, sent, raw))
        return Answer(reply.status, json.loads(reply.body), reply.body)

    def post(self, path: str, body: Any, *, acting_user: str | None = None) -> Answer:
        return self(path, method="POST", body=body, acting_user=acting_user)


def client_of(store: Store) -> ServiceClient:
    app = {"id": "emulated", "name": "Emulated app"}
    return ServiceClient(Service(Context(store, app, lambda: NOW + 0.9), KEYS), store)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def ask(store: Store) -> ServiceClient:
    """A service over the empty store, with the users ann, bob and cat and the group den."""
    for uid in ("ann", "bob", "cat"):
        store.add_user(uid)
    store.add_group("den")
    return client_of(store)


@pytest.fixture(scope="session")
def generated() -> ServiceClient:
    """A service over generated data; nothing may be added to it."""
    store = Store()
    fill(store, users=12, messages=1500, groups=2, seed=7)
    return client_of(store)
