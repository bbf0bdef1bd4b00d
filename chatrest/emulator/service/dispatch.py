"""One request to one reply, without a socket: keys, the operation, the acting user, its handler.

- The key is checked first, then the path, then the acting user, then the query and the body.
- `authOnly` keys may create users and auth tokens and nothing else.
- A path is split before it is decoded, so `a%2Fb` is one segment and `..` is only a name. A literal segment
  wins over a parameter; an empty one is no parameter: `/users/` is not `/users/{uid}`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from msgspec.json import encode

from ..._core.replies.decode import ManyRecords
from ..._core.requests.endpoint import Acting, Endpoint, RateClass
from ..._resources import OPERATIONS
from . import administering, conversations, data_import, groups, message_lists, messages, users
from .administering import document_path, key_member, key_scope, prepare
from .arguments import read_body, read_query
from .context import Context, Handler, OutgoingReply, ServiceCall, ServiceRequest
from .refusals import ServiceRefusal, bad_request, refused
from .replies import form_of, paged
from .users import no_such_user

HANDLERS: Final[Mapping[str, Handler]] = {
    **administering.HANDLERS,
    **conversations.HANDLERS,
    **data_import.HANDLERS,
    **groups.HANDLERS,
    **message_lists.HANDLERS,
    **messages.HANDLERS,
    **users.HANDLERS,
}
_FORMS: Final = {
    name: form_of(endpoint, key_member(document_path(endpoint).collection))
    for name, endpoint in OPERATIONS.items()
    if isinstance(endpoint.reply, ManyRecords)
}


_BASES: Final = {"chat": "v3", "calls": "v3", "management": "management"}


class Route(NamedTuple):
    """The operation that a request asks for, and what its path says."""

    endpoint: Endpoint[Any]
    parameters: Mapping[str, str]


class Router:
    def __init__(self, endpoints: Iterable[Endpoint[Any]]) -> None:
        self._endpoints = {f"_{number}": each for number, each in enumerate(endpoints)}
        paths: dict[tuple[str, str, str], list[tuple[list[bool], str]]] = {}
        for name, each in self._endpoints.items():
            segments = each.path[1:].split("/")
            pattern = "/".join("([^/]+)" if segment[0] == "{" else re.escape(segment) for segment in segments)
            # The group at the end says which operation it is.
            row = [segment[0] == "{" for segment in segments], f"{pattern}(?P<{name}>)"
            paths.setdefault((_BASES[each.interface], each.method, segments[0]), []).append(row)
        self._patterns = {
            place: re.compile("|".join(pattern for _, pattern in sorted(rows)))
            for place, rows in paths.items()
        }

    def route(self, method: str, path: str) -> Route | None:
        """Return the operation at `path`, as sent, with the base's own segment; None if there is none."""
        base, _, path = path.removeprefix("/").partition("/")
        pattern = self._patterns.get((base, method, path.partition("/")[0]))
        match = None if pattern is None else pattern.fullmatch(path)
        if match is None:
            return None
        endpoint, end = self._endpoints[str(match.lastgroup)], match.lastindex or 0
        values = (unquote(match[index]) for index in range(end - len(endpoint.parameters), end))
        return Route(endpoint, dict(zip(endpoint.parameters, values, strict=True)))


ROUTER: Final = Router(OPERATIONS.values())


def rate_class(method: str, path: str) -> RateClass:
    """Return the class of the operation at `path`; for a path of none, import below data_import, else
    standard.
    """
    if route := ROUTER.route(method, path):
        return route.endpoint.rate_class
    return "import" if path.removeprefix("/").split("/")[1:2] == ["data_import"] else "standard"


class Keys(NamedTuple):
    """The credentials that the service accepts."""

    full_access: str
    auth_only: str
    management: str
    secret: str


class Service:
    """The documented service over the store of `context`.

    A request that names another app than `only_app` is answered 401; None serves every app.
    """

    def __init__(self, context: Context, keys: Keys, only_app: str | None = None) -> None:
        self._context = context
        self._keys = keys
        self._only_app = only_app
        prepare(context.store, dict(context.app), keys.full_access, keys.auth_only)

    def answer(self, request: ServiceRequest) -> OutgoingReply:
        try:
            return OutgoingReply(200, self._process(request))
        except ServiceRefusal as refusal:
            return OutgoingReply(refusal.status, refusal.body)

    def _process(self, request: ServiceRequest) -> bytes:
        """Return the body of a 200, or raise a refusal."""
        scope = self._scope(request)
        route = ROUTER.route(request.method, request.path)
        if route is None:
            raise refused("ERR_API_NOT_FOUND", request.method, request.path)
        endpoint, context = route.endpoint, self._context
        if scope != "fullAccess" and endpoint.name not in ("users.create", "auth_tokens.create"):
            raise refused("AUTH_ERR_NO_ACCESS")
        acting_user = self._acting_user(endpoint.acting, request)
        try:
            query = read_query(request.query, endpoint)
            body = read_body(request.body, request.headers.get("content-type", ""), endpoint)
            call = ServiceCall(
                context.store,
                context.app,
                context.clock,
                endpoint,
                route.parameters,
                query,
                acting_user,
                body,
            )
            result = HANDLERS[endpoint.name](call)
            if endpoint.name in _FORMS and not isinstance(result, bytes):
                result = paged(query, result, _FORMS[endpoint.name])
        except ServiceRefusal as refusal:
            refusal.is_at_root = endpoint.name.startswith("agents.")
            raise
        return result if isinstance(result, bytes) else encode({"data": result})

    def _scope(self, request: ServiceRequest) -> str:
        """Return the scope of the request's key; 401 for a key, or an app, that is missing or wrong."""
        base, headers = request.path.removeprefix("/").partition("/")[0], request.headers
        credentials = headers.get("key"), headers.get("secret")
        # An app's own key is unknown to the management interface, and so is the path.
        is_other = base == "management" and credentials == (None, None) and "apikey" in headers
        if base not in ("v3", "management") or is_other:
            raise refused("ERR_API_NOT_FOUND", request.method, request.path)
        if base == "management":
            if None in credentials:
                raise refused("AUTH_ERR_EMPTY_AUTH_HEADER")
            if credentials != (self._keys.management, self._keys.secret):
                raise refused("AUTH_ERR_APIKEY_NOT_FOUND", "management key or secret")
            return "fullAccess"
        app_id = headers.get("appid")
        if None not in (app_id, self._only_app) and app_id != self._only_app:
            raise refused("AUTH_ERR_INVALID_APPID", app_id)
        if not headers.get("apikey"):
            raise refused("AUTH_ERR_EMPTY_APIKEY")
        return key_scope(self._context.store, headers["apikey"])

    def _acting_user(self, acting: Acting, request: ServiceRequest) -> str | None:
        """Return the user in `onBehalfOf`: 404 for an unknown one, 400 where a required one is missing."""
        if acting == "never":
            return None
        # Bytes of a header that are not UTF-8 come as lone surrogates, which are no text to a database.
        uid = request.headers.get("onbehalfof", "").encode(errors="replace").decode()
        if not uid and acting == "required":
            raise bad_request({"onBehalfOf": ["The onBehalfOf header is required."]})
        people = self._context.store.people
        if uid and people.user(uid) is None:
            raise no_such_user(uid, people)
        return uid or None
