"""The file of apps that one run exports: TOML, a table an app, and never a key.

    [[app]]
    id = "2087654abc"
    region = "eu"                          # us (the default), eu or in
    key_env = "CHATREST_KEY_SHOP"          # the name of the environment variable that has the API key
    service_domain = "chat.example.com"    # or base_url; by default that of the environment

    [app.plan]                             # what to export, in place of the command's options
    since = 2026-01-01
    format = "parquet"

TOML, as people write and comment this file by hand, and the standard library reads it.
"""

import os
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..core.requests.hosts import App, allows_http
from ..errors import RequestInvalidError
from ..secrets import description
from .plan import Plan

_MEMBERS: Final = ("id", "region", "key_env", "service_domain", "base_url", "plan")
_PLAN_MEMBERS: Final = tuple(name for name in Plan.__struct_fields__ if name != "query")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_HEADER: Final = re.compile(r"^\s*\[\[\s*app\s*\]\]", re.MULTILINE)
_TEXTS: Final = ("id", "region", "key_env", "service_domain", "base_url")


class AppExport(Struct, frozen=True):
    """An app of a run, and what to export of it."""

    app: App
    plan: Plan | None = None
    """None for the plan of the run, or of the app's folder."""
    key_env: str | None = None
    """The name of the environment variable that has the key, for messages."""


def read_apps(path: str | PathLike[str], environ: Mapping[str, str] | None = None) -> list[AppExport]:
    """Return the apps of a file, with their keys from the environment.

    Raises `RequestInvalidError`, which names the line and the app, what is wrong and what is allowed; all
    variables that are missing are in one. Raises OSError for a file that cannot be read.
    """
    env = os.environ if environ is None else environ
    file = Path(path)
    tables, lines = _tables(file)
    places = [_place(file, number, lines, table) for number, table in enumerate(tables, 1)]
    for place, table in zip(places, tables, strict=True):
        _check_members(place, table)
    _check_variables(file, tables, env)
    apps = [_app(place, table, env) for place, table in zip(places, tables, strict=True)]
    check_names([each.app.app_id for each in apps], places)
    return apps


def check_names(app_ids: Sequence[str], places: Sequence[str]) -> None:
    """Refuse two apps with one folder; names are compared as a disk may do it that ignores case."""
    seen: dict[str, str] = {}
    for app_id, place in zip(app_ids, places, strict=True):
        first = seen.setdefault(app_id.lower(), place)
        if first is not place:
            raise RequestInvalidError(
                f"{place}: id = {app_id!r} is also that of {first}: allowed is each app once"
            )


def _tables(file: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the tables of a file, and the lines at which they begin as far as these are known."""
    import tomllib  # 5 ms, and only this needs it

    try:
        text = file.read_bytes().decode()
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
    return tables, [text.count("\n", 0, match.end()) + 1 for match in _HEADER.finditer(text)]


def _place(file: Path, number: int, lines: Sequence[int], table: Mapping[str, Any]) -> str:
    """Return words for an app of a file, such as `apps.toml, line 7, app 2`."""
    line = f", line {lines[number - 1]}" if number <= len(lines) else ""
    return f"{file}{line}, app {number}"


def _check_members(place: str, table: Mapping[str, Any]) -> None:
    for name in table:
        if name not in _MEMBERS:
            hint = (
                "; a key is never in the file, key_env is the name of its variable" if "key" in name else ""
            )
            raise RequestInvalidError(
                f"{place}: {name} is not known: allowed are {', '.join(_MEMBERS)}{hint}"
            )
    for name in ("id", "key_env"):
        if name not in table:
            raise RequestInvalidError(f"{place}: {name} is missing")
    for name in _TEXTS:
        if not isinstance(table.get(name, ""), str):
            raise RequestInvalidError(f"{place}: {name} = {description(table[name])}: allowed is a text")
    if not _VARIABLE.fullmatch(table["key_env"]):  # the value is not repeated: it may be the key itself
        raise RequestInvalidError(
            f"{place}: key_env: allowed is the name of an environment variable, such as CHATREST_KEY_SHOP"
        )


def _check_variables(file: Path, tables: Sequence[Mapping[str, Any]], env: Mapping[str, str]) -> None:
    names = dict.fromkeys(table["key_env"] for table in tables)
    if missing := [name for name in names if not env.get(name)]:
        raise RequestInvalidError(f"{file}: the environment lacks {', '.join(missing)}")


def _app(place: str, table: Mapping[str, Any], env: Mapping[str, str]) -> AppExport:
    options: dict[str, Any] = {
        name: table[name] for name in ("region", "service_domain", "base_url") if name in table
    }
    if "service_domain" not in table and "base_url" not in table:
        options["service_domain"] = env.get("CHATREST_SERVICE_DOMAIN") or None
        options["base_url"] = env.get("CHATREST_BASE_URL") or None
    failure = ""
    try:
        options["allow_http"] = allows_http(env)
        app = App(table["id"], env[table["key_env"]], **options)
        _ = app.chat_url
        return AppExport(app, _plan(table.get("plan")), table["key_env"])
    except RequestInvalidError as error:
        failure = str(error)
    raise RequestInvalidError(f"{place}: {failure}")


def _plan(table: object) -> Plan | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        raise RequestInvalidError(f"plan = {description(table)}: allowed is a table [app.plan]")
    for name in table:
        if name not in _PLAN_MEMBERS:
            raise RequestInvalidError(f"plan.{name} is not known: allowed are {', '.join(_PLAN_MEMBERS)}")
    return Plan(**table)
