"""A store on loopback whose conditions compare the number of an object's version instead of an e-tag."""

from typing import Self, final

from aiohttp import web


@final
class GenerationServer:
    """Objects with generations, as Google's stores have."""

    def __init__(self) -> None:
        self.url = ""
        self._objects: dict[str, tuple[int, bytes, str]] = {}
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_put("/{path:.*}", self._put)
        app.router.add_get("/{path:.*}", self._get)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _put(self, request: web.Request) -> web.Response:
        generation = self._objects.get(request.path, (0, b"", ""))[0]
        condition = request.headers.get("x-goog-if-generation-match", str(generation))
        if condition != str(generation):
            return web.Response(status=412)
        stored = generation + 1, await request.read(), request.headers.get("x-goog-meta-sha256", "")
        self._objects[request.path] = stored
        return web.Response(headers=self._headers(stored))

    async def _get(self, request: web.Request) -> web.Response:
        if request.path not in self._objects:
            return web.Response(status=404)
        stored = self._objects[request.path]
        if request.query.get("generation", str(stored[0])) != str(stored[0]):
            return web.Response(status=404)
        headers = self._headers(stored)
        span = request.http_range
        if "Range" not in request.headers:
            return web.Response(body=stored[1], headers=headers)
        part = stored[1][span]
        start = span.start or 0
        headers["Content-Range"] = f"bytes {start}-{start + len(part) - 1}/{len(stored[1])}"
        return web.Response(status=206, body=part, headers=headers)

    @staticmethod
    def _headers(stored: tuple[int, bytes, str]) -> dict[str, str]:
        headers = {
            "ETag": '"same"',
            "x-goog-generation": str(stored[0]),
            "Last-Modified": "Sun, 22 Nov 2026 03:00:00 GMT",
        }
        return headers | ({"x-goog-meta-sha256": stored[2]} if stored[2] else {})
