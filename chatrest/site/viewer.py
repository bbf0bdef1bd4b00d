"""The same pages from a server on this machine that no one else can ask.

They are a site in `OUT.view`, beside the export, which the start of each viewer brings up to date. If that
place cannot be written to, they are in a temporary folder, and each start makes them again.

Who may ask: a request of GET or HEAD, whose path begins with the random token, to this very address (a page
of another origin knows no token, and a name that was made to lead here is another `Host`). Everything else is
refused before anything is read. A connection that sends no request, or half of one, is closed.
"""

import asyncio
import logging
import mimetypes
import os
import re
import secrets
import shutil
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self, final

from aiohttp import web

from .._cloud.address import is_address
from .choice import SiteOptions
from .contents import KIND_OF
from .facts import export_name
from .site_files import VIEW, OtherExportError, names_of, state_folder
from .writer import OnProgress, update_site

HOST: Final = "127.0.0.1"
_SWEEP_SECONDS: Final = 30.0
"""Seconds between two looks at the connections; what has sent no request in both is closed."""
_LOGGER: Final = logging.getLogger("chatrest.viewer")
"""Of requests that are no HTTP; the terminal of `chatrest view` is not theirs to write to."""
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_NAME: Final = re.compile(r"(?:[a-z0-9]+/){0,3}[a-z0-9-]+\.([a-z0-9]{1,10})", re.ASCII)
"""The names of a site's files."""
_TYPES: Final = {name: f"text/{kind}; charset=utf-8" for name, kind in
                 (("html", "html"), ("css", "css"), ("js", "javascript"))}  # fmt: skip


def view_folder(out: str | PathLike[str]) -> Path:
    """Return the folder of the viewer's site: beside the export; of an object store in the current folder.

    That of `app=shop` is `shop.view`: `app=…` would be one more app of the folder.
    """
    if isinstance(out, str) and is_address(out):
        return Path(f"{export_name(out)}{VIEW}", "site")
    return Path(out).resolve().with_name(f"{export_name(out)}{VIEW}") / "site"


def _is_writable(folder: Path) -> bool:
    """Return True for a folder that can be written to, or be made."""
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    return os.access(existing, os.W_OK)


@final
class Viewer:
    """Serves the export in `out`; used with `async with`, which gives its address in `url`.

    It begins by writing the pages that have changed since the last time, as `write_site` into `OUT.view`. If
    that is cancelled, the next start continues. Raises as `write_site`; OSError if the port is taken.
    """

    def __init__(
        self,
        out: str | PathLike[str],
        *,
        port: int = 0,
        title: str | None = None,
        timezone: str = "UTC",
        progress: OnProgress = lambda *_: None,
    ) -> None:
        self._out, self._port, self._progress = out, port, progress
        self._options: SiteOptions = {"title": title, "timezone": timezone}
        self._folder = view_folder(out)
        self._cleanup = ExitStack()
        self._is_stopped = False
        self._token = secrets.token_urlsafe(24)
        self._active_connections: set[Any] = set()
        """The connections that have sent a request."""
        self.url = ""

    async def __aenter__(self) -> Self:
        writing = asyncio.create_task(asyncio.to_thread(self._write_site))
        try:
            await asyncio.shield(writing)
            await self._serve()
        except BaseException:
            self._is_stopped = True
            await asyncio.gather(writing, return_exceptions=True)
            self._cleanup.close()
            raise
        return self

    def _show_progress(self, phase: str, done: int, total: int | None) -> None:
        if self._is_stopped:  # a thread cannot be cancelled from outside
            raise asyncio.CancelledError
        self._progress(phase, done, total)

    def _write_site(self) -> None:
        if not _is_writable(self._folder):
            scratch = self._cleanup.enter_context(TemporaryDirectory(prefix="chatrest-view-"))
            self._folder = Path(scratch, self._folder.parent.name, self._folder.name)
        try:
            self._update_site()
        except OtherExportError:  # of the same name, or made again: all that is in it is rebuilt
            self._remove_site()
            self._update_site()

    def _update_site(self) -> None:
        update_site(
            self._out, self._folder, self._show_progress, self._options, datetime.now(UTC), links=True
        )

    def _remove_site(self) -> None:
        for name in names_of(self._folder):
            (self._folder / name).unlink(missing_ok=True)
        for folder in sorted((each for each in self._folder.rglob("*") if each.is_dir()), reverse=True):
            with suppress(OSError):  # somebody else's file is in it, and `update_site` says so
                folder.rmdir()
        shutil.rmtree(state_folder(self._folder))

    async def _serve(self) -> None:
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/{token}/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, logger=_LOGGER, shutdown_timeout=1)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, HOST, self._port).start()
        except BaseException:
            await self._runner.cleanup()
            raise
        self._sweeper = asyncio.create_task(self._close_silent())
        self._port = self._runner.addresses[0][1]
        self.url = f"http://{HOST}:{self._port}/{self._token}/"

    async def __aexit__(self, *_: object) -> None:
        with self._cleanup:
            self._sweeper.cancel()
            await self._runner.cleanup()

    async def _close_silent(self) -> None:
        """Close the connections that have sent no complete request within two sweeps, and none before."""
        silent: set[Any] = set()
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            connections: set[Any] = (
                set() if self._runner.server is None else {*self._runner.server.connections}
            )
            self._active_connections &= connections
            for each in (silent & connections) - self._active_connections:
                each.force_close()
            silent = connections - self._active_connections - silent

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self._active_connections.add(request.protocol)
        try:
            self._check(request)
            response = await handler(request)
        except web.HTTPException as refused:
            response = web.Response(status=refused.status, text=refused.text)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    def _check(self, request: web.Request) -> None:
        if request.method not in ("GET", "HEAD"):
            raise web.HTTPMethodNotAllowed(request.method, ["GET", "HEAD"])
        if not request.raw_path.startswith("/"):
            raise web.HTTPForbidden(text="This server is no proxy.")
        if request.headers.getall("Host", []) not in ([f"{HOST}:{self._port}"], [f"localhost:{self._port}"]):
            raise web.HTTPForbidden(text="This address is not the viewer's.")
        if request.path == "/favicon.ico":  # which browsers ask for by themselves
            raise web.HTTPNoContent
        token = request.path.split("/")[1]
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            raise web.HTTPNotFound(text="There is nothing here. The viewer has printed its address.")

    async def _answer(self, request: web.Request) -> web.FileResponse:
        path = request.match_info["path"] or "index.html"
        name, file = _NAME.fullmatch(path), self._folder / path
        if name is None or not file.is_file():
            raise web.HTTPNotFound(text="There is no such page.")
        stored = mimetypes.guess_type(f"x.{name[1]}")[0] if name[1] in KIND_OF else None
        kind = _TYPES.get(name[1]) or stored or "application/octet-stream"
        return web.FileResponse(file, headers={"Content-Type": kind})
