"""The command group: common options, the message and exit status of each error, and `completion`.

A failure is one line on standard error. Any exception other than `ChatRestError`, `OSError` and interrupts is
a bug in chatrest, and shows its traceback. A reader of a pipe that is gone is no failure.
"""

import asyncio
import sys
from typing import Any, Final, NoReturn

import click
from click.shell_completion import get_completion_class

from .. import __version__
from .._texts import nearest
from ..errors import ChatRestError, RequestInvalidError
from . import streams
from .call.call_command import OperationGroup, call
from .command_options import OneOf
from .doctor import doctor, limits
from .environment import NAME, error_text, hint, option_names
from .export.cat import cat, changes
from .export.copies import load, seal, verify
from .export.export_command import export
from .export.html import html, view
from .export.status import status
from .importing import import_
from .records import apps, messages, send, token, users
from .trial import contents, demo, emulator, guide


class CommandError(click.ClickException):
    """A command that failed or was stopped, with its text (empty if nothing is shown) and exit status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.exit_code = status  # type: ignore[misc]


def command_error(error: BaseException) -> CommandError:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    match error:
        case KeyboardInterrupt():
            return CommandError(f"interrupted{notes}", 130)
        case asyncio.CancelledError():
            return CommandError(f"ended by a signal{notes}", 143)
        case BrokenPipeError():
            return CommandError("", 0)
        case RequestInvalidError():
            return CommandError(f"{error_text(error, option_names())}{notes}", 2)
        case OSError() if not isinstance(error, ChatRestError):
            reason = error.strerror or str(error) or type(error).__name__
            file = "" if error.filename is None else f"{error.filename}: "
            return CommandError(f"{file}{reason}{notes}", 1)
    more = f"{hint(error)}{notes}"
    return CommandError(f"{str(error).removesuffix('.')}{more}" if more else str(error), 1)


def _is_expected(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_expected, error.exceptions))
    return isinstance(error, KeyboardInterrupt | asyncio.CancelledError | OSError | ChatRestError)


@click.command(short_help="Print the completion of a shell.")
@click.argument("shell", metavar="SHELL", type=OneOf(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the text that makes SHELL complete commands, options and operations.

    SHELL is bash (4.4 or later), zsh or fish.

    \b
    Examples:
      eval "$(chatrest completion bash)"                     in ~/.bashrc
      eval "$(chatrest completion zsh)"                      in ~/.zshrc
      chatrest completion fish > ~/.config/fish/completions/chatrest.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, NAME, f"_{NAME.upper()}_COMPLETE").source())


_SECTIONS: Final[dict[str, tuple[click.Command, ...]]] = {
    "Try it": (demo, emulator, guide),
    "Read and write": (users, messages, send, token, apps, call),
    "Export and import": (export, status, verify, cat, changes, load, html, view, seal, import_),
    "Set up": (doctor, limits, completion),
}


class Root(click.Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(name) for name in self.commands)
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{each.name:<{width}}", each.get_short_help_str(limit=100)) for each in commands]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands and not ctx.resilient_parsing:
            is_page = f"; 'chatrest guide {name}' is a page of the guide" if name in contents() else ""
            raise click.UsageError(f"No such command {name!r}{is_page or nearest(name, self.commands)}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        streams.use_utf8()
        extra.setdefault("prog_name", self.name)
        try:
            sys.exit(super().main(*args, **extra | {"standalone_mode": False}) or 0)
        except click.ClickException as error:
            failure = error
        except OSError as error:  # the help text itself could not be written
            streams.detach_stdout()
            error.filename = error.filename or "standard output"
            failure = command_error(error)
        except click.Abort:
            sys.exit(130)
        if text := _text_of(failure):
            streams.warn(text)
        sys.exit(failure.exit_code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; raise `CommandError` for each failure that is no bug."""
        try:
            super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BaseException as error:
            if not _is_expected(error):
                raise
            if isinstance(error, OSError):
                streams.detach_stdout()
            failure = command_error(error)
        else:
            return
        raise failure


def _text_of(error: click.ClickException) -> str:
    """Return the text of an error; of a wrong value `--users 'x': expected …`, whoever has found it."""
    text = error.format_message()
    if not isinstance(error, click.UsageError):
        return text
    text = text.rstrip(".")
    match error:
        case click.NoSuchOption(ctx=click.Context() as context):
            text, before = f"No such option {error.option_name!r}", context.find_root().command.params
            if any(error.option_name in param.opts for param in before):
                return f"{text}: it is given before the command, as in '{NAME} {error.option_name} …'"
            if isinstance(context.command, OperationGroup):
                return f"{text}: options of an operation are after its name"
            text += nearest(error.option_name, error.possibilities or ())
        case click.BadParameter() if not isinstance(error, click.MissingParameter):
            name = error.param_hint or (error.param.get_error_hint(error.ctx) if error.param else "")
            text = f"{str(name).strip(chr(39)).rstrip('.')} {error.message}".strip().rstrip(".")
    return text if error.ctx is None else f"{text} (see '{error.ctx.command_path} --help')"


_EPILOG = """
\b
Credentials and addresses come from the environment or a file, never from an argument:
  CHATREST_APP_ID, CHATREST_API_KEY      from the app's dashboard
  CHATREST_REGION                        us (the default), eu or in
  CHATREST_SERVICE_DOMAIN                or CHATREST_BASE_URL for an emulator or a proxy
  CHATREST_APP                           an app of a file of apps, as --app
  CHATREST_APPS_FILE                     that file; else apps.toml here (with --app only), else
                                         ~/.config/chatrest/apps.toml
  CHATREST_ALLOW_HTTP                    1: permits http, as to an emulator in another container
  CHATREST_HEADERS                       further headers, a line `name: value` each
  CHATREST_PROXY                         the proxy of all requests, as --proxy
  CHATREST_LOG                           info or debug, as -v or -vv
  CHATREST_MANAGEMENT_URL, _KEY, _SECRET only for the management interface, such as `chatrest apps`

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
@click.version_option(__version__, "--version", "-V", prog_name=NAME)
@click.option(
    "-v", "--verbose", count=True,
    help="Show a line for each request on standard error, with its status; -vv also its address as it was "
    "sent, its headers without secrets, and what each call waited for.",
)  # fmt: skip
@click.option(
    "--proxy", metavar="URL",
    help="Send all requests to the service through this proxy.  [default: CHATREST_PROXY, else none]",
)  # fmt: skip
@click.option(
    "--app", metavar="NAME",
    help="The app of this name or id in the file of apps.  [default: CHATREST_APP, else that of the "
    "environment]",
)  # fmt: skip
@click.pass_context
def root(ctx: click.Context, /, verbose: int, **_: str | None) -> None:
    """Read, send, export and import the messages and users of a hosted chat platform.

    Records are printed as readable lines to a terminal, and to a pipe or file as JSON lines, exactly as the
    service sends them. What was interrupted can be continued where it stopped. `chatrest COMMAND --help` has
    examples.

    Options of this page are before the command: `chatrest -v users`.
    """
    ctx.with_resource(streams.shown_log(streams.level_of(verbose)))
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for _commands in _SECTIONS.values():
    for _command in _commands:
        root.add_command(_command)
