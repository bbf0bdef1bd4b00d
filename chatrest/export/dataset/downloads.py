"""Downloads from addresses that users wrote: without the app's key, bounded, and from public hosts alone.

A client session of its own: no default headers, no cookies, no proxy or credentials of the environment. Every
address is checked, that of each redirect as well, and so is what a host name resolves to at the moment of
the connection.
"""

import hashlib
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ...core.inflate import Inflate
from ...errors import ReplyUnreadableError
from ..disk import Disk
from ..in_thread import in_thread
from .attachment_links import address_fault, is_public

MOST_REDIRECTS: Final = 5
_CHUNK: Final = 1 << 18
_GONE: Final = frozenset({404, 410})
_TIMEOUT: Final = aiohttp.ClientTimeout(total=3600, connect=15, sock_read=60)
_FAILURES: Final = (aiohttp.ClientError, TimeoutError, ValueError, ConnectionError)


class Download(NamedTuple):
    """A file that was fetched."""

    bytes: int
    sha256: str


class DownloadError(Exception):
    """A file that could not be fetched; `may_pass` is True where another attempt may succeed."""

    def __init__(self, text: str, *, may_pass: bool = False) -> None:
        super().__init__(text)
        self.may_pass = may_pass


class GoneError(DownloadError):
    """The server does not have the file any more."""


class TooLargeError(DownloadError):
    """The file is larger than the limit."""


class AddressRefusedError(DownloadError):
    """The address, or one to which it leads, is not allowed."""


@final
class Downloader:
    """A client that fetches files; used with `async with`. `local` allows addresses that are not public."""

    def __init__(self, disk: Disk, *, max_bytes: int, local: bool) -> None:
        self._disk = disk
        self._max_bytes = max_bytes
        self._local = local
        self._client: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        resolver = aiohttp.ThreadedResolver() if self._local else PublicResolver()
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, resolver=resolver),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            timeout=_TIMEOUT,
            headers={"Accept-Encoding": "identity", "User-Agent": "chatrest"},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._client is not None
        await self._client.close()

    async def fetch(self, url: str, path: Path) -> Download:
        """Write the file at `url` to `path`; it survives a loss of power.

        Raises a `DownloadError`, and OSError where the disk fails. What is left at `path` then is no file.
        """
        for _ in range(MOST_REDIRECTS + 1):
            if fault := address_fault(url, local=self._local):
                raise AddressRefusedError(fault)
            try:
                result = await self._ask(url, path)
            except aiohttp.ClientConnectorDNSError as error:
                if isinstance(error.os_error, _NotPublicError):
                    raise AddressRefusedError("the address is not public") from None
                raise DownloadError("the host name has no address", may_pass=True) from None
            except aiohttp.InvalidURL:
                raise AddressRefusedError("the address is not a URL") from None
            except ReplyUnreadableError as error:
                raise DownloadError(str(error), may_pass=True) from None
            except _FAILURES as error:
                raise DownloadError(_words(error), may_pass=True) from None
            if isinstance(result, Download):
                return result
            url = result
        raise DownloadError(f"more than {MOST_REDIRECTS} redirects")

    async def _ask(self, url: str, path: Path) -> Download | str:
        """Fetch the file, or return the address of a redirect."""
        assert self._client is not None
        address = URL(url, encoded=url.isascii())  # a signature may be over the very letters
        if not self._local and not is_public(
            address.raw_host or ""
        ):  # as aiohttp takes it, not as it is written
            raise AddressRefusedError("the address is not public")
        async with self._client.get(address, allow_redirects=False) as response:
            status = response.status
            if status in _GONE:
                raise GoneError(f"the server answers {status}")
            if 300 <= status < 400 and (location := response.headers.get("Location")):
                return str(response.url.join(URL(location, encoded=location.isascii())))
            if status != 200:
                may_pass = status in (408, 425, 429) or status >= 500
                raise DownloadError(f"the server answers {status}", may_pass=may_pass)
            if (response.content_length or 0) > self._max_bytes:
                raise self._too_large()
            return await self._write(response, path)

    async def _write(self, response: aiohttp.ClientResponse, path: Path) -> Download:
        hasher, size = hashlib.sha256(), 0
        file = await in_thread(lambda: path.open("wb"), lambda file: file.close())
        with file:
            async for part in self._parts(response):
                size += len(part)
                if size > self._max_bytes:
                    raise self._too_large()
                hasher.update(part)
                await in_thread(partial(file.write, part))
            file.flush()
            await in_thread(lambda: self._disk.sync(file.fileno()))
        return Download(size, hasher.hexdigest())

    async def _parts(self, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        """Yield the content; some servers send it compressed although nobody asked for that."""
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        chunks = response.content.iter_chunked(_CHUNK)
        if encoding in ("", "identity"):
            async for chunk in chunks:
                yield chunk
            return
        inflate, size = Inflate(encoding), 0
        async for chunk in chunks:
            for part in inflate.feed(chunk, self._max_bytes - size):
                size += len(part)
                yield part
        inflate.finish()

    def _too_large(self) -> TooLargeError:
        return TooLargeError(f"the file is larger than max_bytes = {self._max_bytes}")


class _NotPublicError(OSError):
    """A host name that resolves to an address that is not public."""


@final
class PublicResolver(AbstractResolver):
    """A resolver of host names that gives public addresses alone."""

    def __init__(self, resolver: AbstractResolver | None = None) -> None:
        self._resolver = resolver or aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses; OSError where none of them is public."""
        results = await self._resolver.resolve(host, port, family)
        public = [result for result in results if is_public(result["host"])]
        if not public:
            raise _NotPublicError("the address is not public")
        return public

    async def close(self) -> None:
        """Close the resolver."""
        await self._resolver.close()


def _words(error: Any) -> str:
    """Return an error's reason, without text of the peer or the address."""
    if isinstance(error, TimeoutError):
        return "the server was silent for too long"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "no connection to the server"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the file was cut off"
    return f"the exchange failed ({type(error).__name__})"
