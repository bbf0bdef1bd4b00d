"""The command's frame: what every subcommand has in common, and how each way to fail looks.

| status | when                                                                     |
|--------|--------------------------------------------------------------------------|
| 0      | done; also where the reader of a pipe went away, and an emulator that was told to stop |
| 1      | failed: the service, the network, a file                                 |
| 2      | wrong usage, argument or environment; nothing was sent                   |
| 130    | interrupted (Ctrl-C); run it again                                       |
| 143    | ended by SIGTERM                                                         |

A failure is one line on standard error. What is no `ChatRestError`, `OSError` or interrupt is a bug of
ours, and shows its traceback.
"""

import asyncio
import errno
import sys
from typing import Any, Final, NoReturn

import click

from ..errors import ChatRestError, RequestInvalidError
from . import streams
from .demo.command import demo
from .emulator import emulator
from .export import export
from .invocation import NAME, version
from .reading import apps, messages, users
from .verify import verify
from .writing import send, token


class EndedError(Exception):
    """A command that did not come to its end: what is said of it, if anything, and its status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.text = text
        self.status = status


def ended(error: BaseException) -> EndedError:
    """What a user is told of `error`, and the exit status."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    match error:
        case KeyboardInterrupt():
            return EndedError(f"interrupted{notes}", 130)
        case asyncio.CancelledError():
            return EndedError(f"ended by a signal{notes}", 143)
        case BrokenPipeError():
            return EndedError("", 0)
        case RequestInvalidError():
            return EndedError(f"{error}{notes}", 2)
        case OSError() if not isinstance(error, ChatRestError):
            return EndedError(f"{_told(error)}{notes}", 1)
    return EndedError(f"{error}{notes}", 1)


_ENDINGS: Final = (KeyboardInterrupt, asyncio.CancelledError, OSError, ChatRestError)


def _is_ending(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_ending, error.exceptions))
    return isinstance(error, _ENDINGS)


def _told(error: OSError) -> str:
    reason = error.strerror or str(error) or errno.errorcode.get(error.errno or 0, type(error).__name__)
    return f"{error.filename}: {reason}" if error.filename is not None else reason


class Root(click.Group):
    """A group whose failures are one line."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Runs the command and ends the process with its status."""
        streams.speak_utf8()
        extra.setdefault("prog_name", self.name)
        try:
            status = super().main(*args, **extra | {"standalone_mode": False})
        except EndedError as end:
            status = _said(end)
        except OSError as error:  # the first screen itself has nowhere to go
            streams.let_go()
            status = _said(ended(error))
        except click.ClickException as error:
            status = error.exit_code
            streams.complain(_explained(error))
        except click.Abort:
            status = 130
        sys.exit(status or 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the subcommand; its failures come out as `EndedError`."""
        try:
            super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BaseException as error:
            if not _is_ending(error):
                raise
            if isinstance(error, OSError):
                streams.let_go()
            failure = ended(error)
        else:
            return
        raise failure


def _said(end: EndedError) -> int:
    if end.text:
        streams.complain(end.text)
    return end.status


def _explained(error: click.ClickException) -> str:
    text = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{text.rstrip('.')} (see '{error.ctx.command_path} --help')"
    return text


_EPILOG = """
\b
Credentials and address come from the environment, never from an argument:
  CHATREST_APP_ID, CHATREST_API_KEY      from the app's dashboard
  CHATREST_REGION                        us (the default), eu or in
  CHATREST_SERVICE_DOMAIN                or CHATREST_BASE_URL for an emulator or a proxy
  CHATREST_HEADERS                       further headers, a line `name: value` each
  CHATREST_MANAGEMENT_URL, _KEY, _SECRET for `chatrest apps` alone

\b
Begin here:
  chatrest demo                          all of it at once; needs no account
  eval "$(chatrest emulator &)"          a service to play with, in the background
  chatrest users --limit 3
  chatrest messages user-02 --on-behalf-of user-01 --limit 3
  kill $CHATREST_EMULATOR_PID

\b
Exit status: 0 done, 1 failed, 2 wrong usage (nothing was sent), 130 interrupted.
"""


@click.group(
    cls=Root,
    name=NAME,
    epilog=_EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(version(), "--version", "-V", prog_name=NAME)
@click.pass_context
def root(ctx: click.Context) -> None:
    """Messages, users and tokens of a hosted chat platform, a JSON line each.

    Output is plain and complete in a pipe. An interrupted list can be taken up again where it stopped.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (demo, emulator, export, messages, users, token, send, apps, verify):
    root.add_command(command)
