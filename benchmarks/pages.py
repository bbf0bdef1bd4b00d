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


def with_text_ids(page: bytes) -> bytes:
    """The same page, written as `with_number_ids` writes it: nothing but the ids differs."""
    return encode(decode(page))


def with_number_ids(page: bytes) -> bytes:
    """The same page with numbers for ids and parent ids, and texts for the sizes of files."""
    whole = decode(page)
    for record in whole["data"]:
        for name in ("id", "parentId"):
            if str(record.get(name, "")).isdecimal():
                record[name] = int(record[name])
        for file in record["data"].get("attachments", ()):
            file["size"] = str(file.get("size", 0))
    return encode(whole)


def with_a_stranger(page: bytes) -> bytes:
    """The same page with a last record that no decoder of messages takes: all are then read one by one."""
    whole = decode(page)
    whole["data"][-1] = {"id": "0", "category": "poll"}
    return encode(whole)


def _page(records: list[bytes]) -> bytes:
    size = len(records)
    place = {"id": decode(records[-1])["id"], "affix": "append"}
    return list_reply(records, {"meta": {"pagination": pagination(size, size, size), "cursor": place}})
