"""The clients of obstore, with bounded retries; credentials and endpoints are obstore's own to read."""

import atexit
import os
import re
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, final

from msgspec import Struct

from ..errors import RequestInvalidError
from ..extras import missing_extra
from .address import Scheme, StoreAddress

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client

_ENDPOINTS: Final[Mapping[Scheme, tuple[str, ...]]] = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
_VARIABLES: Final[Mapping[Scheme, str]] = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_EXIT_WAIT: Final = 0.05
"""Seconds in which obstore's threads end their work for Python, before the interpreter ends."""
_URL: Final = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_MOST_RETRIES: Final = 100
_MOST_SECONDS: Final = 3600.0


@final
class RequestLimits(Struct, frozen=True, kw_only=True):
    """Bounds of one request to a store, its repetitions included.

    obstore repeats a request after a 5xx, a failed connection and, where repeating cannot harm, a time-out,
    with waits that double. It repeats a conditional write after a 5xx as well; `ObjectStore` then finds out
    if the first attempt was applied.
    """

    retries: int = 5
    total: float = 600.0
    """Seconds from the first attempt, after which no other begins."""
    timeout: float = 180.0
    """Seconds of one attempt, its body included: for some MiB over a slow connection."""
    connect: float = 10.0
    """Seconds to make a connection."""
    first_wait: float = 0.2
    """Seconds before the first repetition."""

    def __post_init__(self) -> None:
        if isinstance(self.retries, bool) or not 0 <= self.retries <= _MOST_RETRIES:
            raise RequestInvalidError(f"limits.retries = {self.retries!r}: allowed is 0 to {_MOST_RETRIES}")
        for name in ("total", "timeout", "connect", "first_wait"):
            if not 0 < (seconds := getattr(self, name)) <= _MOST_SECONDS:
                raise RequestInvalidError(
                    f"limits.{name} = {seconds!r}: allowed is above 0 to {_MOST_SECONDS}"
                )


def import_obstore() -> Any:
    """Return the module obstore; `RequestInvalidError` without the extra."""
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

    _check_endpoint(address.scheme)
    if address.scheme == "file":
        return _local_client(address)
    options = _client_options(address.scheme, limits)
    classes: dict[str, Any] = {"s3": store.S3Store, "gs": store.GCSStore, "az": store.AzureStore}
    try:
        client: Client = classes[address.scheme](address.bucket, prefix=address.prefix or None, **options)
    except Exception:  # its text may repeat a credential
        client = None  # type: ignore[assignment]
    if client is None:
        raise RequestInvalidError(
            f"{address}: the credentials or the endpoint in the environment variables are missing or wrong; "
            f"they are read from {_VARIABLES[address.scheme]}"
        )
    return client


def _client_options(scheme: Scheme, limits: RequestLimits) -> dict[str, Any]:
    """Return the arguments of obstore's stores for their HTTP client and its repetitions."""
    return {
        "client_options": {
            "allow_http": _names_http(scheme),
            "timeout": timedelta(seconds=limits.timeout),
            "connect_timeout": timedelta(seconds=limits.connect),
        },
        "retry_config": {
            "max_retries": limits.retries,
            "retry_timeout": timedelta(seconds=limits.total),
            "backoff": {
                "init_backoff": timedelta(seconds=limits.first_wait),
                "max_backoff": timedelta(seconds=min(limits.first_wait * 32, 15.0)),
                "base": 2,
            },
        },
    }


def _local_client(address: StoreAddress) -> "Client":
    from obstore import store

    reason = ""
    try:
        return store.LocalStore(prefix=address.prefix, mkdir=True)
    except Exception as error:
        reason = type(error).__name__
    raise RequestInvalidError(f"{address}: the folder cannot be made or opened ({reason})")


def _check_endpoint(scheme: Scheme) -> None:
    """Refuse an endpoint that is no URL: obstore would panic at the first request."""
    for name in _ENDPOINTS.get(scheme, ()):
        if (value := os.environ.get(name)) and not _URL.match(value):
            raise RequestInvalidError(
                f"the environment variable {name}: allowed is http://host or https://host"
            )


def _names_http(scheme: Scheme) -> bool:
    names = _ENDPOINTS[scheme]
    return any(os.environ.get(name, "").lower().startswith("http://") for name in names)
