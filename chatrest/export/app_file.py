"""The file of apps, for exports of many and for `chatrest --app NAME`: TOML, a table an app.

    [[app]]
    name = "shop"                          # for --app; by default the id
    id = "2087654abc"
    region = "eu"                          # us (the default), eu or in
    key_env = "CHATREST_KEY_SHOP"          # the name of the environment variable that has the API key
    service_domain = "chat.example.com"    # or base_url; by default that of the environment

    [app.plan]                             # what to export, in place of the command's options
    since = 2026-01-01
    format = "parquet"

| in the place of `key_env` | the API key is                                                             |
|---------------------------|----------------------------------------------------------------------------|
| `key_file = "shop.key"`   | the content of a file; a relative path is from the folder of the apps file |
| `key_command = "pass x"`  | the first line that a program prints; no shell, or a list of its arguments |
| `key = "…"`               | that text, if nobody but the owner may read the apps file (mode 0600)      |

The workers of a cluster read `key_env` and `key_file` in their own environment and on their own disk, and get
nothing but these names.
A file that another user could have written runs no program. TOML, as people write and comment this file by
hand, and the standard library reads it.
"""

import os
import re
import shlex
import stat
import subprocess
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike
from os.path import expanduser  # unlike that of `Path`, it accepts a user without a home
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, final

from msgspec import Struct

from ..core.requests.hosts import App, allows_http
from ..errors import RequestInvalidError
from ..secrets import description, shown
from .plan import Plan

_KEYS: Final = ("key_env", "key_file", "key_command", "key")
_MEMBERS: Final = ("name", "id", "region", *_KEYS, "service_domain", "base_url", "plan")
_PLAN_MEMBERS: Final = tuple(name for name in Plan.__struct_fields__ if name != "query")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_HEADER: Final = re.compile(r"^\s*\[\[\s*app\s*\]\]", re.MULTILINE)
_TEXTS: Final = tuple(name for name in _MEMBERS if name not in ("key_command", "plan"))
_PATIENCE: Final = 60.0
"""Seconds for a program that prints a key; it may ask for a password."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class AppExport(Struct, frozen=True):
    """An app of a file, and what to export of it."""

    app: App
    plan: Plan | None = None
    """None for the plan of the run, or of the app's folder."""
    key_env: str | None = None
    """The name of the environment variable that has the key, for messages and for a cluster's workers."""
    name: str | None = None
    """Its name in the file; None if it has its id alone."""
    key_file: str | None = None
    """The absolute path of the file that has the key, for a cluster's workers."""


class AppReference(Struct, frozen=True):
    """An app without its key, for another process that has the key under the same name."""

    app_id: str
    region: str
    service_domain: str | None
    base_url: str | None
    key_env: str | None
    key_file: str | None

    @classmethod
    def of(cls, export: AppExport) -> Self:
        """Return the reference to an app; `RequestInvalidError` where another process cannot have its key."""
        app = export.app
        if export.key_env is None and export.key_file is None:
            raise RequestInvalidError(
                f"app {app.app_id}: the workers of a cluster get no key, they read it from their environment "
                "or disk: expected is key_env or key_file"
            )
        return cls(app.app_id, app.region, app.service_domain, app.base_url, export.key_env, export.key_file)

    def app(self, environ: Mapping[str, str]) -> App:
        """Return the app with the key that this process has; `RequestInvalidError` where it has none."""
        key = _variable(self.key_env, environ) if self.key_env else _file_text(Path(self.key_file or ""))
        return App(
            self.app_id, key, self.region, service_domain=self.service_domain, base_url=self.base_url,
            allow_http=allows_http(environ),
        )  # fmt: skip


def read_apps(path: str | PathLike[str], environ: Mapping[str, str] | None = None) -> list[AppExport]:
    """Return the apps of a file, with their keys.

    Raises `RequestInvalidError`, which names the line and the app, what is wrong and what is allowed; all
    variables that are missing are in one. Raises OSError for a file that cannot be read.
    """
    env = os.environ if environ is None else environ
    file = _read(Path(path))
    names = [table["key_env"] for _, table in file.apps if "key_env" in table]
    if missing := [name for name in dict.fromkeys(names) if not env.get(name)]:
        raise RequestInvalidError(f"{path}: the environment lacks {', '.join(missing)}")
    return [_app(file, place, table, env) for place, table in file.apps]


def read_app(path: str | PathLike[str], name: str, environ: Mapping[str, str] | None = None) -> AppExport:
    """Return the app of a file that has a name, or else the id `name`; no other app's key is read.

    Errors are those of `read_apps`, and `RequestInvalidError` where there is no such app.
    """
    file = _read(Path(path))
    for member in ("name", "id"):
        for place, table in file.apps:
            if table.get(member) == name:
                return _app(file, place, table, os.environ if environ is None else environ)
    known = _names(file)
    near = ", ".join(get_close_matches(name, known, 3) or known[:5])
    raise RequestInvalidError(f"{path}: no app is called {shown(name)}: expected is one such as {near}")


def app_names(path: str | PathLike[str]) -> list[str]:
    """Return the names of a file's apps, of one without a name its id; errors as those of `read_apps`."""
    return _names(_read(Path(path)))


@final
class _AppFile(NamedTuple):
    path: Path
    owner: os.stat_result
    """Who owns the file, and who may read and write it."""
    apps: list[tuple[str, dict[str, Any]]]
    """The words for the place of each app, and its table, whose members are checked."""


def _names(file: _AppFile) -> list[str]:
    return [table.get("name") or table["id"] for _, table in file.apps]


def _read(path: Path) -> _AppFile:
    tables, lines, owner = _tables(path)
    places = [_place(path, number, lines, table) for number, table in enumerate(tables, 1)]
    for place, table in zip(places, tables, strict=True):
        _check_members(place, table)
    check_names([table["id"] for table in tables], places)
    named = [(place, table["name"]) for place, table in zip(places, tables, strict=True) if "name" in table]
    check_names([name for _, name in named], [place for place, _ in named], member="name")
    return _AppFile(path, owner, list(zip(places, tables, strict=True)))


def check_names(names: Sequence[str], places: Sequence[str], *, member: str = "id") -> None:
    """Refuse two apps with one name, or with one folder on a disk that ignores case."""
    seen: dict[str, str] = {}
    for name, place in zip(names, places, strict=True):
        first = seen.setdefault(name.lower(), place)
        if first is not place:
            raise RequestInvalidError(
                f"{place}: {member} = {name!r} is also that of {first}: allowed is each app once"
            )


def _tables(file: Path) -> tuple[list[dict[str, Any]], list[int], os.stat_result]:
    """Return the tables of a file, the lines at which they begin as far as these are known, and its owner."""
    import tomllib  # 5 ms, and only this needs it

    with file.open("rb") as opened:
        data, owner = opened.read(), os.fstat(opened.fileno())
    try:
        text = data.decode()
        content = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise RequestInvalidError(f"{file}: byte {error.start} is not UTF-8: allowed is TOML") from None
    except tomllib.TOMLDecodeError as error:
        raise RequestInvalidError(f"{file}: {error}: allowed is TOML") from None
    if unknown := sorted(content.keys() - {"app"}):
        raise RequestInvalidError(f"{file}: {unknown[0]} is not known: allowed are tables [[app]]")
    tables = content.get("app")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise RequestInvalidError(f"{file} has no app: allowed are tables [[app]] with id and key_env")
    return tables, [text.count("\n", 0, match.end()) + 1 for match in _HEADER.finditer(text)], owner


def _place(file: Path, number: int, lines: Sequence[int], table: Mapping[str, Any]) -> str:
    """Return words for an app of a file, such as `apps.toml, line 7, app 2`."""
    line = f", line {lines[number - 1]}" if number <= len(lines) else ""
    return f"{file}{line}, app {number}"


def _check_members(place: str, table: Mapping[str, Any]) -> None:
    for name in table:
        if name not in _MEMBERS:
            hint = f"; a key is given by one of {', '.join(_KEYS)}" if "key" in name else ""
            raise RequestInvalidError(
                f"{place}: {name} is not known: allowed are {', '.join(_MEMBERS)}{hint}"
            )
    if "id" not in table:
        raise RequestInvalidError(f"{place}: id is missing")
    sources = [name for name in _KEYS if name in table]
    if len(sources) != 1:
        found = f"{' and '.join(sources)} are given" if sources else "key_env is missing"
        raise RequestInvalidError(f"{place}: {found}: expected is one of {', '.join(_KEYS)}")
    for name in _TEXTS:
        if not isinstance(value := table.get(name, "-"), str) or not value:
            given = "" if name == "key" else f" = {description(value)}"
            raise RequestInvalidError(f"{place}: {name}{given}: allowed is a text")
    if not _VARIABLE.fullmatch(table.get("key_env", "X")):  # not repeated: it may be the key itself
        raise RequestInvalidError(
            f"{place}: key_env: allowed is the name of an environment variable, such as CHATREST_KEY_SHOP"
        )


def _app(file: _AppFile, place: str, table: Mapping[str, Any], env: Mapping[str, str]) -> AppExport:
    options: dict[str, Any] = {
        name: table[name] for name in ("region", "service_domain", "base_url") if name in table
    }
    if "service_domain" not in table and "base_url" not in table:
        options["service_domain"] = env.get("CHATREST_SERVICE_DOMAIN") or None
        options["base_url"] = env.get("CHATREST_BASE_URL") or None
    failure = ""
    try:
        options["allow_http"] = allows_http(env)
        source = next(name for name in _KEYS if name in table)
        app = App(table["id"], _READERS[source](file, table[source], env), **options)
        _ = app.chat_url
        key_file = str(_key_path(file, table["key_file"])) if source == "key_file" else None
        return AppExport(app, _plan(table.get("plan")), table.get("key_env"), table.get("name"), key_file)
    except RequestInvalidError as error:
        failure = str(error)
    raise RequestInvalidError(f"{place}: {failure}")


# ── where a key comes from; no error repeats what may be one ──


def _variable(name: str, env: Mapping[str, str]) -> str:
    if key := env.get(name):
        return key
    raise RequestInvalidError(f"the environment lacks {name}")


def _key_path(file: _AppFile, name: str) -> Path:
    return file.path.absolute().parent / expanduser(name)  # noqa: PTH111


def _file_text(path: Path) -> str:
    try:
        key = path.read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise RequestInvalidError(f"key_file: {path}: {reason}") from None
    if not key:
        raise RequestInvalidError(f"key_file: {path} is empty")
    return key


def _key_of_program(file: _AppFile, command: Any, _: Mapping[str, str]) -> str:
    try:
        arguments = shlex.split(command) if isinstance(command, str) else command
    except ValueError:  # a quotation without its end
        arguments = None
    is_list = isinstance(arguments, list) and all(isinstance(each, str) for each in arguments)
    if not arguments or not is_list:
        raise RequestInvalidError("key_command: allowed is the text of a command, or a list of its arguments")
    may_be_written = file.owner.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if os.name == "posix" and (may_be_written or file.owner.st_uid not in (0, os.getuid())):
        raise RequestInvalidError(
            f"key_command: others may write {file.path}: expected is a file of yours that only you may write"
        )
    try:
        # Without standard input: that may be what the command reads.
        done = subprocess.run(  # noqa: S603 - the user's own file names the program
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise RequestInvalidError(f"key_command: no end within {_PATIENCE:.0f} s") from None
    except OSError as error:
        raise RequestInvalidError(f"key_command: {arguments[0]}: {error.strerror}") from None
    key = done.stdout.decode("utf-8", "replace").strip().partition("\n")[0].strip()
    if done.returncode or not key:
        found = f"it ended with status {done.returncode}" if done.returncode else "it printed nothing"
        raise RequestInvalidError(f"key_command: {found}: expected is a program that prints the key")
    return key


def _key_of_text(file: _AppFile, key: str, _: Mapping[str, str]) -> str:
    if file.owner.st_mode & _OTHERS:
        mode = stat.S_IMODE(file.owner.st_mode)
        raise RequestInvalidError(
            f"key: others may read {file.path} (mode {mode:04o}): a key in the file needs mode 0600 "
            "(chmod 600); else give key_env, key_file or key_command"
        )
    return key


_READERS: Final[Mapping[str, Callable[[_AppFile, Any, Mapping[str, str]], str]]] = {
    "key_env": lambda _, name, env: _variable(name, env),
    "key_file": lambda file, name, _: _file_text(_key_path(file, name)),
    "key_command": _key_of_program,
    "key": _key_of_text,
}


def _plan(table: object) -> Plan | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        raise RequestInvalidError(f"plan = {description(table)}: allowed is a table [app.plan]")
    for name in table:
        if name not in _PLAN_MEMBERS:
            raise RequestInvalidError(f"plan.{name} is not known: allowed are {', '.join(_PLAN_MEMBERS)}")
    return Plan(**table)
