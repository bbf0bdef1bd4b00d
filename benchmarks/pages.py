"""The data that is measured with: made by the emulator, and so like the service's own."""

from typing import Final

from msgspec.json import decode, encode

from chatrest.emulator.service.envelopes import list_reply, pagination
from chatrest.emulator.store import Store
from chatrest.emulator.store.data import fill

UID: Final = "user-01"
_CALLS_IN_A_HUNDRED: Final = 5  # there are more, but how many is the dice's to say


def talk(messages: int, users: int = 2) -> Store:
    """A store with the ids 1 to `messages`; where there are two users, `UID` takes part in every message."""
    store = Store()
    fill(store, users=users, messages=messages, groups=0, seed=7)
    return store


def mixed(messages: int) -> bytes:
    """A page of all kinds of messages, 7 of 10 of them texts."""
    with Store() as store:
        fill(store, users=50, messages=messages, groups=5, seed=7)
        return _page(store.records(store.ids()))


def calls(messages: int) -> bytes:
    """A page of call messages, each with entities within entities."""
    with talk(100 + messages * 100 // _CALLS_IN_A_HUNDRED) as store:
        records = store.records(store.ids())
    return _page([record for record in records if b'"category":"call"' in record][:messages])


def with_number_ids(page: bytes) -> bytes:
    """The same page with numbers for ids, which chatrest's fast way refuses."""
    whole = decode(page)
    for record in whole["data"]:
        record["id"] = int(record["id"])
    return encode(whole)


def _page(records: list[bytes]) -> bytes:
    size = len(records)
    place = {"id": decode(records[-1])["id"], "affix": "append"}
    return list_reply(records, {"meta": {"pagination": pagination(size, size, size), "cursor": place}})
