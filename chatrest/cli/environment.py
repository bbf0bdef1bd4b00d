"""Sessions of the commands; addresses and keys come from the environment only."""

import os
from typing import TYPE_CHECKING, Final

import click

from ..core.environment import headers_from_env
from ..core.requests.hosts import App, allows_http
from ..errors import AuthenticationError, ChatRestError, ConnectError, RequestInvalidError
from .process import NAME

if TYPE_CHECKING:
    from ..management import AsyncManagement
    from ..session import AsyncSession
    from ..telemetry import Listener


SEE_HELP: Final = f"see '{NAME} --help'"
"""The next step where a variable is missing or wrong: the help of the command group lists them all."""
_ACCOUNT: Final = ("CHATREST_APP_ID", "CHATREST_API_KEY", "CHATREST_REGION")
_HOST: Final = ("CHATREST_APP_ID", "CHATREST_REGION", "CHATREST_SERVICE_DOMAIN")
_MANAGEMENT: Final = ("CHATREST_MANAGEMENT_URL", "CHATREST_MANAGEMENT_KEY", "CHATREST_MANAGEMENT_SECRET")


def session(telemetry: "Listener | tuple[()]" = ()) -> "AsyncSession":
    """Return a session for the app in the environment; errors as `App.from_env`."""
    from ..session import AsyncSession  # imports aiohttp, which a help text does not need

    try:
        app = App.from_env()
    except RequestInvalidError as error:
        error.add_note(SEE_HELP)
        raise
    return AsyncSession(app, telemetry=telemetry, headers=headers_from_env(), proxy=proxy())


def hint(error: BaseException) -> str:
    """Return the variables to check after a refused key or a failed connection; "" after any other error."""
    match error:
        case AuthenticationError():
            names: tuple[str, ...] = _MANAGEMENT if _is_management(error) else _ACCOUNT
        case ConnectError(retry_after=None):
            names = _MANAGEMENT[:1] if _is_management(error) else _address()
            names += ("CHATREST_PROXY (or --proxy)",) if proxy() is not None else ()
        case _:
            return ""
    return f"; check {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"


def _is_management(error: ChatRestError) -> bool:
    from ..resources import OPERATIONS

    endpoint = OPERATIONS.get(error.operation)
    return endpoint is not None and endpoint.interface == "management"


def _address() -> tuple[str, ...]:
    return ("CHATREST_BASE_URL",) if os.environ.get("CHATREST_BASE_URL") else _HOST


def proxy() -> str | None:
    """Return the proxy of all requests: the option `--proxy`, else `CHATREST_PROXY`, else None."""
    context = click.get_current_context(silent=True)
    given = None if context is None else context.find_root().obj
    return given or os.environ.get("CHATREST_PROXY") or None


def management() -> "AsyncManagement":
    """Return the management account in the environment.

    Raises one `RequestInvalidError` that names all missing variables.
    """
    from ..management import AsyncManagement

    url, key, secret = (os.environ.get(name, "") for name in _MANAGEMENT)
    if missing := [name for name in _MANAGEMENT if not os.environ.get(name)]:
        raise RequestInvalidError(f"the environment lacks {', '.join(missing)}; {SEE_HELP}")
    return AsyncManagement(url, key=key, secret=secret, proxy=proxy(), allow_http=allows_http(os.environ))
