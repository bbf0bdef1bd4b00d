"""Uploads over a real socket: what arrives, what is sent again, and what is not sent at all."""

import asyncio
import io
import os
import threading
from collections.abc import AsyncIterator, Iterator
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from msgspec import UNSET, UnsetType

from chatrest import File, OutcomeUnknownError, RequestInvalidError, RetryPolicy, ServerError
from chatrest._core.replies.decode import JSON
from chatrest._core.requests.endpoint import Endpoint, Replay
from chatrest._network.upload import CHUNK
from chatrest._parameters.checked import Body, Text
from chatrest._parameters.files import Upload
from chatrest._resources.collection import Collection
from tests.scripted_server import Faulty, ReceivedRequest, cut, reply

pytestmark = pytest.mark.usefixtures("tidy")

OK = reply(b'{"data":{"success":true}}')
FAILED = reply(b"{}", 503)
DATA = bytes(range(256)) * (CHUNK // 64)


class Terms(Body, frozen=True, kw_only=True, rename="camel"):
    """A body with a file."""

    category: Text
    file: Upload | UnsetType = UNSET


def upload(replay: Replay) -> Endpoint[Any]:
    return Endpoint("terms.put", "PUT", "/terms", JSON, replay, body=Terms, media="multipart")


class TermLists(Collection):
    """Operations with a file."""

    async def put(self, file: Any, replay: Replay = "idempotent") -> Any:
        return await self._call(upload(replay), Terms(category="wörd", file=file))


def parts_of(request: ReceivedRequest) -> list[EmailMessage]:
    """The parts of a form as a parser that is not ours reads them."""
    head = f"Content-Type: {request.header('Content-Type')}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + request.body)
    assert isinstance(message, EmailMessage)
    return list(message.iter_parts())  # type: ignore[arg-type]


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A file of several chunks."""
    path = tmp_path / "big.bin"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def opened(big: Path) -> Iterator[BinaryIO]:
    """The same file, open."""
    with big.open("rb") as file:
        yield file


@pytest.fixture
async def lists(request: pytest.FixtureRequest) -> AsyncIterator[tuple[TermLists, Faulty]]:
    """A collection, and the server that gives it the replies of the test."""
    policy = RetryPolicy(attempts=3)
    async with Faulty(*request.param) as server, server.session(retry=policy) as session:
        yield TermLists(session.sender), server


def with_replies(*replies: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("lists", [replies], indirect=True)


@with_replies(OK)
async def test_texts_and_files_arrive_with_their_names_and_types(lists: Any, big: Path) -> None:
    terms, server = lists
    await terms.put(File(big, name="größe.bin", content_type="image/png"))
    [request] = server.requests
    category, file = parts_of(request)
    assert category.get_payload(decode=True) == "wörd".encode()
    assert file.get_content_type() == "image/png"
    assert b'name="file"; filename="gr\xc3\xb6\xc3\x9fe.bin"' in request.body
    assert file.get_payload(decode=True) == DATA
    assert int(request.header("Content-Length")) == len(request.body)


@with_replies(OK)
async def test_a_form_without_a_file_is_a_form_too(lists: Any) -> None:
    terms, server = lists
    await terms.put(UNSET)
    [request] = server.requests
    assert [part.get_payload(decode=True) for part in parts_of(request)] == ["wörd".encode()]


@with_replies(OK)
@pytest.mark.parametrize("kind", ["bytes", "open file", "path object"])
async def test_every_source_arrives_whole(lists: Any, big: Path, opened: BinaryIO, kind: str) -> None:
    terms, server = lists
    opened.seek(10)
    sources = {"bytes": File(DATA[10:]), "open file": File(opened), "path object": big}
    await terms.put(sources[kind])
    assert not opened.closed
    [request] = server.requests
    expected = DATA if kind == "path object" else DATA[10:]
    assert parts_of(request)[1].get_payload(decode=True) == expected


@with_replies(FAILED, cut(b""), OK)
@pytest.mark.parametrize("kind", ["bytes", "open file", "path"])
async def test_what_can_be_rewound_is_sent_again_from_its_beginning(
    lists: Any, big: Path, opened: BinaryIO, kind: str
) -> None:
    terms, server = lists
    sources = {"bytes": File(DATA), "open file": File(opened), "path": File(str(big))}
    await terms.put(sources[kind])
    assert len(server.requests) == 3
    for request in server.requests:
        assert parts_of(request)[1].get_payload(decode=True) == DATA


class Tape(io.RawIOBase):
    """A file that can be read once; `threads` are those that have read it."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)
        self.threads: set[int] = set()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size:
            self.threads.add(threading.get_ident())
        return self._data.read(size)


@with_replies(FAILED, OK)
async def test_what_cannot_be_rewound_is_not_sent_again(lists: Any) -> None:
    terms, server = lists
    with Tape(b"a,b") as tape:
        file = File(tape)
        with pytest.raises(ServerError, match="503"):
            await terms.put(file)
        assert len(server.requests) == 1
        with pytest.raises(RequestInvalidError, match="cannot be rewound to be sent again"):
            await terms.put(file)
    assert len(server.requests) == 1


@with_replies(cut(b""), OK)
async def test_an_operation_that_is_never_repeated_has_an_unknown_outcome(lists: Any, big: Path) -> None:
    terms, server = lists
    with pytest.raises(OutcomeUnknownError, match=r"^terms\.put is not repeated"):
        await terms.put(big, "never")
    assert len(server.requests) == 1


@with_replies(OK)
async def test_files_are_not_read_in_the_event_loop(lists: Any) -> None:
    terms, _ = lists
    with Tape(b"a,b") as tape:
        await terms.put(File(tape))
        assert tape.threads
        assert threading.get_ident() not in tape.threads


@with_replies(OK)
@pytest.mark.parametrize(
    ("name", "reason"),
    [("gone.csv", "cannot be read: No such file or directory"), (".", "is not a regular file"),
     ("pipe", "is not a regular file")],
)  # fmt: skip
async def test_a_file_that_cannot_be_read_is_an_error_before_anything_is_sent(
    lists: Any, tmp_path: Path, name: str, reason: str
) -> None:
    terms, server = lists
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RequestInvalidError, match=rf"^file: <File .*> {reason}$"):
        await terms.put(tmp_path / name)
    assert server.requests == []


@with_replies(OK)
async def test_a_file_that_was_closed_meanwhile_is_an_error(lists: Any) -> None:
    terms, server = lists
    opened = io.BytesIO(b"x")
    file = File(opened)
    opened.close()
    with pytest.raises(RequestInvalidError, match=r"^file: <File .*> cannot be read: it is closed$"):
        await terms.put(file)
    assert server.requests == []


class Shrinking(io.BytesIO):
    """A file that has less to read than its size says."""

    def read(self, size: int | None = -1, /) -> bytes:
        return b"" if size and self.tell() else super().read(min(size or 0, 10))


@with_replies(OK)
async def test_a_file_that_becomes_shorter_breaks_the_attempt_off(lists: Any) -> None:
    terms, server = lists
    with pytest.raises(OutcomeUnknownError, match=r"file: <File 'file', .*> has changed while it was sent"):
        await terms.put(File(Shrinking(b"x" * 100)), "never")
    assert server.requests == []  # none that came to its end


@with_replies(OK)
async def test_a_file_that_is_written_to_is_not_taken_for_whole(
    lists: Any, big: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms, server = lists
    to_thread, calls = asyncio.to_thread, []

    async def write_after_the_first_chunk(function: Any, *args: Any) -> Any:
        calls.append(args)
        if len(calls) == 3:
            await to_thread(big.write_bytes, DATA + b"more")
        return await to_thread(function, *args)

    monkeypatch.setattr(asyncio, "to_thread", write_after_the_first_chunk)
    with pytest.raises(OutcomeUnknownError, match="has changed while it was sent"):
        await terms.put(big, "never")
    assert server.requests == []
