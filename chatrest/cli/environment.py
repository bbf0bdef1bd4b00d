"""Sessions of the commands; addresses and keys come from the environment only."""

import os
from typing import TYPE_CHECKING, Final

import click

from ..core.environment import headers_from_env
from ..core.hosts import App
from ..errors import RequestInvalidError
from .invocation import NAME

if TYPE_CHECKING:
    from ..management import AsyncManagement
    from ..session import AsyncSession
    from ..telemetry import Listener


SEE_HELP: Final = f"see '{NAME} --help'"
"""The way to go on where a variable is missing or wrong: the help of the command group lists them all."""


def session(telemetry: "Listener | tuple[()]" = ()) -> "AsyncSession":
    """Return a session for the app in the environment; errors as `App.from_env`."""
    from ..session import AsyncSession  # imports aiohttp, which a help text does not need

    try:
        app = App.from_env()
    except RequestInvalidError as error:
        error.add_note(SEE_HELP)
        raise
    return AsyncSession(app, telemetry=telemetry, headers=headers(), proxy=proxy())


def headers() -> dict[str, str]:
    """The headers that a deployment wants with every request: `CHATREST_HEADERS`, a `name: value` a line."""
    return headers_from_env()


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

    names = [f"CHATREST_MANAGEMENT_{part}" for part in ("URL", "KEY", "SECRET")]
    url, key, secret = (os.environ.get(name, "") for name in names)
    if missing := [name for name in names if not os.environ.get(name)]:
        raise RequestInvalidError(f"the environment lacks {', '.join(missing)}; {SEE_HELP}")
    return AsyncManagement(url, key=key, secret=secret, proxy=proxy())
