"""Addresses of object stores (`s3://bucket/prefix`, `gs://…`, `az://…`), and their clients.

A client is one of obstore, with bounded repetitions; credentials and endpoints are obstore's own to read.
"""

import atexit
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from .._texts import missing_extra
from ..errors import RequestInvalidError
from .store_errors import VARIABLES

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client

Scheme: TypeAlias = Literal["s3", "gs", "az"]
_SCHEMES: Final[tuple[Scheme, ...]] = get_args(Scheme)
_ALLOWED: Final = "s3://bucket/prefix, gs://bucket/prefix or az://container/prefix"
_BUCKET: Final = re.compile(r"[A-Za-z0-9._-]+")
_ENDPOINTS: Final[Mapping[Scheme, tuple[str, ...]]] = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
_URL: Final = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_MAX_WAIT: Final = 15.0
_EXIT_WAIT: Final = 0.05
"""Seconds in which obstore's threads end their work for Python, before the interpreter ends."""


class StoreAddress(NamedTuple):
    """The place of a store; an address holds no credentials."""

    scheme: Scheme
    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}{self.prefix and '/'}{self.prefix}"


def is_address(text: str) -> bool:
    """Return True for a text that is meant as an address and not as a folder's path."""
    return "://" in text


def check_outside(out: str | PathLike[str], path: str | PathLike[str], name: str) -> None:
    """Raise `RequestInvalidError` for a path in the folder of the export `out`; `name` is the argument's."""
    is_inside = Path(path).resolve().is_relative_to(Path(out).resolve())
    if is_inside and not (isinstance(out, str) and is_address(out)):
        expected = f"a place outside of the folder of the export, {str(out)!r}"
        raise RequestInvalidError(f"{name} = {str(path)!r}: expected {expected}", name=name)


def parse_address(text: str) -> StoreAddress:
    """Return the parts of an address.

    Raises `RequestInvalidError` for another scheme, a missing bucket, or an address with user, password or
    query, which may be credentials: its text does not repeat them.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        raise RequestInvalidError(f"address: expected {_ALLOWED}; the value has no '://'")
    if scheme not in _SCHEMES:
        shown = repr(scheme) if scheme.isalnum() and len(scheme) < 20 else "this one"
        raise RequestInvalidError(f"address: the scheme {shown} is unknown; expected {_ALLOWED}")
    bucket, _, path = rest.partition("/")
    if "@" in bucket or "?" in rest or "#" in rest:
        raise RequestInvalidError(
            f"address = '{scheme}://[hidden]': it may have no '@', '?' or '#'; credentials are read from the "
            "environment variables"
        )
    path = path.strip("/")
    if not _BUCKET.fullmatch(bucket):
        raise RequestInvalidError(
            f"address = {text!r}: the bucket's name is missing or wrong; use {_ALLOWED}"
        )
    return StoreAddress(scheme, bucket, path and check_name(path, "the prefix of the address"))


def check_name(name: str, argument: str = "name") -> str:
    """Return an object's name if it stays below its store's prefix on every store.

    Raises `RequestInvalidError` for an empty name, an empty, `.` or `..` segment, a control character or a
    backslash.
    """
    segments = name.split("/")
    if any(segment in ("", ".", "..") for segment in segments) or "\\" in name or not name.isprintable():
        raise RequestInvalidError(
            f"{argument} = {name!r}: expected segments between single slashes, without '.', '..', control "
            "characters and backslashes"
        )
    return name


class RequestLimits(NamedTuple):
    """Bounds of one request to a store, its repetitions included.

    With these, a store that fails for some seconds ends nothing: the waits are 30 s in all, in the median.
    """

    retries: int = 8
    total: float = 600.0
    timeout: float = 180.0
    """Seconds of one attempt, its body included: for some MiB over a slow connection."""
    connect: float = 10.0
    first_wait: float = 0.2
    """Seconds before the first repetition; the waits double on average, up to 15 s."""

    def wait(self, number: int) -> float:
        return min(self.first_wait * 2.0**number, _MAX_WAIT)


def import_obstore() -> Any:
    try:
        import obstore
    except ImportError:
        raise RequestInvalidError(missing_extra("an object store", "cloud")) from None
    atexit.unregister(_let_threads_finish)
    atexit.register(_let_threads_finish)
    return obstore


def _let_threads_finish() -> None:
    """Let obstore's threads run that wait for the interpreter's lock after the reply to the last request.

    Where the interpreter ends first, such a thread aborts the process, whose exit status is then wrong.
    """
    time.sleep(_EXIT_WAIT)


def client_of(address: StoreAddress, limits: RequestLimits) -> "Client":
    """Return obstore's client for an address; `RequestInvalidError` where the environment does not suffice.

    No request is sent. A plain `http://` endpoint is used only where an environment variable names it.
    """
    import_obstore()
    from obstore import store

    scheme, bucket, prefix = address
    classes: dict[str, Any] = {"s3": store.S3Store, "gs": store.GCSStore, "az": store.AzureStore}
    endpoints = {name: value for name in _ENDPOINTS[scheme] if (value := os.environ.get(name))}
    for name, value in endpoints.items():
        if not _URL.match(value):  # obstore would panic at the first request
            raise RequestInvalidError(
                f"the environment variable {name}: expected http://host or https://host"
            )
    options: dict[str, Any] = {
        "client_options": {
            "allow_http": any(value.lower().startswith("http://") for value in endpoints.values()),
            "timeout": timedelta(seconds=limits.timeout),
            "connect_timeout": timedelta(seconds=limits.connect),
        },
        "retry_config": {
            "max_retries": limits.retries,
            "retry_timeout": timedelta(seconds=limits.total),
            "backoff": {
                "init_backoff": timedelta(seconds=limits.wait(0)),
                "max_backoff": timedelta(seconds=limits.wait(99)),
                "base": 4,  # each is random, from the first to so many times the last: twice that on average
            },
        },
    }
    with suppress(Exception):  # whose text may repeat a credential
        client: Client = classes[scheme](bucket, prefix=prefix or None, **options)
        return client
    raise RequestInvalidError(
        f"{address}: the credentials or the endpoint in the environment variables are missing or wrong; "
        f"they are read from {VARIABLES[scheme]}"
    )
