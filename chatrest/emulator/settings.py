"""The arguments of an emulator, checked: errors name the argument that is wrong, and what is allowed."""

import re
from collections.abc import Awaitable, Callable, Sequence
from os import PathLike
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..core.requests.hosts import check_key
from ..errors import RequestInvalidError
from .habits import HABITS, HabitsName
from .service.context import DIALECTS, LIST_ORDERS, PAGE_ORDERS, Dialect, ListOrder, PageFormat, PageOrder
from .service.dispatch import Keys

Dialects: TypeAlias = Literal["documented", "cursor", "next"]

_DOCUMENTED: Final[tuple[Dialect, Dialect]] = ("cursor", "next")


class Sizes(Struct, frozen=True):
    """Sizes and seed of the generated data."""

    users: int
    messages: int
    seed: int
    groups: int


class Settings(Struct, frozen=True):
    """The other arguments of an emulator, checked."""

    host: str
    port: int
    database: str | PathLike[str] | None
    app_id: str
    only_app: str | None
    """The only app that is served; None for every one."""
    keys: Keys
    habits: HabitsName
    clocks: tuple[int, ...]
    formats: tuple[PageFormat, PageFormat]
    """Of GET /users/{uid}/messages, and of the other message lists."""
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]


def checked_sizes(users: int, messages: int, seed: int, groups: int) -> Sizes:
    """Return the sizes; messages need two users."""
    sizes = Sizes(
        users=whole_number("users", users, 10**6),
        messages=whole_number("messages", messages, 10**8),
        seed=whole_number("seed", seed, 2**63),
        groups=whole_number("groups", groups, 10**5),
    )
    if messages and users < 2:
        raise RequestInvalidError(
            f"users = {users}: messages need 2 users at least; give messages=0 for none"
        )
    return sizes


def checked_keys(api_key: str, auth_only_key: str, management_key: str, management_secret: str) -> Keys:
    """Return the keys, which must be able to stand in a header."""
    names = ("api_key", "auth_only_key", "management_key", "management_secret")
    keys = (api_key, auth_only_key, management_key, management_secret)
    checked = Keys(*(check_key(name, key) for name, key in zip(names, keys, strict=True)))
    if api_key == auth_only_key:
        raise RequestInvalidError("auth_only_key: allowed is any key but api_key")
    return checked


def checked_formats(
    dialect: Dialects, page_order: PageOrder, list_order: ListOrder
) -> tuple[PageFormat, PageFormat]:
    """Return the formats of GET /users/{uid}/messages, and of the other message lists."""
    _check_choice("dialect", dialect, DIALECTS)
    _check_choice("page_order", page_order, PAGE_ORDERS)
    _check_choice("list_order", list_order, LIST_ORDERS)
    users, others = _DOCUMENTED if dialect == "documented" else (dialect, dialect)
    return PageFormat(users, page_order, list_order), PageFormat(others, page_order, list_order)


def checked_host(host: object) -> str:
    if isinstance(host, str) and re.fullmatch(r"[0-9A-Za-z.:-]+", host):
        return host
    raise RequestInvalidError(f"host = {host!r}: allowed is a name or an address, such as 0.0.0.0")


def checked_habits(habits: HabitsName) -> HabitsName:
    _check_choice("habits", habits, HABITS)
    return habits


def checked_clocks(clocks: Sequence[int]) -> tuple[int, ...]:
    """Return how many seconds each clock is ahead."""
    if not isinstance(clocks, tuple | list) or not all(
        type(each) is int and abs(each) <= 10**9 for each in clocks
    ):
        raise RequestInvalidError(f"clocks = {clocks!r}: allowed are whole numbers of seconds")
    return tuple(clocks)


def whole_number(name: str, value: object, most: int) -> int:
    """Return `value` if it is a whole number from 0 to `most`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise RequestInvalidError(f"{name} = {value!r}: allowed is a whole number from 0 to {most}")
    return value


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise RequestInvalidError(f"{name} = {value!r}: allowed are {', '.join(allowed)}")


def checked_path(database: object) -> str | PathLike[str] | None:
    if database is None or isinstance(database, PathLike) or (isinstance(database, str) and database):
        return database
    raise RequestInvalidError(f"database = {database!r}: allowed is the path of a file, or None")
