"""One request to one reply, without a socket: keys, the acting user, handlers.

Rules:
- The key is checked first, then the path, then the acting user, then the query or the body.
- `authOnly` keys may create users and auth tokens and nothing else (specification, Authentication 3).
- The header `onBehalfOf` is read where the operation's endpoint says so, and else ignored.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias, final
from urllib.parse import parse_qsl

from msgspec.json import encode

from ...core.endpoint import Acting
from ..store.directory import spliced
from ..store.rows import ALL, conversation_id, conversation_list, group_list, participant_list, thread_list
from ..store.store import Store
from . import creation as writing, message_pages as reading, page_lists as directory
from .arguments import Arguments
from .list_request import Asked, asked
from .message_pages import Look
from .refusals import Refusal, bad_request, no_group, no_message, no_operation, no_user
from .request import Reply, Request
from .router import ROUTER


class Keys(NamedTuple):
    """What opens which door."""

    full_access: str
    auth_only: str
    management: str
    secret: str


class _Call(NamedTuple):
    """A request whose key and path are right."""

    names: tuple[str, ...]
    """The values of the path's parameters, in the path's order."""
    query: Arguments
    acting_user: str | None
    body: bytes


_AUTH_ONLY: Final = frozenset({"users.create", "auth_tokens.create"})
_Handler: TypeAlias = Callable[[_Call], bytes]


@final
class Service:
    """The documented service over one store. `clock` gives epoch seconds."""

    def __init__(
        self,
        store: Store,
        keys: Keys,
        app: Mapping[str, object],
        *,
        user_lists: Look,
        other_lists: Look,
        clock: Callable[[], float],
    ) -> None:
        self.store = store
        self._keys = keys
        self._app = app
        self._user_lists = user_lists
        self._other_lists = other_lists
        self._clock = clock
        self.handlers: dict[str, _Handler] = {
            "apps.list": self._list_apps,
            "auth_tokens.create": self._create_token,
            "messages.get": self._get_message,
            "messages.list": self._list_all,
            "messages.list_group": self._list_group,
            "messages.list_thread": self._list_thread,
            "messages.list_user": self._list_user,
            "messages.send": self._send,
            "users.create": self._create_user,
            "users.get": self._get_user,
            "users.list": self._list_users,
        }

    def answer(self, request: Request) -> Reply:
        """The reply; whatever is refused is a reply too."""
        try:
            return Reply(200, self._answer(request))
        except Refusal as refusal:
            return Reply(refusal.status, refusal.body)

    def _answer(self, request: Request) -> bytes:
        base = request.path.removeprefix("/").partition("/")[0]
        if base == "management":
            self._check_management(request)
        elif base != "v3":
            raise no_operation(request.method, request.path)
        full_access = base == "management" or self._check_key(request)
        route = ROUTER.route(request.method, request.path)
        if route is None:
            raise no_operation(request.method, request.path)
        endpoint = route.endpoint
        if not full_access and endpoint.name not in _AUTH_ONLY:
            raise Refusal(403, "AUTH_ERR_NO_ACCESS", "The scope of this API key does not allow this.")
        acting_user = self._acting_user(endpoint.acting, request)
        query = Arguments(parse_qsl(request.query, keep_blank_values=True, errors="replace"))
        names = tuple(route.parameters.values())
        return self.handlers[endpoint.name](_Call(names, query, acting_user, request.body))

    def _acting_user(self, acting: Acting, request: Request) -> str | None:
        if acting == "never":
            return None
        # Bytes of a header that are not UTF-8 come as lone surrogates, which are no text to a database.
        uid = request.headers.get("onbehalfof", "").encode(errors="replace").decode()
        if not uid:
            if acting == "required":
                raise bad_request({"onBehalfOf": ["The onBehalfOf header is required."]})
            return None
        if self.store.people.user(uid) is None:
            raise no_user(uid)
        return uid

    def _check_management(self, request: Request) -> None:
        given = request.headers.get("key"), request.headers.get("secret")
        if given == (None, None) and "apikey" in request.headers:
            # An app's own key is unknown here, and so is the way (operations table, interfaces).
            raise no_operation(request.method, request.path)
        if None in given:
            raise Refusal(401, "AUTH_ERR_EMPTY_AUTH_HEADER", "The headers key and secret are missing.")
        if given != (self._keys.management, self._keys.secret):
            raise Refusal(401, "AUTH_ERR_APIKEY_NOT_FOUND", "The management key or secret is wrong.")

    def _check_key(self, request: Request) -> bool:
        """Whether the key is of the scope `fullAccess`."""
        key = request.headers.get("apikey")
        if not key:
            raise Refusal(401, "AUTH_ERR_EMPTY_APIKEY", "The header apikey is missing.")
        if key not in (self._keys.full_access, self._keys.auth_only):
            raise Refusal(401, "AUTH_ERR_APIKEY_NOT_FOUND", "The API key is wrong.")
        return key == self._keys.full_access

    def _list_apps(self, call: _Call) -> bytes:
        return directory.apps(self._app, call.query)

    # ── users ──

    def _list_users(self, call: _Call) -> bytes:
        return directory.users(self.store.people, call.query)

    def _create_user(self, call: _Call) -> bytes:
        return _data(writing.create_user(self.store, call.body, int(self._clock())))

    def _create_token(self, call: _Call) -> bytes:
        return _data(writing.create_token(self.store, call.names[0], call.body, int(self._clock())))

    def _get_user(self, call: _Call) -> bytes:
        record = self._user(call.names[0])
        if call.acting_user and call.acting_user != call.names[0]:
            record = spliced(
                record, "conversationId", encode(conversation_id(call.acting_user, call.names[0]))
            )
        return _data(record)

    def _user(self, uid: str) -> bytes:
        record = self.store.people.user(uid)
        if record is None:
            raise no_user(uid)
        return record

    # ── messages ──

    def _send(self, call: _Call) -> bytes:
        return _data(writing.send_message(self.store, call.body, call.acting_user, int(self._clock())))

    def _get_message(self, call: _Call) -> bytes:
        return _data(self._message(call.names[0]))

    def _message(self, id: str) -> bytes:
        known = id.isascii() and id.isdigit() and len(id) < 19
        record = self.store.message(int(id)) if known else None
        if record is None:
            raise no_message(id)
        return record

    def _list_user(self, call: _Call) -> bytes:
        """With an acting user the two's conversation; without, all that the user takes part in."""
        [uid] = call.names
        self._user(uid)
        sizes = ("limit", "perPage") if call.acting_user else ("perPage", "limit")
        wanted = asked(call.query, call.acting_user, uid, sizes, 10 if call.acting_user else 100)
        name = participant_list(uid)
        if call.acting_user:
            name = conversation_list(conversation_id(uid, call.acting_user))
        return self._page(name, wanted, call.acting_user, uid, self._user_lists)

    def _list_group(self, call: _Call) -> bytes:
        [guid] = call.names
        if self.store.people.group(guid) is None:
            raise no_group(guid)
        return self._listed(group_list(guid), call, 10)

    def _list_all(self, call: _Call) -> bytes:
        """The app's messages; with an acting user those that this user takes part in."""
        return self._listed(participant_list(call.acting_user) if call.acting_user else ALL, call, 10)

    def _list_thread(self, call: _Call) -> bytes:
        [parent] = call.names
        self._message(parent)
        return self._listed(thread_list(str(int(parent))), call, 100)

    def _listed(self, name: str, call: _Call, default: int) -> bytes:
        wanted = asked(call.query, call.acting_user, None, ("limit", "perPage"), default)
        return self._page(name, wanted, call.acting_user, None, self._other_lists)

    def _page(self, name: str, wanted: Asked, acting_user: str | None, uid: str | None, look: Look) -> bytes:
        if wanted.count:
            return reading.counts(self.store, name, wanted, acting_user, uid, look)
        return reading.page(self.store, name, wanted, acting_user, look)


def _data(record: bytes) -> bytes:
    return b'{"data":%b}' % record
