"""The same pages at once, from a server on this machine that no one else can ask.

Who may ask: a request of GET or HEAD, whose path begins with the random token, to this very address (a page
of another origin knows no token, and a name that was made to lead here is another `Host`). Everything else is
refused before anything is read. A connection that sends no request, or half of one, is closed.
"""

import asyncio
import logging
import mimetypes
import re
import secrets
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self, final

from aiohttp import web
from multidict import MultiMapping

from ..database.load import OnCount
from ..export import attachment_files
from .contents import KIND_OF
from .index import Choice, ConversationEntry
from .pages import STATIC, Pages, SearchWords, check_installed, parts_of, static
from .view_index import ViewIndex, search
from .zone import Zone

HOST: Final = "127.0.0.1"
_SILENCE: Final = 30.0
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
_FILE: Final = re.compile(r"files/[0-9a-f]{2}/([0-9a-f]{64})\.([a-z0-9]{1,10})", re.ASCII)
_PAGE: Final = re.compile(
    r"(?P<list>index|people)(?:-(?P<part>[0-9]{1,6}))?\.html|u/(?P<person>[a-z0-9]{1,40})\.html"
    r"|c/(?P<conversation>[a-z0-9]{1,40})/(?:(?P<page>[0-9]{1,9})(?P<source>-source)?|(?P<days>days)"
    r"|(?P<last>last)|threads-(?P<threads>[0-9]{1,9})|m(?P<whole>[0-9]{1,19}))\.html"
)
"""The addresses of pages, which are those of a static site."""
_DAYS: Final = re.compile("c/([a-z0-9]{1,40})/days[.]js")


@final
class Viewer:
    """Serves the export in `out`; used with `async with`, which gives its address in `url`.

    Costs reading the export where it has changed since the last time. Raises `RequestInvalidError` for a
    folder that is not an export, where another viewer shows it, and without the extra `html`; OSError where
    the port is taken.
    """

    def __init__(
        self,
        out: str | PathLike[str],
        *,
        port: int = 0,
        title: str = "Messages",
        timezone: str = "UTC",
        progress: OnCount = lambda _: None,
    ) -> None:
        self._out, self._port, self._title, self._progress = out, port, title, progress
        self._choice = Choice(timezone=Zone(timezone).name)
        self._token = secrets.token_urlsafe(24)
        # SQLite is asked by one thread, so that the loop stays free.
        self._thread = ThreadPoolExecutor(1)
        self._open = ExitStack()
        self._paths: dict[str, Path] = {}
        self._conversations = b""
        """The script of the column, once it was asked for."""
        self._heard: set[Any] = set()
        """The connections that have sent a request."""
        self.url = ""

    async def __aenter__(self) -> Self:
        try:
            await self._run(self._prepare)
            app = web.Application(middlewares=[self._guard])
            app.router.add_get("/{token}/{path:.*}", self._answer)
            self._runner = web.AppRunner(app, access_log=None, logger=_LOGGER, shutdown_timeout=1)
            await self._runner.setup()
            site = web.TCPSite(self._runner, HOST, self._port)
            await site.start()
            self._sweeper = asyncio.create_task(self._close_silent())
        except BaseException:
            await self._close()
            raise
        self._port = self._runner.addresses[0][1]
        self.url = f"http://{HOST}:{self._port}/{self._token}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._sweeper.cancel()
        await self._runner.cleanup()
        await self._close()

    async def _close_silent(self) -> None:
        """Close the connections that have sent no complete request within two sweeps, and none before."""
        silent: set[Any] = set()
        while True:
            await asyncio.sleep(_SILENCE)
            connections: set[Any] = (
                set() if self._runner.server is None else {*self._runner.server.connections}
            )
            self._heard &= connections
            for each in (silent & connections) - self._heard:
                each.force_close()
            silent = connections - self._heard - silent

    async def _close(self) -> None:
        await self._run(self._open.close)
        self._thread.shutdown()

    async def _run(self, work: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    def _prepare(self) -> None:
        check_installed()
        self._index = self._open.enter_context(ViewIndex(self._out, self._choice))
        self._index.update(self._progress)
        self._files = self._open.enter_context(attachment_files(self._out))
        self._pages = Pages(self._index, self._title, self._files, is_served=True)

    # ── who may ask ──

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self._heard.add(request.protocol)
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

    # ── what is answered ──

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        if path in STATIC:
            content_type = mimetypes.guess_type(path)[0] or "text/plain"
            return web.Response(body=static(path), content_type=content_type, charset="utf-8")
        if match := _FILE.fullmatch(path):
            return await self._file(request, match[1], match[2])
        if path.endswith(".js"):
            content, kind = await self._run(self._script, path), "text/javascript"
        else:
            content, kind = await self._run(self._page, path, request.query), "text/html"
        if content is None:
            raise web.HTTPNotFound(text="There is no such page.")
        body = content.encode("utf-8", "replace") if isinstance(content, str) else content
        return web.Response(body=body, content_type=kind, charset="utf-8")

    async def _file(self, request: web.Request, digest: str, extension: str) -> web.StreamResponse:
        stored = await self._run(self._index.stored_file, digest)
        if stored is None:
            raise web.HTTPNotFound
        if stored not in self._paths:  # one of an object store stays on the disk until the end
            self._paths[stored] = await self._run(self._open.enter_context, self._files(stored))
        if not self._paths[stored].is_file():
            raise web.HTTPNotFound
        kind = mimetypes.guess_type(f"x.{extension}")[0] if extension in KIND_OF else None
        headers = {"Content-Type": kind or "application/octet-stream"}
        return web.FileResponse(self._paths[stored], headers=headers)

    def _script(self, path: str) -> bytes | None:
        """Return the data at an address; None if there are none."""
        if path == "conversations.js":
            if not self._conversations:
                self._conversations = self._pages.conversations_script()
            return self._conversations
        match = _DAYS.fullmatch(path)
        conversation = self._index.conversation_named(match[1]) if match else None
        if conversation is None:
            return None
        return self._pages.days_script(conversation, self._index.page_count(conversation.number))

    def _page(self, path: str, query: MultiMapping[str]) -> str | bytes | None:
        """Return the page at an address; None if there is none."""
        if path == "search":
            words = SearchWords.of(query)
            return self._pages.search_page(words, search(self._index, words, _number(query.get("skip"))))
        match = _PAGE.fullmatch(path or "index.html")
        if match is None:
            return None
        if match["list"]:
            return self._list(match["list"], _number(match["part"]) or 1)
        if match["person"]:
            person = self._index.person_filed(match["person"])
            return None if person is None else self._pages.person(person)
        conversation = self._index.conversation_named(match["conversation"])
        return None if conversation is None else self._of_conversation(conversation, match)

    def _list(self, name: str, part: int) -> str | None:
        is_index = name == "index"
        parts = parts_of(self._index.count("conversations") if is_index else self._index.writers())
        if not 1 <= part <= parts:
            return None
        if is_index:
            return self._pages.index_page(self._pages.rows(part), part, parts)
        return self._pages.people_page(part, parts)

    def _of_conversation(self, conversation: ConversationEntry, match: re.Match[str]) -> str | bytes | None:
        pages = self._pages
        cuts = self._index.pages(conversation.number)
        if match["days"]:
            return pages.days(conversation, len(cuts))
        if match["last"]:
            return pages.last(conversation, len(cuts))
        if match["threads"]:
            return pages.threads_page(conversation, int(match["threads"]))
        if match["whole"]:
            place = self._index.place(conversation.app, int(match["whole"]))
            if place is None or place.name != conversation.name:
                return None
            items = pages.items(conversation, cuts[place.page - 1])
            [item] = [each for each in items if each.rank == place.rank]
            return pages.whole(conversation, place.page, item)
        if not 1 <= (page := int(match["page"])) <= len(cuts):
            return None
        cut, items = cuts[page - 1], pages.items(conversation, cuts[page - 1])
        if match["source"]:
            return pages.source(conversation, cut, items)
        return pages.page(conversation, cut, items, len(cuts))


def _number(text: str | None) -> int:
    """Return the number that a text is; 0 for any other text."""
    return int(text) if text is not None and re.fullmatch("[0-9]{1,9}", text) else 0
