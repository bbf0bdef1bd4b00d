"""One request to one reply, without a socket: keys, the operation, the acting user, its handler.

- The key is checked first, then the path, then the acting user, then the query and the body.
- Keys of the scope `authOnly` may create users and auth tokens and nothing else.
- A path is split before it is decoded, so `a%2Fb` is one segment and `..` is only a name. A literal segment
  goes before a parameter. An empty segment is no parameter: `/users/` is not `/users/{uid}`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from msgspec.json import encode

from ..._core.replies.decode import ManyRecords
from ..._core.requests.endpoint import Acting, Endpoint, RateClass
from ..._resources import OPERATIONS
from . import (
    administration,
    conversations,
    data_import,
    groups,
    message_lists,
    message_sending,
    messages,
    users,
)
from .administration import add_first_documents, key_scope
from .document_operations import document_path, key_member
from .handler_input import Context, Handler, OutgoingReply, ServiceCall, ServiceRequest, read_body, read_query
from .refusals import ServiceRefusal, bad_request, refusal
from .reply_forms import encode_page, form_of
from .users import no_such_user

HANDLERS: Final[Mapping[str, Handler]] = {
    **administration.HANDLERS,  # of all operations: the others replace some of these
    **conversations.HANDLERS,
    **data_import.HANDLERS,
    **groups.HANDLERS,
    **message_lists.HANDLERS,
    **message_sending.HANDLERS,
    **messages.HANDLERS,
    **users.HANDLERS,
}
_FORMS: Final = {
    name: form_of(endpoint, key_member(document_path(endpoint).collection))
    for name, endpoint in OPERATIONS.items()
    if isinstance(endpoint.reply, ManyRecords)
}
_AUTH_ONLY_OPERATIONS: Final = ("users.create", "auth_tokens.create")
_BASES: Final = {"chat": "v3", "calls": "v3", "management": "management"}


class Route(NamedTuple):
    endpoint: Endpoint[Any]
    parameters: Mapping[str, str]


class Router:
    def __init__(self, endpoints: Iterable[Endpoint[Any]]) -> None:
        self._patterns: dict[tuple[str, str, str], list[tuple[re.Pattern[str], Endpoint[Any]]]] = {}
        # A parameter's "{" is after all letters, so that a literal segment is tried before a parameter.
        for endpoint in sorted(endpoints, key=lambda each: each.path):
            segments = endpoint.path[1:].split("/")
            pattern = "/".join("([^/]+)" if segment[0] == "{" else re.escape(segment) for segment in segments)
            key = _BASES[endpoint.interface], endpoint.method, segments[0]
            self._patterns.setdefault(key, []).append((re.compile(pattern), endpoint))

    def route(self, method: str, path: str) -> Route | None:
        """Return the operation at `path`, as sent, with the base's own segment; None if there is none."""
        base, _, path = path.removeprefix("/").partition("/")
        for pattern, endpoint in self._patterns.get((base, method, path.partition("/")[0]), ()):
            if match := pattern.fullmatch(path):
                values = map(unquote, match.groups())
                return Route(endpoint, dict(zip(endpoint.parameters, values, strict=True)))
        return None


ROUTER: Final = Router(OPERATIONS.values())


def rate_class(method: str, path: str) -> RateClass:
    route = ROUTER.route(method, path)
    return "standard" if route is None else route.endpoint.rate_class


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
        self._context, self._keys, self._only_app = context, keys, only_app
        add_first_documents(context, {"fullAccess": keys.full_access, "authOnly": keys.auth_only})

    def answer(self, request: ServiceRequest) -> OutgoingReply:
        try:
            return OutgoingReply(200, self._process(request))
        except ServiceRefusal as error:
            return OutgoingReply(error.status, error.body)

    def _process(self, request: ServiceRequest) -> bytes:
        scope = self._scope(request)
        route = ROUTER.route(request.method, request.path)
        if route is None:
            raise refusal("ERR_API_NOT_FOUND", request.method, request.path)
        endpoint, path = route
        if scope != "fullAccess" and endpoint.name not in _AUTH_ONLY_OPERATIONS:
            raise refusal("AUTH_ERR_NO_ACCESS")
        actor, context = self._acting_user(endpoint.acting, request), self._context
        try:
            query = read_query(request.query, endpoint)
            body = read_body(request.body, request.headers.get("content-type", ""), endpoint)
            call = ServiceCall(context.store, context.app, context.clock, endpoint, path, query, actor, body)
            result = HANDLERS[endpoint.name](call)
            if endpoint.name in _FORMS and not isinstance(result, bytes):
                result = encode_page(query, result, _FORMS[endpoint.name])
        except ServiceRefusal as error:
            error.is_at_root = endpoint.name.startswith("agents.")
            raise
        return result if isinstance(result, bytes) else encode({"data": result})

    def _scope(self, request: ServiceRequest) -> str:
        """Return the scope of the request's key; 401 for a key, or an app, that is missing or wrong."""
        base, headers = request.path.removeprefix("/").partition("/")[0], request.headers
        credentials = headers.get("key"), headers.get("secret")
        if base not in ("v3", "management"):
            raise refusal("ERR_API_NOT_FOUND", request.method, request.path)
        if base == "management":
            if None in credentials:
                raise refusal("AUTH_ERR_EMPTY_AUTH_HEADER")
            if credentials != (self._keys.management, self._keys.secret):
                raise refusal("AUTH_ERR_APIKEY_NOT_FOUND", "management key or secret")
            return "fullAccess"
        app_id = headers.get("appid")
        if None not in (app_id, self._only_app) and app_id != self._only_app:
            raise refusal("AUTH_ERR_INVALID_APPID", app_id)
        if not headers.get("apikey"):
            raise refusal("AUTH_ERR_EMPTY_APIKEY")
        return key_scope(self._context.store, headers["apikey"])

    def _acting_user(self, acting: Acting, request: ServiceRequest) -> str | None:
        """Return the user in `onBehalfOf`: 404 for an unknown one, 400 where a required one is missing."""
        if acting == "never":
            return None
        # Bytes of a header that are not UTF-8 arrive as lone surrogates, which no uid has.
        uid = request.headers.get("onbehalfof", "").encode(errors="replace").decode()
        if not uid and acting == "required":
            raise bad_request({"onBehalfOf": ["The onBehalfOf header is required."]})
        people = self._context.store.people
        if uid and people.user(uid) is None:
            raise no_such_user(uid, people)
        return uid or None
