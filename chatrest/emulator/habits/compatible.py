"""A compatible server: the documented service behind rewritten requests and replies.

Rules:
- The acting user of the header `onBehalfOf` is ignored. What needs a user is done as the user of the login
  token in the header `authtoken`; all else, beside an API key, with the rights of the app.
- A login token may be in the place of the key: then its user does everything.
- What is a matter of values, and what makes records, is in `records`.
"""

from collections.abc import Callable
from typing import Any, Final, final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from msgspec.json import decode, encode

from ..service.context import Context, Outgoing as Reply, ServiceRequest as Request
from ..service.dispatch import HANDLERS, Keys, Service
from ..service.events import Event
from ..service.refusals import ServiceRefusal as Refusal, refused
from ..service.router import ROUTER, Route
from .message_lists import LISTS
from .records import (
    ABSENT_IS_EMPTY,
    COLLECTIONS,
    CREATIONS,
    DEFAULT_SIZE,
    ERRORS,
    IGNORED,
    IGNORED_BY_MESSAGES,
    LARGEST_PAGE,
    MESSAGE_LISTS,
    PAGE_CAPS,
    RENAMED,
    SHAPES,
    SIZES,
    WITHOUT_META,
    About,
    OtherError,
    as_it_is,
    conversation_name,
)

_REACTIONS: Final = frozenset(PAGE_CAPS)


@final
class CompatibleService:
    """A compatible server over the store of `context`; `publish` is called with each event."""

    def __init__(
        self,
        context: Context,
        keys: Keys,
        publish: Callable[[Event], None] = lambda _: None,
        only_app: str | None = None,
    ) -> None:
        self._service = Service(context, keys, publish, {**HANDLERS, **LISTS}, only_app)
        self._context, self._key = context, keys.full_access

    def answer(self, request: Request) -> Reply:
        route = ROUTER.route(request.method, request.path)
        name = route.endpoint.name if route else ""
        try:
            if route is None or name.partition(".")[0] not in COLLECTIONS:
                raise refused("ERR_API_NOT_FOUND", request.method, request.path)
            reader = self._reader(request)
            body = self._service.process(self._rewritten(request, route, reader))
        except Refusal as refusal:
            if name in ABSENT_IS_EMPTY and refusal.status in (403, 404):
                return Reply(200, b'{"data":{}}')
            return _error(refusal)
        about = About(self._context, route.parameters, reader)
        return Reply(201 if name in CREATIONS else 200, _shaped(name, about, request, body))

    def _reader(self, request: Request) -> str | None:
        """Return the user of the login token; None if there is no token, 401 for a wrong one."""
        if not (token := request.headers.get("authtoken")):
            return None
        owner = self._context.store.auth_tokens.owner(token)
        if owner is None:
            raise refused("AUTH_ERR_AUTH_TOKEN_NOT_FOUND")
        return owner

    def _rewritten(self, request: Request, route: Route, reader: str | None) -> Request:
        endpoint, headers = route.endpoint, dict(request.headers)
        headers.pop("onbehalfof", None)
        is_conversation = endpoint.name.startswith("conversations.")
        needs_user = endpoint.acting == "required" or is_conversation or endpoint.name in MESSAGE_LISTS
        if needs_user and reader is None and "apikey" in headers:
            raise Refusal(401, "ERR_NO_AUTH", "A login token of the acting user is missing: authtoken.")
        if reader is not None and (needs_user or "apikey" not in headers):
            headers["onbehalfof"] = reader
            headers.setdefault("apikey", self._key)
        path, query = request.path, parse_qsl(request.query, keep_blank_values=True, errors="replace")
        if reader is not None and "conversationId" in route.parameters:
            inner = self._conversation(reader, route.parameters["conversationId"])
            path = f"{path.rpartition('/')[0]}/{quote(inner, safe='')}"
        if request.method == "GET":
            query = [(name, self._value(name, value, reader)) for name, value in _pairs(endpoint.name, query)]
        return request._replace(path=path, query=urlencode(query), headers=headers)

    def _value(self, name: str, value: str, reader: str | None) -> str:
        return self._conversation(reader, value) if reader and name == "conversationId" else value

    def _conversation(self, reader: str, name: str) -> str:
        """Return the store's identifier of a conversation that a request names."""
        for view in self._context.store.views.all(reader) if name.startswith("user_") else ():
            if view.kind == "user" and conversation_name(reader, view.party) == unquote(name):
                return view.conversation
        return name


def _pairs(name: str, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    is_unread_count = name == "messages.list" and {"unread", "count"} <= {each for each, _ in pairs}
    ignored = IGNORED | (IGNORED_BY_MESSAGES if name in MESSAGE_LISTS else frozenset())
    if is_unread_count:
        ignored -= {"count"}
    renamed = RENAMED if name in _REACTIONS else {}
    size = next((value for each, value in reversed(pairs) if each in SIZES), str(DEFAULT_SIZE))
    if size.isascii() and size.isdecimal():
        size = str(min(int(size), PAGE_CAPS.get(name, LARGEST_PAGE)))
    kept = [
        (renamed.get(each, each), value)
        for each, value in pairs
        if each not in SIZES and each.removesuffix("[]") not in ignored
    ]
    return [*kept, ("limit", size), ("perPage", size)]


def _error(refusal: Refusal) -> Reply:
    other = ERRORS.get(refusal.code, OtherError(refusal.status, refusal.code))
    error = {
        "code": other.code,
        "name": "ChatApiError",
        "message": refusal.error["message"],
        "details": refusal.error["details"],
    }
    return Reply(other.status, encode({"error": error}))


def _shaped(name: str, about: About, request: Request, body: bytes) -> bytes:
    reply: dict[str, Any] = decode(body)
    shape, data = SHAPES.get(name, as_it_is), reply.get("data")
    if not isinstance(data, list):
        return encode(reply | {"data": shape(about, data)})
    members = {} if name in WITHOUT_META else {"meta": _meta(name, request, data, reply.get("meta") or {})}
    return encode({"data": [shape(about, record) for record in data]} | members)


def _meta(name: str, request: Request, records: list[Any], meta: dict[str, Any]) -> dict[str, Any]:
    query = dict(parse_qsl(request.query, errors="replace"))
    if name in _REACTIONS:
        return _reaction_meta(records, meta)
    asked, page = int(query.get("limit") or query.get("per_page") or DEFAULT_SIZE), query.get("page", "")
    may_go_on = len(records) >= min(asked, LARGEST_PAGE)
    total = (int(page) if page.isdecimal() else 1) * asked + 1 if may_go_on else len(records)
    numbers = {"total": total, "count": len(records), "per_page": asked, "current_page": 1, "total_pages": 1}
    return {"pagination": numbers} | {each: meta[each] for each in ("cursor",) if each in meta}


def _reaction_meta(records: list[Any], meta: dict[str, Any]) -> dict[str, Any]:
    """The position of a reaction list: `previous`, from its last record in the direction taken."""
    if not records:
        return {}
    edge, affix = int(records[-1]["id"]), meta["next"]["affix"]
    position = {"cursorField": "id", "cursorValue": edge, "cursorId": edge, "cursorAffix": affix}
    return {"previous": position | {"affix": affix}}
