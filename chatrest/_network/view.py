"""A view of a client: the part that `AsyncSession` and `AsyncManagement` share."""

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Final, Self

from msgspec import structs

from .._core.pace.retry import RetryPolicy
from .._core.replies.scanner import read_json
from .._core.requests.arguments import Timeouts, check_seconds, check_unquoted, detach, hides_arguments
from .._core.requests.endpoint import (
    Call,
    Endpoint,
    Interface,
    Method,
    Replay,
    any_path,
    check_acting_user,
    is_mapping,
)
from .._core.requests.wire import Headers
from .._parameters.fields import words_of
from ..app import check_proxy_use
from ..errors import ChatRestError
from .client import Client, Sender
from .places import Priority
from .pool import PoolState
from .session_options import (
    OPTIONS_OF_VIEWS,
    UNCHANGED,
    CallOptions,
    ClientOptions,
    Destination,
    OnReply,
    check_option,
    checked_options,
)

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_REPLAYS: Final[Mapping[Method, Replay]] = {"GET": "safe", "PUT": "idempotent", "DELETE": "idempotent"}
_FIRST_SEGMENT: Final = re.compile(r"/[A-Za-z0-9_-]+(?=/|$)")


class ClientView:
    """Calls to one destination with one set of options, used with `async with`."""

    def __init__(self, destination: Destination, options: ClientOptions) -> None:
        client_options = checked_options(options)
        view_options = {name: client_options.pop(name) for name in OPTIONS_OF_VIEWS}
        self._options: CallOptions = CallOptions(destination=destination, acting_user=None, **view_options)
        self._client: Client = Client(client_options)
        check_proxy_use(self._client.proxy, destination.addresses.values())

    async def __aenter__(self) -> Self:
        self._client.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections of all views: further calls, and those under way, end with an error.

        The session can be opened again. Raises `RequestInvalidError` in another event loop than its own.
        """
        await self._client.close()

    @property
    def pools(self) -> Mapping[str, PoolState]:
        """The states of the pools by region; a pool is created when its region is first used."""
        return MappingProxyType({region: pool.state for region, pool in self._client.pools.items()})

    @cached_property
    def sender(self) -> Sender:
        """The function that makes a `Call` of an endpoint, as collections use it."""
        return Sender(self._client, self._options)

    @hides_arguments
    def with_options(
        self,
        *,
        deadline: float | None = UNCHANGED,
        retry: RetryPolicy | None = UNCHANGED,
        timeouts: Timeouts | None = UNCHANGED,
        headers: Mapping[str, str] | None = UNCHANGED,
        priority: Priority = UNCHANGED,
        on_behalf_of: str | None = UNCHANGED,
        on_reply: OnReply | None = UNCHANGED,
    ) -> Self:
        """Return a view with other options that shares the connections; an option not given keeps its value.

        - `deadline`: seconds for a whole call; None for no limit.
        - `retry`, `timeouts`: None for the defaults of `RetryPolicy` and `Timeouts`.
        - `headers`: added to the present ones; None removes them all.
        - `priority`: "interactive" or "bulk".
        - `on_behalf_of`: the acting user's uid; None for no acting user.
        - `on_reply`: called with the `RawReply` of each attempt that had a reply, so of a list with that of
          each page. With `on_reply=replies.append`, `replies[-1]` is that of the last call.

        Raises `RequestInvalidError` for a wrong argument.
        """
        options: dict[str, Any] = {
            "deadline": deadline, "retry": retry, "timeouts": timeouts, "headers": headers,
            "priority": priority,
        }  # fmt: skip
        changes = {
            name: check_option(name, value) for name, value in options.items() if value is not UNCHANGED
        }
        if on_behalf_of is not UNCHANGED:
            changes["acting_user"] = check_acting_user(on_behalf_of)
        if on_reply is not UNCHANGED:
            fits = on_reply is None or callable(on_reply)
            check_unquoted(fits, "on_reply", on_reply, "a function of one RawReply, or None")
            changes["on_reply"] = on_reply
        if changes.get("headers"):
            changes["headers"] = Headers(self._options.headers, **changes["headers"])
        return self._view(**changes)

    def within(self, seconds: float) -> Self:
        """Return a view whose calls, taken together, end within `seconds` from now: for a web request.

            chat = session.within(2.0)
            user = await chat.users.get("bob")
            page = await chat.messages.list_user("bob").page(20)  # has what the first call left

        The views of this view have the same end, or an earlier one. A call for which no time is left sends
        nothing, and raises `DeadlineExceededError`. A `deadline` limits a single call further. Raises
        `RequestInvalidError` for a wrong argument.
        """
        end = self._client.clock() + check_seconds("seconds", seconds)
        return self._view(ends_at=end if self._options.ends_at is None else min(end, self._options.ends_at))

    def _view(self, **changes: Any) -> Self:
        view = object.__new__(type(self))
        view._options, view._client = structs.replace(self._options, **changes), self._client
        if "destination" in changes:
            check_proxy_use(view._client.proxy, view._options.destination.addresses.values())
        return view

    async def request(
        self,
        method: Method,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        interface: Interface = UNCHANGED,
    ) -> Any:
        """Call any operation; return the decoded JSON of its reply, None for an empty one.

        - `path`: begins with `/`, below the base address; characters that a path cannot have are quoted.
        - `interface`: of a session `chat`, the default, or `calls`.

        Deadline, rate limit and retries apply. GET, PUT and DELETE are repeated; POST and PATCH only if they
        were certainly not processed. Raises `RequestInvalidError` for a wrong argument, and the errors of any
        call.
        """
        failure: ChatRestError | None = None
        try:
            addresses = self._options.destination.addresses
            if interface is UNCHANGED:
                interface = next(iter(addresses))
            elif interface not in tuple(addresses):
                check_unquoted(False, "interface", interface, words_of(addresses))
            reply = self.sender(call_by_hand(method, path, query, json, interface))
        except ChatRestError as error:
            failure = detach(error)
        del method, path, query, json, interface  # no frame of an error may hold a key
        if failure is not None:
            raise failure
        return await reply


def client_of(view: ClientView) -> Client:
    """Return the client of a view, for packages that are built on its clock or set its pacers."""
    return view._client


def call_by_hand(
    method: Method, path: str, query: Mapping[str, Any] | None, json: Any, interface: Interface
) -> Call[Any]:
    if method not in _METHODS:
        check_unquoted(False, "method", method, words_of(_METHODS))
    if query is not None:
        check_unquoted(is_mapping(query), "query", query, "a mapping with text keys, or None")
    quoted = any_path(path)
    first = _FIRST_SEGMENT.match(quoted)
    # Errors and telemetry show only the first segment, as others may hold uids.
    template = "/…" if first is None else quoted if first.end() == len(quoted) else f"{first[0]}/…"
    return Call(_endpoint(method, template, interface), quoted, query, json)


@lru_cache(256)
def _endpoint(method: Method, template: str, interface: Interface) -> Endpoint[Any]:
    return Endpoint(
        f"{method} {template}",
        method,
        template,
        read_json,
        _REPLAYS.get(method, "never"),
        acting="never" if interface == "management" else "optional",
        interface=interface,
    )
