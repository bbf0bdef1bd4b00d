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

The key itself is never in the file of apps.
"""

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from ..._secrets import repr_of
from ...app import App, allows_http
from ...errors import RequestInvalidError
from .export_plan import FIELDS, Plan, any_of

_Text: TypeAlias = Annotated[str, Meta(min_length=1)]
_Variable: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]{0,99}$")]


class AppExport(Struct, frozen=True):
    """An app of a file, and what to export of it."""

    app: App
    plan: Plan | None = None
    """None for the plan of the run, or of the app's folder."""
    key_env: str | None = None
    """The name of the environment variable that has the key, for messages."""
    name: str | None = None
    """Its name in the file; None if it has its id alone."""


def read_apps(path: str | PathLike[str], environ: Mapping[str, str] | None = None) -> list[AppExport]:
    """Return the apps of a file, with their keys.

    Raises `RequestInvalidError`, which names the app, what is wrong and what is allowed; all
    variables that are missing are in one.
    """
    env = os.environ if environ is None else environ
    apps = _read(Path(path))
    names = [table.key_env for _, table in apps]
    if missing := [name for name in dict.fromkeys(names) if not env.get(name)]:
        raise RequestInvalidError(f"{path}: the environment lacks {', '.join(missing)}")
    return [_app(place, table, env) for place, table in apps]


def read_app(path: str | PathLike[str], name: str, environ: Mapping[str, str] | None = None) -> AppExport:
    """Return the app of a file that has a name, or else the id `name`; no other app's key is read.

    Errors are those of `read_apps`, and `RequestInvalidError` where there is no such app.
    """
    apps = _read(Path(path))
    for member in ("name", "id"):
        for place, table in apps:
            if getattr(table, member) == name:
                return _app(place, table, os.environ if environ is None else environ)
    known = [table.name or table.id for _, table in apps]
    near = ", ".join(get_close_matches(name, known, 3) or known[:5])
    raise RequestInvalidError(f"{path}: no app is called {repr_of(name)}: expected one such as {near}")


class _Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: _Text
    name: _Text | None = None
    region: _Text = "us"
    key_env: _Variable
    service_domain: _Text | None = None
    base_url: _Text | None = None
    plan: dict[str, Any] | None = None


class _Tables(Struct, frozen=True, forbid_unknown_fields=True):
    app: Annotated[list[_Table], Meta(min_length=1)]


def _read(path: Path) -> list[tuple[str, _Table]]:
    """Return the words for the place of each app, and its table."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RequestInvalidError(f"{path}: {error.strerror or error}: expected a file of apps") from None
    try:
        tables = msgspec.toml.decode(data, type=_Tables).app
    except UnicodeDecodeError as error:
        raise RequestInvalidError(f"{path}: byte {error.start} is not UTF-8: expected TOML") from None
    except msgspec.ValidationError as error:  # which names types and places, and no value: it may be a key
        raise RequestInvalidError(f"{path}: {error}: expected tables [[app]] with id and key_env") from None
    except msgspec.DecodeError as error:
        raise RequestInvalidError(f"{path}: {error}: expected TOML") from None
    places = [f"{path}, app {number}" for number in range(1, len(tables) + 1)]
    apps = list(zip(places, tables, strict=True))
    check_names([table.id for table in tables], places)
    named = [(place, table.name) for place, table in apps if table.name is not None]
    check_names([name for _, name in named], [place for place, _ in named], member="name")
    return apps


def check_names(names: Sequence[str], places: Sequence[str], *, member: str = "id") -> None:
    """Refuse two apps with one name, or with one folder on a disk that ignores case."""
    first_places: dict[str, str] = {}
    for name, place in zip(names, places, strict=True):
        first = first_places.setdefault(name.lower(), place)
        if first is not place:
            raise RequestInvalidError(
                f"{place}: {member} = {name!r} is also that of {first}: expected each app once"
            )


def _app(place: str, table: _Table, env: Mapping[str, str]) -> AppExport:
    domain, base_url = table.service_domain, table.base_url
    if domain is None and base_url is None:
        domain = env.get("CHATREST_SERVICE_DOMAIN") or None
        base_url = env.get("CHATREST_BASE_URL") or None
    failure = ""
    try:
        if not (key := env.get(table.key_env)):
            raise RequestInvalidError(f"the environment lacks {table.key_env}")
        app = App(
            table.id, key, table.region, service_domain=domain, base_url=base_url, allow_http=allows_http(env)
        )
        _ = app.chat_url
        return AppExport(app, _plan(table.plan), table.key_env, table.name)
    except RequestInvalidError as error:
        failure = str(error)
    raise RequestInvalidError(f"{place}: {failure}")


def _plan(table: dict[str, Any] | None) -> Plan | None:
    if table is None:
        return None
    for name in table:
        if name not in FIELDS:
            raise RequestInvalidError(f"plan.{name} is not known: expected {any_of(FIELDS)}")
    return Plan(**table)
