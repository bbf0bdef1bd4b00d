"""Shared parts of the tests of export runs: a plan of many sources, plain messages, and a hook."""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from chatrest.emulator import Fault, OutgoingReply
from chatrest.emulator.service.context import ServiceRequest as Request
from chatrest.emulator.store import Store
from tests.exporting import GROUPS, START

MIXED: dict[str, Any] = {"all_users": True, "groups": GROUPS, "pairs": (("ann", "bob"), ("cat", "dan"))}


def to_user(sender: str, receiver: str, number: int, **more: Any) -> bytes:
    made = {"id": str(number), "sender": sender, "receiver": receiver, "receiverType": "user"}
    made["conversationId"] = "_user_".join(sorted((sender, receiver)))
    return json.dumps(made | {"sentAt": START + number} | more).encode()


def fill_plain(store: Store, count: int) -> None:
    for uid in ("ann", "bob"):
        store.add_user(uid)
    store.add_records(to_user("ann", "bob", number) for number in range(1, count + 1))


class Meanwhile(Fault, frozen=True):
    """An unchanged reply; `act` is called while it is created."""

    act: Callable[[], object]

    def changed(self, reply: OutgoingReply, request: Request, number: int) -> OutgoingReply:
        self.act()
        return reply


@contextmanager
def one_thread() -> Iterator[Callable[[], object]]:
    """Give the event loop a single thread, and return a function that waits until it has nothing to do.

    From then on a run stands still until the loop goes on: its folder can be copied as a kill would leave it.
    """
    with ThreadPoolExecutor(1) as thread:
        asyncio.get_running_loop().set_default_executor(thread)
        yield lambda: thread.submit(int).result()
