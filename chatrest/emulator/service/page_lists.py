"""The lists that go by page number: users and apps (operations table, users.list and apps.list)."""

from collections.abc import Mapping
from typing import Any

from msgspec.json import encode

from ..store.directory import People
from .arguments import Arguments
from .message_pages import enveloped, pagination


def users(people: People, query: Arguments) -> bytes:
    """A page of users: `meta.pagination`, and `cursor {updatedAt, affix}` beside `meta`.

    `searchKey` matches the beginning of uid or name (or of what `searchIn` names), without regard to
    case; one of `tags` and one of `roles` must match; users switched off are left out unless asked for.
    `count=true` leaves the records out: `meta.pagination.total` is the count (the specification names no
    shape).
    """
    where, values = _users_where(query)
    page, size = query.number("page", 1, 10**9) or 1, query.number("perPage", 1, 1000) or 100
    with_tags, count = query.flag("withTags"), query.flag("count")
    query.check()
    found = people.list_users(where, values, page=page, size=size, with_tags=with_tags)
    rows = [] if count else found.rows
    rest: dict[str, Any] = {"meta": {"pagination": pagination(found.total, len(rows), size, page)}}
    if rows:
        rest["cursor"] = {"updatedAt": found.updated_at, "affix": "append"}
    return enveloped(rows, rest)


def _users_where(query: Arguments) -> tuple[str, tuple[Any, ...]]:
    terms: list[tuple[str, tuple[Any, ...]]] = [("1", ())]
    if query.flag("onlyDeactivated"):
        terms.append(("deactivated", ()))
    elif not query.flag("withDeactivated"):
        terms.append(("NOT deactivated", ()))
    if status := query.choice("status", ("available", "offline")):
        terms.append(("status = ?", (status,)))
    if role := query.text("role"):
        terms.append(("role = ?", (role,)))
    if roles := query.texts("roles"):
        terms.append((f"role IN ({','.join('?' * len(roles))})", roles))
    if tags := query.texts("tags"):
        terms.append((_TAGGED.replace("MARKS", ",".join("?" * len(tags))), tags))
    columns = query.texts("searchIn", ("uid", "name")) or ("uid", "name")
    if text := query.text("searchKey"):
        # Not LIKE: an underscore in a uid is no wildcard.
        found = " OR ".join(f"instr(folded_{column}, ?) = 1" for column in columns if column in _FOLDED)
        terms.append((f"({found or 0})", (text.casefold(),) * found.count("?")))
    sql = " AND ".join(sql for sql, _ in terms)
    return sql, tuple(value for _, values in terms for value in values)


_FOLDED = ("uid", "name")
_TAGGED = "EXISTS (SELECT 1 FROM json_each(tags) WHERE value IN (MARKS))"


def apps(app: Mapping[str, Any], query: Arguments) -> bytes:
    """The one app, on the first page, where `searchKey` begins its id or name or is absent."""
    page, size = query.number("page", 1, 10**9) or 1, query.number("perPage", 1, 1000) or 25
    text = (query.text("searchKey") or "").casefold()
    query.check()
    found = [app] if any(str(app[name]).casefold().startswith(text) for name in ("id", "name")) else []
    rows = [encode(record) for record in found] if page == 1 else []
    return enveloped(rows, {"meta": {"pagination": pagination(len(found), len(rows), size, page)}})
