"""The files that messages link to, and the addresses from which they may be fetched. Pure.

An address is `https`, without user and password; its host may not be, or resolve to, an address that is not
public (`is_public`). Users of the app write the addresses, so without this rule anybody could make the
machine that exports ask other machines of its network, or its own services. Where the app's own service is
at loopback, as an emulator is, or where the caller allows it, such hosts and `http` to loopback are allowed.
"""

import re
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from ...core.hosts import is_loopback
from .tables import record_of

_EXTENSION: Final = re.compile(r"[a-z0-9]{1,10}", re.ASCII)
_URL: Final = re.compile(r"[\x21-\x7e\xa1-\U0010ffff]{1,8192}")


class Link(NamedTuple):
    """A file that a message links to."""

    message: str
    position: int
    """Among the attachments of the message, from 0."""
    url: str
    name: str | None
    mime_type: str | None
    extension: str | None


def links_of(raw: bytes) -> Iterator[Link]:
    """Yield the links of a message's record.

    A media message without attachments has the address of its file in `url` (operations table,
    message_data_media).
    """
    if b'"url"' not in raw:
        return
    record = record_of(raw)
    data = record.get("data")
    if not isinstance(data, dict) or not (message := _text(record.get("id"))):
        return
    attachments = data.get("attachments")
    if not attachments and record.get("category") == "message":
        attachments = [data]
    for position, each in enumerate(attachments if isinstance(attachments, list) else ()):
        if isinstance(each, dict) and (url := _text(each.get("url"))):
            names = (_text(each.get(name)) for name in ("name", "mimeType", "extension"))
            yield Link(message, position, url, *names)


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
        return "the address is not a URL"
    if parts.scheme not in ("http", "https"):
        return f"allowed is https, and not {parts.scheme[:20]}"
    if parts.scheme == "http" and not (local and is_loopback(host)):
        return "allowed is https, and not http"
    if "@" in parts.netloc:
        return "the address has a user or a password"
    if not local and not is_public(host):
        return "the address is not public"
    return None


def is_public(host: str) -> bool:
    """Return False for the text of an IP address that is not public, and for names of this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return True  # a name: what it resolves to is checked when it is resolved
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_global and not mapped.is_multicast


def stored_name(sha256: str, link: Link) -> str:
    """Return the path of a file below `attachments/`: the hash of its content, and its extension."""
    suffixes = (link.extension or "", PurePosixPath(urlsplit(link.url).path).suffix[1:])
    extension = next((each.lower() for each in suffixes if _EXTENSION.fullmatch(each.lower())), "")
    return f"files/{sha256[:2]}/{sha256}{f'.{extension}' if extension else ''}"


def _text(value: Any) -> str | None:
    """Return a text that a database can hold; ids may be numbers."""
    if type(value) is int:
        return str(value)
    if not isinstance(value, str) or not value:
        return None
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
