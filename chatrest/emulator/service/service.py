"""One request to one reply, without a socket: keys, the operation, the acting user, its handler.

Rules:
- The key is checked first, then the path, then the acting user, then the query or the body.
- `authOnly` keys may create users and auth tokens and nothing else.
- The header `onBehalfOf` is read where the operation's endpoint says so, and else ignored.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, final
from urllib.parse import parse_qsl

from ...core.requests.endpoint import Acting
from ..store.directory import Directory
from .arguments import Arguments
from .context import Call, Context, Handler
from .credentials import key_scope, set_keys
from .events import Event, events_of
from .handlers import HANDLERS
from .refusals import Refusal, bad_request, refused
from .request import Reply, Request
from .roles import add_default_role
from .router import ROUTER

_AUTH_ONLY: Final = frozenset({"users.create", "auth_tokens.create"})


class Keys(NamedTuple):
    """The credentials that the service accepts."""

    full_access: str
    auth_only: str
    management: str
    secret: str


@final
class Service:
    """The documented service over the store of `context`; `publish` is called with each event.

    `handlers` are those of the operations by name, for a service that answers some of them otherwise.
    A request that names another app than `only_app` is answered 401; None serves every app.
    """

    def __init__(
        self,
        context: Context,
        keys: Keys,
        publish: Callable[[Event], None] = lambda _: None,
        handlers: Mapping[str, Handler] = HANDLERS,
        only_app: str | None = None,
    ) -> None:
        self._context = context
        self._keys = keys
        self._publish = publish
        self._handlers = handlers
        self._only_app = only_app
        set_keys(context.store, keys.full_access, keys.auth_only)
        add_default_role(context.store)

    def answer(self, request: Request) -> Reply:
        """Return the reply; a refusal is a reply too."""
        try:
            return Reply(200, self.process(request))
        except Refusal as refusal:
            return Reply(refusal.status, refusal.body)

    def process(self, request: Request) -> bytes:
        """Return the body of a 200, or raise `Refusal`."""
        base = request.path.removeprefix("/").partition("/")[0]
        full_access = True
        if base == "management":
            self._check_management(request)
        elif base == "v3":
            full_access = self._has_full_access(request)
        else:
            raise refused("ERR_API_NOT_FOUND", request.method, request.path)
        route = ROUTER.route(request.method, request.path)
        if route is None:
            raise refused("ERR_API_NOT_FOUND", request.method, request.path)
        endpoint = route.endpoint
        if not full_access and endpoint.name not in _AUTH_ONLY:
            raise Refusal(403, "AUTH_ERR_NO_ACCESS", "The scope of this API key does not allow this.")
        acting_user = read_acting_user(endpoint.acting, request, self._context.store.people)
        query = Arguments(parse_qsl(request.query, keep_blank_values=True, errors="replace"))
        key = request.headers.get("apikey", "")
        call = Call(endpoint, route.parameters, query, acting_user, request.body, request.headers, key)
        try:
            reply = self._handlers[endpoint.name](self._context, call)
        except Refusal as refusal:
            refusal.is_at_root = endpoint.name.startswith("agents.")
            raise
        for event in events_of(endpoint.name, self._context, call, reply):
            self._publish(event)
        return reply

    def _check_management(self, request: Request) -> None:
        credentials = request.headers.get("key"), request.headers.get("secret")
        if credentials == (None, None) and "apikey" in request.headers:
            # An app's own key is unknown here, and so is the path.
            raise refused("ERR_API_NOT_FOUND", request.method, request.path)
        if None in credentials:
            raise Refusal(401, "AUTH_ERR_EMPTY_AUTH_HEADER", "The headers key and secret are missing.")
        if credentials != (self._keys.management, self._keys.secret):
            raise Refusal(401, "AUTH_ERR_APIKEY_NOT_FOUND", "The management key or secret is wrong.")

    def _has_full_access(self, request: Request) -> bool:
        """Say if the key is of the scope `fullAccess`; 401 for a key, or an app, that is missing or wrong."""
        app_id = request.headers.get("appid")
        if None not in (app_id, self._only_app) and app_id != self._only_app:
            raise Refusal(401, "AUTH_ERR_INVALID_APPID", f"The app {app_id} does not exist here.")
        key = request.headers.get("apikey")
        if not key:
            raise Refusal(401, "AUTH_ERR_EMPTY_APIKEY", "The header apikey is missing.")
        scope = key_scope(self._context.store, key)
        if scope is None:
            raise Refusal(401, "AUTH_ERR_APIKEY_NOT_FOUND", "The API key is wrong.")
        return scope == "fullAccess"


def read_acting_user(acting: Acting, request: Request, directory: Directory) -> str | None:
    """Return the user in `onBehalfOf`: 404 for an unknown one, 400 where a required one is missing."""
    if acting == "never":
        return None
    # Bytes of a header that are not UTF-8 come as lone surrogates, which are no text to a database.
    uid = request.headers.get("onbehalfof", "").encode(errors="replace").decode()
    if not uid and acting == "required":
        raise bad_request({"onBehalfOf": ["The onBehalfOf header is required."]})
    if uid and directory.user(uid) is None:
        raise refused("ERR_UID_NOT_FOUND", uid)
    return uid or None
