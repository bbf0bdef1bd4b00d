"""Downloads from addresses that users wrote: without the app's key, bounded, and from public hosts alone.

An address is `https`, without user and password; its host may not be, or resolve to, an address that is not
public. Users of the app write the addresses, so without this rule anybody could make the machine that exports
ask other machines of its network, or its own services. Where the app's own service is at loopback, as an
emulator is, or where the caller allows it, such hosts and `http` to loopback are allowed.

Every address is checked, that of each redirect as well, and so is what a host name resolves to at the moment
of the connection. A download is never taken up in the middle: each attempt begins again.
"""

import hashlib
import re
import socket
from collections.abc import AsyncIterator
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Final, Literal, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import ResolveResult
from yarl import URL

from ..._network.decompression import Decompressor
from ..._threads import in_thread
from ...app import is_loopback
from ...errors import ReplyUnreadableError
from ..store.disk import Disk

MAX_REDIRECTS: Final = 5
_CHUNK: Final = 1 << 18
_GONE: Final = frozenset({404, 410})
_MAY_PASS: Final = frozenset({408, 425, 429})
_TIMEOUT: Final = aiohttp.ClientTimeout(total=3600, connect=15, sock_read=60)
_URL: Final = re.compile(r"[\x21-\x7e\xa1-\U0010ffff]{1,8192}")
_FAILURES: Final = (aiohttp.ClientError, TimeoutError, ValueError, ConnectionError, ReplyUnreadableError)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""The last part of a host that is an address, and not a name."""
_EMBEDDED: Final = (
    (IPv6Network("::/96"), 0, 0),  # IPv4-compatible
    (IPv6Network("::ffff:0:0:0/96"), 0, 0),  # IPv4-translated
    (IPv6Network("64:ff9b::/96"), 0, 0),  # NAT64
    (IPv6Network("2002::/16"), 80, 0),  # 6to4
    (IPv6Network("2001::/32"), 64, 0),  # Teredo: its server
    (IPv6Network("2001::/32"), 0, 0xFFFF_FFFF),  # and its client
)
"""Networks of addresses that hold one of IPv4: how far to the left, and what its bits are inverted by."""
_OWN_NAT64: Final = IPv6Network("64:ff9b:1::/48")
_HTML: Final = ("text/html", "application/xhtml+xml")
_NOT_PUBLIC: Final = "the address is not public"
_NO_URL: Final = "the address is not a URL"
FailedState: TypeAlias = Literal["gone", "too_large", "refused", "failed"]


class Download(NamedTuple):
    bytes: int
    sha256: str


class DownloadError(Exception):
    """A file that could not be fetched; its text has no words of the server's, and is never long.

    `state` is gone: the server does not have it any more; too_large; refused: the address, or one to which
    it leads, is not allowed; or failed. `may_pass` is True if another attempt may succeed.
    """

    def __init__(self, text: str, state: FailedState = "failed", *, may_pass: bool = False) -> None:
        super().__init__(text)
        self.state = state
        self.may_pass = may_pass


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

    async def __aexit__(self, *_: object) -> None:
        assert self._client is not None
        await self._client.close()

    async def fetch(self, url: str, path: Path, *, is_page: bool = True) -> Download:
        """Write the file at `url` to `path`; it survives a loss of power.

        `is_page` is False if the file is known to be no HTML page: servers send one in the place of a
        file, with status 200, where a link has expired or a login is asked for. Raises a `DownloadError`, and
        OSError where the disk fails. What is left at `path` then is no file.
        """
        for _ in range(MAX_REDIRECTS + 1):
            if fault := address_fault(url, local=self._local):
                raise DownloadError(fault, "refused")
            try:
                result = await self._ask(url, path, is_page=is_page)
            except _FAILURES as error:
                raise _failure(error) from None
            if isinstance(result, Download):
                return result
            url = result
        raise DownloadError(f"more than {MAX_REDIRECTS} redirects")

    async def _ask(self, url: str, path: Path, *, is_page: bool) -> Download | str:
        assert self._client is not None
        address = URL(url, encoded=url.isascii())  # a signature may be over the very letters
        host = address.raw_host or ""  # as aiohttp takes it, not as it is written
        if not self._local and not is_public(host):
            raise DownloadError(_NOT_PUBLIC, "refused")
        async with self._client.get(address, allow_redirects=False) as response:
            status = response.status
            if status in _GONE:
                raise DownloadError(f"the server answers {status}", "gone")
            if 300 <= status < 400 and (location := response.headers.get("Location")):
                return str(response.url.join(URL(location, encoded=location.isascii())))
            if status != 200:
                may_pass = status in _MAY_PASS or status >= 500
                raise DownloadError(f"the server answers {status}", may_pass=may_pass)
            if not is_page and response.content_type in _HTML:
                raise DownloadError("the server answers with an HTML page in the place of the file")
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
        """Yield the content; some servers send it compressed although no one asked for that."""
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        chunks = response.content.iter_chunked(_CHUNK)
        if encoding in ("", "identity"):
            async for chunk in chunks:
                yield chunk
            return
        decompressor = Decompressor(encoding)
        async for chunk in chunks:
            for part in decompressor.steps(chunk):
                yield part
        decompressor.finish()

    def _too_large(self) -> DownloadError:
        return DownloadError(f"the file is larger than max_bytes = {self._max_bytes}", "too_large")


_TEXTS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (aiohttp.ClientConnectorDNSError, "the host name has no address"),
    (TimeoutError, "the server was silent for too long"),
    (aiohttp.ClientConnectorError, "no connection to the server"),
    (aiohttp.ClientPayloadError, "the file was cut off"),
    (aiohttp.ClientResponseError, "the server's reply is not valid HTTP"),
)


def _failure(error: Exception) -> DownloadError:
    """Return an error's reason, without text of the peer or the address."""
    if isinstance(error, aiohttp.InvalidURL):
        return DownloadError(_NO_URL, "refused")
    if isinstance(getattr(error, "os_error", None), _NotPublicError):
        return DownloadError(_NOT_PUBLIC, "refused")
    if isinstance(error, ReplyUnreadableError):
        return DownloadError(str(error), may_pass=True)
    other = f"the exchange failed ({type(error).__name__})"
    text = next((text for kind, text in _TEXTS if isinstance(error, kind)), other)
    return DownloadError(text, may_pass=True)


def address_fault(url: str, *, local: bool) -> str | None:
    """Return why nothing is fetched from this address; None for one that is allowed.

    `local` allows hosts that are not public, and `http` to loopback.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or not _URL.fullmatch(url) or "\\" in url:
        return _NO_URL
    if parts.scheme not in ("http", "https"):
        return f"expected https, and not {parts.scheme[:20]}"
    if parts.scheme == "http" and not (local and is_loopback(host)):
        return "expected https, and not http"
    if "@" in parts.netloc:
        return "the address has a user or a password"
    return None if local or is_public(host) else _NOT_PUBLIC


def is_public(host: str) -> bool:
    """Return False for an IP address that is not public, in any notation, and for names of this machine."""
    host = host.rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        # A resolver may take `127.1`, `2130706433` or `0x7f.1` for an address. What a name resolves to is
        # checked when it is resolved.
        return not _NUMBER.fullmatch(host.rpartition(".")[2])
    address = getattr(address, "ipv4_mapped", None) or address
    return all(each.is_global and not each.is_multicast for each in (address, *_embedded(address)))


def _embedded(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Return the addresses to which translators and tunnels lead what is sent to an IPv6 address."""
    embedded = [
        ip_address(int(address) >> shift & 0xFFFF_FFFF ^ mask)
        for network, shift, mask in _EMBEDDED
        if address in network
    ]
    # That of a network's own translator may be anywhere in it, and is never public.
    return [*embedded, IPv6Address("::")] if address in _OWN_NAT64 else embedded


class _NotPublicError(OSError):
    """A host name that resolves to an address that is not public."""


class PublicResolver(aiohttp.ThreadedResolver):
    """A resolver of host names that gives public addresses alone."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses; OSError where none of them is public."""
        results = await super().resolve(host, port, family)
        public = [result for result in results if is_public(result["host"])]
        if not public:
            raise _NotPublicError(_NOT_PUBLIC)
        return public
