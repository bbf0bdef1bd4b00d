"""The surroundings of a command: its session, its process, and the shell text that runs it again.

Addresses and keys come from the environment, or from a file of apps.

The file is `CHATREST_APPS_FILE`; else `apps.toml` in the current folder, with `--app` only; else
`~/.config/chatrest/apps.toml`. A file that happens to be in the current folder is not read for a variable
that the shell sets everywhere: who has written it could send the key to an address of his own.
"""

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os.path import expanduser  # unlike that of `Path`, it accepts a user without a home
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from .._secrets import repr_of
from .._texts import duration
from ..app import App, allows_http, headers_from_env
from ..errors import ApiError, AuthenticationError, ConnectError, NotFoundError, RequestInvalidError
from . import streams

if TYPE_CHECKING:
    from .._telemetry import Listener
    from ..session import AsyncManagement, AsyncSession

T = TypeVar("T")
NAME: Final = "chatrest"
SEE_HELP: Final = f"see '{NAME} --help'"
_ACCOUNT: Final = ("CHATREST_APP_ID", "CHATREST_API_KEY", "CHATREST_REGION")
_HOST: Final = ("CHATREST_APP_ID", "CHATREST_REGION", "CHATREST_SERVICE_DOMAIN")
_MANAGEMENT: Final = ("CHATREST_MANAGEMENT_URL", "CHATREST_MANAGEMENT_KEY", "CHATREST_MANAGEMENT_SECRET")
MANAGEMENT_WORDS: Final = f"{', '.join(_MANAGEMENT[:-1])} and {_MANAGEMENT[-1]}"
_PROXY: Final = "CHATREST_PROXY (or --proxy)"


def session(telemetry: "Listener | tuple[()]" = (), *, app: App | None = None) -> "AsyncSession":
    from ..session import AsyncSession  # imports aiohttp, which a help text does not need

    app, headers = app or chosen_app(), headers_from_env()
    with _given_by(headers="CHATREST_HEADERS", proxy=_PROXY):
        return AsyncSession(app, telemetry=telemetry, headers=headers, proxy=proxy())


def error_text(error: BaseException, origins: Mapping[str, str]) -> str:
    """Return the text of an error with the options or variables by which its parameters are given."""
    text, name = str(error), getattr(error, "name", "")
    for argument in getattr(error, "arguments", ()):
        text = text.replace(f"{argument}=True", origins.get(argument, argument))
    if (origin := origins.get(name)) is None:
        return text
    fault = text.removeprefix(name)
    is_variable = origin.startswith("CHATREST_")  # shown with =; others as they are typed
    return origin + fault if is_variable or fault[0] != " " else f"{origin} {fault.removeprefix(' = ')}"


def option_names() -> dict[str, str]:
    """Return the options and arguments of the command that runs, by the names of their parameters."""
    context = click.get_current_context(silent=True)
    command = None if context is None else context.command
    if context is not None and isinstance(command, click.Group):
        command = command.commands.get(context.invoked_subcommand or "")
    names: dict[str, str] = {}
    for param in command.params if command is not None else ():
        name = (param.name or "").rstrip("_").removeprefix("filter_")
        given = param.opts[0] if isinstance(param, click.Option) else param.human_readable_name.rstrip(".")
        names[name] = given
    return {name.removesuffix("s"): given for name, given in names.items()} | names


@contextmanager
def _given_by(**origins: str) -> Iterator[None]:
    try:
        yield
    except RequestInvalidError as error:
        error.args = (error_text(error, origins),)
        raise


def chosen_app() -> App:
    """Return the app of `--app` or `CHATREST_APP`, else that of the environment."""
    if (name := chosen_app_name()) is not None:
        from ..export.plan.app_file import read_app

        app = read_app(apps_file(), name).app
        streams.hide(app.api_key)
        return app
    try:
        return App.from_env()
    except RequestInvalidError as error:
        error.add_note(f"{SEE_HELP}; '{NAME} emulator' is a service to try")
        raise


def chosen_app_name() -> str | None:
    return root_option("app") or os.environ.get("CHATREST_APP") or None


def apps_file() -> Path:
    if named := os.environ.get("CHATREST_APPS_FILE"):
        path = Path(expanduser(named))  # noqa: PTH111
        if not path.is_file():
            raise RequestInvalidError(f"CHATREST_APPS_FILE = {repr_of(named)}: there is no such file")
        return path
    home = Path(os.environ.get("XDG_CONFIG_HOME") or expanduser("~/.config"), NAME, "apps.toml")  # noqa: PTH111
    is_option = root_option("app") is not None
    places = [Path("apps.toml"), home] if is_option else [home]
    for path in places:
        if path.is_file():
            return path
    option = "--app" if is_option else "CHATREST_APP"
    raise RequestInvalidError(
        f"{option} needs a file of apps: set CHATREST_APPS_FILE, or write {' or '.join(map(str, places))}"
    )


def hint(error: BaseException) -> str:
    """Return what to check after a refused key, a failed connection or a wrong path, or how long to wait."""
    if isinstance(error, ApiError) and error.retry_after:
        return f"; the service asks to wait {duration(error.retry_after)}"
    if isinstance(error, NotFoundError) and (error.is_unserved or error.code == "ERR_API_NOT_FOUND"):
        is_given = chosen_app_name() is None and os.environ.get("CHATREST_BASE_URL")
        return "; check that CHATREST_BASE_URL ends with the version (/v3)" if is_given else ""
    if not isinstance(error, AuthenticationError | ConnectError):
        return ""
    from .._resources import OPERATIONS

    is_key, endpoint = isinstance(error, AuthenticationError), OPERATIONS.get(error.operation)
    if endpoint is not None and endpoint.interface == "management":
        names: tuple[str, ...] = _MANAGEMENT if is_key else _MANAGEMENT[:1]
    elif chosen_app_name() is not None:
        what = "id, region and key" if is_key else "the address"
        names = (f"{what} of app {repr_of(chosen_app_name())} in the file of apps",)
    elif is_key:
        names = _ACCOUNT
    else:
        names = ("CHATREST_BASE_URL",) if os.environ.get("CHATREST_BASE_URL") else _HOST
    if not is_key and proxy() is not None:
        names += (_PROXY,)
    return f"; check {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"


def proxy() -> str | None:
    return root_option("proxy") or os.environ.get("CHATREST_PROXY") or None


def management() -> "AsyncManagement":
    from ..session import AsyncManagement

    url, key, secret = (os.environ.get(name, "") for name in _MANAGEMENT)
    if missing := [name for name in _MANAGEMENT if not os.environ.get(name)]:
        raise RequestInvalidError(f"the environment lacks {', '.join(missing)}; {SEE_HELP}")
    origins = dict(zip(("url", "key", "secret"), _MANAGEMENT, strict=True))
    with _given_by(**origins, proxy=_PROXY):
        return AsyncManagement(url, key=key, secret=secret, proxy=proxy(), allow_http=allows_http(os.environ))


# ── the process ──


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`; Ctrl-C raises `KeyboardInterrupt`, SIGTERM `asyncio.CancelledError`."""
    return asyncio.run(_cancel_on_sigterm(work))


async def _cancel_on_sigterm(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError):  # the event loops of some platforms have no signal handlers
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await work


def root_option(name: str) -> str | None:
    """Return an option that was given before the command."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_root().params.get(name)


def invocation() -> str:
    app = root_option("app")
    return f"{_program()} --app {shlex.quote(app)}" if app else _program()


def can_continue(error: BaseException) -> bool:
    from ..export import NextRun  # imports aiohttp, which a help text does not need

    return NextRun.after(error) is NextRun.CONTINUES


def continuation(command: str, words: Iterable[str], options: Mapping[str, object]) -> str:
    given = [
        word
        for name, value in options.items()
        if value is not None and value is not False
        for word in ([name] if value is True else [name, str(value)])
    ]
    return f"continue with: {invocation()} {command} {shlex.join([*words, *given])}"


def _program() -> str:
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m {NAME}"
    on_path = which(NAME)
    if on_path is not None and called.exists() and called.samefile(on_path):
        return NAME
    return shlex.quote(str(called))
