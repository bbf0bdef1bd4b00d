"""The service for walks and exports, in a process of its own: the emulator's rules behind the lightest HTTP.

`python -m benchmarks.server --messages N` writes its port on a line, serves on 127.0.0.1, and ends when
its standard input does: with the one who started it, however that one ends. A page is made once and then
served from memory, so that the server keeps no client waiting.

Below `/packed` is the same service once more, which sends gzip to whoever accepts it, as services of this
kind do; a page is compressed once. `--users` spreads the messages over many users. `--endless` is for
messages by the million: one user's list that is spliced of few records, and kept nowhere.
"""

import asyncio
import gzip
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TypeAlias
from urllib.parse import parse_qsl

from chatrest.core.hosts import App
from chatrest.emulator.service.context import Context
from chatrest.emulator.service.page_format import PageFormat
from chatrest.emulator.service.request import Reply, Request
from chatrest.emulator.service.service import Keys, Service

from . import pages

KEY: Final = "benchmark-key"
_PACKED: Final = "/packed"
_LEVEL: Final = 6  # what servers compress with by default
_END: Final = b"\r\n\r\n"

Answer: TypeAlias = Callable[[Request], Reply]


class Serving:
    """The server as a child process, for as long as the `with` lasts; `app` is what clients need.

    `packed` is the same app where replies come as gzip.
    """

    def __init__(self, messages: int, *, users: int = 2, endless: bool = False) -> None:
        sizes = ("--messages", str(messages), "--users", str(users), *(["--endless"] if endless else []))
        command = (sys.executable, "-m", "benchmarks.server", *sizes)
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._child.stdout is not None
        port = self._child.stdout.readline()
        if not port:
            raise RuntimeError(f"the server ended with status {self._child.wait()}")
        at = f"http://127.0.0.1:{int(port)}"
        self.app = App("benchmark", KEY, base_url=f"{at}/v3")
        self.packed = App("benchmark", KEY, base_url=f"{at}{_PACKED}/v3")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._child.communicate(timeout=10)  # closes its standard input, and so ends it
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.communicate()


class _Pages:
    """The replies by what they were asked with."""

    def __init__(self, answer: Answer, *, kept: bool) -> None:
        self._answer = answer
        self._kept = kept
        self._made: dict[tuple[bool, str, str], bytes] = {}

    def reply(self, head: bytes) -> bytes:
        """The reply to a GET's head, as it goes over the wire."""
        first, _, rest = head.decode("latin-1").partition("\r\n")
        path, _, query = first.split(" ")[1].partition("?")
        packed = path.startswith(_PACKED) and _accepts_gzip(rest)
        place = (packed, path, "&".join(sorted(query.split("&"))))
        found = self._made.get(place)
        if found is None:
            request = Request("GET", path.removeprefix(_PACKED), query, _headers(rest))
            found = _written(self._answer(request), packed=packed)
            if self._kept:
                self._made[place] = found
        return found


class Endless:
    """One user's list of `last` messages, ids from 1 on, spliced of few records: made anew for every page."""

    def __init__(self, last: int) -> None:
        with pages.talk(100) as store:
            records = store.records(store.ids())
        self._tails = [record.partition(b'"id":"')[2].partition(b'"')[2] for record in records]
        self._last = last

    def answer(self, request: Request) -> Reply:
        """A page; whatever the list, it is the one."""
        asked = dict(parse_qsl(request.query))
        size = int(asked.get("perPage") or asked.get("limit") or 100)
        after = int(asked.get("id", "0")) if asked.get("affix") == "append" else max(0, self._last - size)
        until = min(after + size, self._last)
        place = b'{"id":%d,"affix":"append"}' % until
        numbers = b'{"total":%d,"count":%d,"per_page":%d,"current_page":1,"total_pages":%d}'
        left = self._last - after
        told = numbers % (left, until - after, size, max(1, -(-left // size)))
        data = b",".join(self._records(after, until))
        return Reply(200, b'{"data":[%b],"meta":{"pagination":%b,"cursor":%b}}' % (data, told, place))

    def _records(self, after: int, until: int) -> list[bytes]:
        tails, count = self._tails, len(self._tails)
        return [b'{"id":"%d"%b' % (number, tails[number % count]) for number in range(after + 1, until + 1)]


class _Connection(asyncio.Protocol):
    """GETs, one after another."""

    def __init__(self, made: _Pages) -> None:
        self._pages = made
        self._come = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._come = (self._come + data).split(_END)
        for head in heads:
            self._transport.write(self._pages.reply(head))


def _accepts_gzip(lines: str) -> bool:
    return "gzip" in lines.lower().partition("accept-encoding:")[2].partition("\r\n")[0]


def _headers(lines: str) -> dict[str, str]:
    parted = (line.partition(":") for line in lines.split("\r\n"))
    return {name.lower(): value.strip() for name, _, value in parted}


def _written(reply: Reply, *, packed: bool) -> bytes:
    body = gzip.compress(reply.body, _LEVEL, mtime=0) if packed else reply.body
    coding = "Content-Encoding: gzip\r\n" if packed else ""
    head = (
        f"HTTP/1.1 {reply.status} -\r\nContent-Type: application/json; charset=utf-8\r\n{coding}"
        f"Content-Length: {len(body)}\r\nServer: benchmark\r\n\r\n"
    )
    return head.encode() + body


async def _serve(asked: Namespace) -> None:
    if asked.endless:
        await _listen(_Pages(Endless(asked.messages).answer, kept=False))
        return
    page_format = PageFormat("cursor")
    with pages.talk(asked.messages, asked.users) as store:
        keys = Keys(KEY, "", "", "")
        service = Service(Context(store, {}, page_format, page_format, lambda: 0.0), keys)
        await _listen(_Pages(service.answer, kept=True))


async def _listen(made: _Pages) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(made), "127.0.0.1", 0)
    async with server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.buffer.read)


def main() -> None:
    """Serves until standard input ends."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--users", type=int, default=2)
    parser.add_argument("--endless", action="store_true")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
