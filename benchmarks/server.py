"""The service for the walk, in a process of its own: the emulator's rules behind the lightest HTTP.

`python -m benchmarks.server --messages N` writes its port on a line, serves on 127.0.0.1, and ends when
its standard input does: with the one who started it, however that one ends. A page is made once and then
served from memory, so that the server keeps no client waiting.
"""

import asyncio
import subprocess
import sys
from argparse import ArgumentParser
from types import TracebackType
from typing import Final, Self

from chatrest.core.hosts import App
from chatrest.emulator.reading import Look
from chatrest.emulator.service import Keys, Reply, Request, Service

from . import pages

KEY: Final = "benchmark-key"
_END: Final = b"\r\n\r\n"


class Serving:
    """The server as a child process, for as long as the `with` lasts; `app` is what clients need."""

    def __init__(self, messages: int) -> None:
        command = (sys.executable, "-m", "benchmarks.server", "--messages", str(messages))
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._child.stdout is not None
        port = self._child.stdout.readline()
        if not port:
            raise RuntimeError(f"the server ended with status {self._child.wait()}")
        self.app = App("benchmark", KEY, base_url=f"http://127.0.0.1:{int(port)}/v3")

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
    """The pages by what they were asked with."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._made: dict[tuple[str, ...], bytes] = {}

    def reply(self, head: bytes) -> bytes:
        """The reply to a GET's head, as it goes over the wire."""
        first, *rest = head.decode("latin-1").split("\r\n")
        target = first.split(" ")[1]
        path, _, query = target.partition("?")
        place = (path, *sorted(query.split("&")))
        if place not in self._made:
            parted = (line.partition(":") for line in rest)
            headers = {name.lower(): value.strip() for name, _, value in parted}
            answer = self._service.answer(Request("GET", path, query, headers))
            self._made[place] = _written(answer)
        return self._made[place]


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


def _written(reply: Reply) -> bytes:
    head = (
        f"HTTP/1.1 {reply.status} -\r\nContent-Type: application/json; charset=utf-8\r\n"
        f"Content-Length: {len(reply.body)}\r\nServer: benchmark\r\n\r\n"
    )
    return head.encode() + reply.body


async def _serve(messages: int) -> None:
    look = Look("cursor")
    with pages.talk(messages) as store:
        keys = Keys(KEY, "", "", "")
        service = Service(store, keys, {}, user_lists=look, other_lists=look, clock=lambda: 0.0)
        made = _Pages(service)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(made), "127.0.0.1", 0)
        async with server:
            print(server.sockets[0].getsockname()[1], flush=True)
            await asyncio.to_thread(sys.stdin.buffer.read)


def main() -> None:
    """Serves until standard input ends."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, required=True)
    asyncio.run(_serve(parser.parse_args().messages))


if __name__ == "__main__":
    main()
