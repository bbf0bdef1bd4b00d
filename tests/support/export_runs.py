"""Shared parts of the tests of the export: a service with odd records, and functions that read an export.

An export is read back as its user would read it: every file of the folder that looks like a part counts,
whether the manifest names it or not. The manifest is checked against the files beside that.
"""

import asyncio
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import parse_qsl

import pytest
from backports import zstd

from chatrest import AsyncSession
from chatrest._resources import collection
from chatrest.emulator import Emulator, Fault, OutgoingReply
from chatrest.emulator.service.handler_input import ServiceRequest as Request
from chatrest.emulator.store import Store
from chatrest.export import Plan, Report, export, verify
from chatrest.export.folder.manifest import NAME as MANIFEST, Manifest, read
from tests.support.scripted_server import no_wait

USERS: Final = ("ann", "bob", "cat", "dan", "eve")
"""The users of `fill`; eve has no messages."""
GROUPS: Final = ("den", "oak")
START: Final = 1_600_000_000
MONTH: Final = 30 * 86_400


@dataclass
class Served:
    """A running emulator, and a session on it that never waits."""

    emulator: Emulator
    session: AsyncSession

    @property
    def store(self) -> Store:
        return self.emulator.store

    def expected(self, ids: Iterable[int] | None = None) -> list[bytes]:
        """Return the expected bytes of messages in an export, by default of all: as served, on one line."""
        return [
            on_one_line(raw) for raw in self.store.records(sorted(self.store.ids() if ids is None else ids))
        ]

    def users_ids(self, *uids: str) -> list[int]:
        return sorted({each for uid in uids for each in self.store.ids(participant=uid)})

    async def export_complete(self, out: Path, plan: Plan | None = None, **options: Any) -> Report:
        """Export, and assert that the export is complete and has each message of the service once."""
        report = await export(self.session, out, plan, **options)
        assert report.complete, report
        assert_complete(out, self.expected())
        return report


@asynccontextmanager
async def served(
    messages: int = 0, fill_in: Callable[[Store], None] | None = None, **options: Any
) -> AsyncIterator[Served]:
    """Run a service with `messages` messages of `fill`, or filled by `fill_in`."""
    session_options, loose = options.pop("session", {}), options.pop("loose", True)
    async with Emulator(users=0, messages=0, groups=0, **options) as emulator:
        if fill_in is None:
            fill(emulator.store, messages, loose=loose)
        else:
            fill_in(emulator.store)
        own = {"sleep": no_wait, "dice": lambda: 0.5} | session_options
        async with AsyncSession(emulator.app, **own) as session:
            yield Served(emulator, session)


def fill(store: Store, messages: int, *, loose: bool = True) -> None:
    """Users, groups and messages over three months; every seventh is odd in one way or another.

    `loose`: some have no number for an id.
    """
    for uid in USERS:
        store.add_user(uid)
    for guid in GROUPS:
        store.add_group(guid)
    store.add_records(records(messages, odd=True, loose=loose))
    for number in store.ids():
        if number % 7 == 3 and number // 7 % 8 == 7:  # what is not UTF-8 can only be put in afterwards
            [raw] = store.records([number])
            put_record(store, number, raw.replace("\u6771".encode(), b"\xff"))


def records(count: int, *, first: int = 1, odd: bool = False, loose: bool = True) -> Iterator[bytes]:
    """Records with ascending ids, in the spellings that JSON allows."""
    return iter(_records(count, first, odd, loose))


@cache
def _records(count: int, first: int, odd: bool, loose: bool) -> tuple[bytes, ...]:
    return tuple(_made(count, first, odd=odd, loose=loose))


def _made(count: int, first: int, *, odd: bool, loose: bool) -> Iterator[bytes]:
    dice = Random(first)
    step = 3 * MONTH // max(1, count)
    for number in range(first, first + count):
        sender, other = dice.sample(USERS[:4], 2)
        group = dice.random() < 0.2
        made = {
            "id": str(number),
            "conversationId": f"group_{GROUPS[number % 2]}"
            if group
            else "_user_".join(sorted((sender, other))),
            "sender": sender,
            "receiverType": "group" if group else "user",
            "receiver": GROUPS[number % 2] if group else other,
            "category": "message",
            "type": "text",
            "data": {"text": f'{number}: \u00e9 \u6771 / " {dice.random()}'},
            "sentAt": START + (number - first) * step,
        }
        is_loose = number // 7 % 8 in (1, 2)
        is_odd = odd and number % 7 == 3 and (loose or not is_loose)
        yield _odd(made, number) if is_odd else _spelled(made, number)


def _spelled(made: dict[str, Any], number: int) -> bytes:
    if number % 3 == 0:
        return json.dumps(made, ensure_ascii=True).encode()
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()


def _odd(made: dict[str, Any], number: int) -> bytes:
    match number // 7 % 8:
        case 0:
            made["id"] = number
        case 1:
            made["id"] = f"msg-{number}"
        case 2:
            del made["id"]
        case 3:
            made["category"] = "unheard-of"
        case 4:
            del made["sentAt"]
        case 5:
            return json.dumps(made, indent=1).replace("\n", "\r\n").encode()
        case 6:
            made["data"] = {"text": "\ud83d half"}
        case 7:
            return json.dumps(made, ensure_ascii=False).encode()
    return json.dumps(made).encode()


def on_one_line(raw: bytes) -> bytes:
    return raw.replace(b"\r", b" ").replace(b"\n", b" ")


def put_record(store: Store, number: int, raw: bytes) -> None:
    """Replace the served bytes of a message by any others, as an edit does."""
    store.messages[number].record = raw


def edit(store: Store, number: int, text: str) -> bytes:
    """Edit a message's text, and return the bytes that are served from now on."""
    [raw] = store.records([number])
    record = json.loads(raw)
    record["data"] = {"text": text}
    record["editedAt"] = record.get("sentAt", START) + 1
    new = json.dumps(record).encode()
    put_record(store, number, new)
    return new


def hide(store: Store, numbers: Iterable[int], *names: str) -> None:
    """Remove messages from the lists of these names (such as `u:ann`), from all lists without a name."""
    store.hide(numbers, *names)


def show(store: Store, number: int, *names: str) -> None:
    store.show([number], *names)


def forget_user(store: Store, uid: str) -> None:
    """Remove a user from the service: not listed, and 404 for its messages."""
    store.people.remove_user(uid)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let walks request 25 messages per page."""
    monkeypatch.setattr(collection, "MAX_PAGE_SIZE", 25)


def _lines(data: bytes) -> list[bytes]:
    assert not data or data.endswith(b"\n"), "the last line has no end"
    return data[:-1].split(b"\n") if data else []


def _parquet(path: Path) -> list[bytes]:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    rows = pq.read_table(path, columns=["raw", "raw_bytes"]).to_pylist()
    return [row["raw"].encode() if row["raw_bytes"] is None else row["raw_bytes"] for row in rows]


_READERS: Final[dict[str, Callable[[Path], list[bytes]]]] = {
    ".ndjson": lambda path: _lines(path.read_bytes()),
    ".ndjson.gz": lambda path: _lines(gzip.decompress(path.read_bytes())),
    ".ndjson.zst": lambda path: _lines(zstd.decompress(path.read_bytes())),
    ".jsonl": lambda path: _lines(path.read_bytes()),
    ".jsonl.gz": lambda path: _lines(gzip.decompress(path.read_bytes())),
    ".jsonl.zst": lambda path: _lines(zstd.decompress(path.read_bytes())),
    ".parquet": _parquet,
}


def files_of(out: Path) -> list[Path]:
    """Return the files with messages, spools included; not those that were damaged and moved aside."""
    paths = [*(out / "messages").rglob("*"), *(out / "spool").rglob("*")]
    return sorted(path for path in paths if path.is_file() and _kind(path).endswith(tuple(_READERS)))


def query_of(text: str) -> dict[str, str]:
    return dict(parse_qsl(text, keep_blank_values=True))


def raws_of(out: Path) -> list[bytes]:
    """Return the bytes of every record of the export, with duplicates, for any format."""
    return [raw for path in files_of(out) for raw in _read(path)]


def ids_of(out: Path) -> list[str]:
    return sorted((str(json.loads(raw)["id"]) for raw in raws_of(out)), key=lambda each: (len(each), each))


def history_of(out: Path) -> list[bytes]:
    """Return the older versions of changed messages, in the order of their replacement."""
    return [raw for path in sorted(out.glob("history*")) for raw in _read(path)]


def part_of(out: Path, name: str) -> Path:
    [path] = [path for path in files_of(out) if name in str(path.relative_to(out))]
    return path


def _kind(path: Path) -> str:
    """Return the name of a file that a reader is for: a segment has lines, in every format."""
    name = path.name.removesuffix(".segment")
    is_segment = name != path.name
    return f"{name}.ndjson" if is_segment and name.endswith(".parquet") else name


def _read(path: Path) -> list[bytes]:
    for suffix, reader in _READERS.items():
        if _kind(path).endswith(suffix):
            return reader(path)
    pytest.fail(f"{path} is not a file of an export")


def manifest_of(out: Path) -> Manifest:
    return read(out / MANIFEST)


def file_problems(out: Path) -> list[tuple[str, str]]:
    """Return the problems of files; unread messages are no such problem."""
    return [(each.kind, each.subject) for each in verify(out).problems if each.kind != "incomplete"]


def assert_complete(out: Path, expected: Iterable[bytes], *, dead: bool = False) -> None:
    """Assert that the export has exactly these records, each once and byte for byte, and is complete.

    After a crash, unfinished files with the suffix `.new` are allowed, and segments whose names a loss of
    power has brought back: no reader takes them for messages.
    """
    assert dead or not list(out.rglob("*.new"))
    files = [path for path in files_of(out) if not dead or path.parent.name != "spool"]
    assert_holds(out, expected, files)
    manifest = assert_proven(out, files)
    assert manifest.complete, manifest.reasons
    assert manifest.reasons == []


def assert_holds(out: Path, expected: Iterable[bytes], files: list[Path] | None = None) -> None:
    """Assert that the export, or these of its files, have exactly these records, each once and exact."""
    raws = raws_of(out) if files is None else [raw for path in files for raw in _read(path)]
    actual, wanted = Counter(raws), Counter(expected)
    assert not actual - wanted, f"unexpected: {_summary(actual - wanted)}"
    assert not wanted - actual, f"missing: {_summary(wanted - actual)}"


def _summary(records: Counter[bytes]) -> str:
    return f"{records.total()} records, such as {list(records)[:3]}"


def assert_proven(out: Path, files: list[Path] | None = None) -> Manifest:
    """Assert that the manifest names all files, or these, with their sizes and hashes; return it."""
    manifest, files = manifest_of(out), files_of(out) if files is None else files
    parts = {entry.name for entry in manifest.files if entry.role == "part"}
    there = {str(path.relative_to(out)) for path in files if path.stat().st_size}
    assert there == parts
    for entry in manifest.files:
        data = (out / entry.name).read_bytes()
        assert len(data) == entry.bytes, entry.name
        assert hashlib.sha256(data).hexdigest() == entry.sha256
        assert len(_read(out / entry.name)) == entry.messages
    assert manifest.messages == sum(entry.messages for entry in manifest.files if entry.role == "part")
    return manifest


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

    def rewrite_reply(self, reply: OutgoingReply, request: Request, number: int) -> OutgoingReply:
        self.act()
        return reply


@contextmanager
def one_thread() -> Iterator[Callable[[], object]]:
    """Give the event loop a single thread, and return a function that waits until it has nothing to do.

    From then on a run pauses until the loop continues: its folder can be copied as a kill would leave it.
    """
    with ThreadPoolExecutor(1) as thread:
        asyncio.get_running_loop().set_default_executor(thread)
        yield lambda: thread.submit(int).result()
