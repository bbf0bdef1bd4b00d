"""Credentials of the workers: from their own environment, or sent to them once.

They are sent only where nobody can read them on the way: within the machine, or over TLS. They go by
`Client.run`, straight to the workers' memory: neither a task nor a plugin, which the scheduler keeps, has
them, and their repr is hidden.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final, final
from urllib.parse import urlsplit

from ..core.environment import headers_from_env
from ..core.requests.hosts import App
from ..errors import RequestInvalidError

_SAFE_SCHEMES: Final = ("inproc", "tls", "ucxs", "wss")


@final
class Credentials:
    """An app with its key, and the headers that a deployment wants; hidden in every repr."""

    __slots__ = ("app", "headers")

    def __init__(self, app: App, headers: Mapping[str, str]) -> None:
        self.app: App = app
        self.headers: dict[str, str] = dict(headers)

    def __repr__(self) -> str:
        return f"<Credentials of {self.app.app_id}>"


def is_private(address: str) -> bool:
    """Return True where a connection to a scheduler's address is encrypted, or does not leave the machine."""
    parts = urlsplit(address)
    if parts.scheme in _SAFE_SCHEMES:
        return True
    host = parts.hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refusal(address: str) -> str:
    """Return the sentence for a cluster whose workers have no credentials, and cannot be sent any."""
    return (
        f"the workers of {address} have no credentials of the app in their environment, and they are not "
        "sent over a connection that is not encrypted: start the workers with CHATREST_APP_ID, "
        "CHATREST_API_KEY and what else this command has, or use a scheduler at a tls:// address"
    )


def environment_credentials(app_id: str) -> Credentials | None:
    """Return the credentials in this process's environment; None where there are none.

    Raises `RequestInvalidError` where they are of another app.
    """
    try:
        app = App.from_env()
    except RequestInvalidError:
        return None
    if app.app_id != app_id:
        raise RequestInvalidError(
            f"CHATREST_APP_ID = {app.app_id!r} in the environment of a worker: allowed is {app_id!r}"
        )
    return Credentials(app, headers_from_env())
