"""A network that treats deliveries badly: between the emulator and a receiver, in virtual time."""

import asyncio
from random import Random
from typing import Self

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer


class Relay:
    """Passes deliveries on late, twice and out of order; some answers are lost, so they are repeated."""

    def __init__(self, url: str, seed: int = 0, lost: float = 0.2, slowest: float = 0.3) -> None:
        self.url, self.lost, self.slowest = url, lost, slowest
        self.dice = Random(seed)
        self.arrived: list[bytes] = []
        """The bodies in the order in which the emulator sent them, repetitions included."""
        self.statuses: list[int] = []
        """The answers of the receiver."""
        app = web.Application()
        app.router.add_post("/", self._pass_on)
        self.server = TestServer(app)

    async def __aenter__(self) -> Self:
        self.client = aiohttp.ClientSession()
        await self.server.start_server()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.server.close()
        await self.client.close()

    @property
    def address(self) -> str:
        """The address for a webhook."""
        return str(self.server.make_url("/"))

    async def _pass_on(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.arrived.append(body)
        authorization = request.headers.get("Authorization", "")
        is_lost = self.dice.random() < self.lost
        statuses = await asyncio.gather(*(self._post(body, authorization) for _ in range(2)))
        return web.Response(status=502 if is_lost else max(statuses))

    async def _post(self, body: bytes, authorization: str) -> int:
        await asyncio.sleep(self.dice.random() * self.slowest)
        headers = {"Authorization": authorization, "Content-Type": "application/json"}
        async with self.client.post(self.url, data=body, headers=headers) as response:
            self.statuses.append(response.status)
            return response.status
