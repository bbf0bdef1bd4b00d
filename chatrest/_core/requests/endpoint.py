"""An operation as a value: an `Endpoint`, which makes a `Call` when it is called with its arguments.

A `Call` is a request that has not met the network: no app, no key, no address.
`chatrest._resources.OPERATIONS` is the one table of endpoints: the methods, the emulator's router, the routes
of its weather, the rate classes, and the names in errors and metrics are read from it.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar
from urllib.parse import quote, unquote

from msgspec import Struct, structs

from ..._secrets import HIDDEN, description, is_credential
from ...errors import RequestInvalidError
from .dialects import ONE_LIMITED_REPLY, ONE_REPLY, Paging

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Replay: TypeAlias = Literal["safe", "idempotent", "never", "unstated"]
Acting: TypeAlias = Literal["never", "optional", "required"]
RateClass: TypeAlias = Literal["core", "standard", "import"]
Interface: TypeAlias = Literal["chat", "calls", "management"]
Media: TypeAlias = Literal["json", "multipart"]
Comparison: TypeAlias = Literal[
    "unstated", "none", "messages", "user", "group", "thread", "threads", "conversations"
]
Pairs: TypeAlias = tuple[tuple[str, str], ...]

# An operation that is called by hand has "…" for what follows its first segment: that may be a key.
_TEMPLATE = re.compile(r"(?:/(?:[A-Za-z0-9_-]+|\{[A-Za-z][A-Za-z0-9]*\}|…))+")
_PARAMETER = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")
_PLAIN = re.compile(r"(?:/[A-Za-z0-9_-]+)+")  # most paths: nothing in them to look for or to quote
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_DOTS = re.compile(r"(?:^|[/\\])\.{1,2}(?:[/\\]|\Z)")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


BY_ID_FIELD: Final = attrgetter("id")
"""The function that gives the `id` of a record: of most lists."""


def identity_by(name: str) -> Callable[[Any], str]:
    return BY_ID_FIELD if name == "id" else attrgetter(name)


class Reader(Protocol[R_co]):
    """Makes a result of a reply's body; raises `ReplyUnreadableError` if it cannot."""

    def __call__(self, body: bytes, /) -> R_co: ...


class Endpoint(Struct, Generic[R], frozen=True, dict=True, eq=False):
    """One operation of the service; equal to itself alone.

    Making one with a wrong template or replay raises ValueError.
    """

    name: str
    """`collection.operation`: the name in errors, logs, metrics and on the command line."""
    method: Method
    path: str
    """A template such as `/users/{uid}/messages`, with any number of parameters, anywhere."""
    reply: Reader[R]
    """The envelope: `one(T)`, `many(T)`, `bare(T)`, `each(T)`, `ACK` or `JSON` of `_core.replies.decode`."""
    replay: Replay = "unstated"
    """The repetition of a call whose reply was lost: `never` if it might be applied twice.

    A GET is `safe`. Every other operation states its own: also `safe`, for a POST that only reads.
    """
    query: type[Struct] | None = None
    """The filter struct."""
    body: type[Struct] | None = None
    """The body struct; None for no body, or for any JSON."""
    paging: Paging | None = None
    """The paging of a list; None for an operation that is not a list."""
    acting: Acting = "never"
    """The use of the header `onBehalfOf`."""
    rate_class: RateClass = "standard"
    user_limit: int | None = None
    """Requests a minute that a single acting user may make."""
    interface: Interface = "chat"
    headers: type[Struct] | None = None
    """The struct of further headers of this operation: a `Filter` with the names of headers on the wire."""
    media: Media = "json"
    """The form of the body: `multipart` is `multipart/form-data`, whose struct may have fields of `File`."""
    comparison: Comparison = "unstated"
    """The comparison of a list's records with the request, by which an ignored acting user is noticed.

    Messages are compared with the query and the acting user: all (`messages`), or those whose path names a
    `user`, a `group` or a `thread`. `threads` and `conversations` are compared with the acting user alone: no
    published document says which threads are a user's or a group's. A list of messages states its own, also
    `none`.
    """
    is_by_other: Callable[[Any, str], bool] | None = None
    """The test of a reply's record: True if it shows that another user than the acting one did it.

    Then the service has ignored `onBehalfOf`, and that is logged (see `_core.replies.expectation`). None for
    an operation whose record shows only its owner.
    """
    deprecated: str = ""
    """The replacement of a deprecated operation, whose call is a `DeprecationWarning`; "" for all others."""

    def __post_init__(self) -> None:
        if not _TEMPLATE.fullmatch(self.path):
            raise ValueError(f"{self.name}: {self.path!r} is not a path template")
        if len(set(self.parameters)) != len(self.parameters):
            raise ValueError(f"{self.name}: {self.path!r} names a parameter twice")
        if (of_operation := getattr(self.reply, "of_operation", None)) is not None:
            structs.force_setattr(self, "reply", of_operation(self.name))
        if self.method == "GET" and self.replay == "unstated":
            structs.force_setattr(self, "replay", "safe")
        if self.replay == "unstated" or (self.method == "GET" and self.replay != "safe"):
            raise ValueError(f"{self.name}: a {self.method} whose replay is {self.replay}")
        if self.comparison == "unstated" and getattr(self.reply, "has_messages", False):
            raise ValueError(f"{self.name}: a list of messages without a comparison")
        if self.comparison in ("user", "group", "thread") and len(self.parameters) != 1:
            raise ValueError(f"{self.name}: {self.path!r} does not name one {self.comparison}")

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(_PARAMETER.findall(self.path))

    @cached_property
    def value_slice(self) -> slice:
        """The slice of a filled path that is the parameter's value, for a template with one parameter."""
        before, after = _PARAMETER.split(self.path)[::2]
        return slice(len(before), -len(after) if after else None)

    @cached_property
    def _template(self) -> tuple[str, list[tuple[str, str]]]:
        """The path up to its first parameter; each parameter, with the text after it."""
        before, *rest = _PARAMETER.split(self.path)
        return before, list(zip(rest[::2], rest[1::2], strict=True))

    @cached_property
    def list_paging(self) -> Paging:
        """The paging of the operation as a list: one reply if no paging is documented."""
        if self.paging is not None:
            return self.paging
        has_limit = self.query is not None and ONE_LIMITED_REPLY.size in self.query.__struct_encode_fields__
        return ONE_LIMITED_REPLY if has_limit else ONE_REPLY

    @cached_property
    def identify(self) -> Callable[[Any], str]:
        return identity_by(getattr(self.reply, "identified_by", "id"))

    def __call__(
        self,
        *,
        query: Any = None,
        body: Any = None,
        headers: Any = None,
        on_behalf_of: str | None = None,
        **path: str,
    ) -> "Call[R]":
        """Return the call of this operation; `path` fills the template, each value as one segment.

        Raises `RequestInvalidError` for a path parameter that is missing, not known, or not one segment, and
        for an acting user that cannot be in a header.
        """
        return self.call(path, query, body, headers, on_behalf_of)

    def call(
        self,
        path: Mapping[str, str],
        query: Any = None,
        body: Any = None,
        headers: Any = None,
        on_behalf_of: str | None = None,
    ) -> "Call[R]":
        """Return the same as calling the endpoint, with the path's parameters as a mapping."""
        acting_user = None if on_behalf_of is None else check_acting_user(on_behalf_of)
        filled, rest = self._template
        if len(path) != len(rest):
            raise self._path_fault(path)
        for name, after in rest:
            if name not in path:
                raise self._path_fault(path)
            filled += segment(name, path[name]) + after
        return Call(self, filled, query, body, acting_user, (), headers)

    def _path_fault(self, path: Mapping[str, str]) -> RequestInvalidError:
        missing = [name for name in self.parameters if name not in path]
        unknown = [name for name in path if name not in self.parameters]
        faults = [
            f"{word} {', '.join(names)}" for word, names in (("lacks", missing), ("has no", unknown)) if names
        ]
        return RequestInvalidError(f"{self.name}: the path {self.path} {' and '.join(faults)}")


class Call(Struct, Generic[R], frozen=True):
    """A request before it has an app, a key and an address."""

    endpoint: Endpoint[R]
    path: str
    """The path below the base address, percent-encoded."""
    query: Any = None
    """A filter struct (chatrest._parameters) or a mapping of names to values."""
    body: Any = None
    """The value that is sent as JSON or as a form; None for no body."""
    acting_user: str | None = None
    position: Pairs = ()
    """The position of a walk: query pairs, sent beside the filter's own."""
    headers: Any = None
    """A struct of headers (`Endpoint.headers`); None for no further ones."""


def segment(name: str, value: object) -> str:
    """Return `value` as exactly one path segment, quoted.

    Raises `RequestInvalidError` for an empty text, for `.` and `..`, which proxies resolve, and for
    characters that cannot be sent. The error shows no value with the name of a credential.
    """
    if isinstance(value, str) and value.isascii() and value.isalnum():  # most ids: nothing to quote
        return value
    allowed = "expected a non-empty text, not '.' or '..', and without control characters"
    words = HIDDEN if is_credential(name) else repr(value)
    if not isinstance(value, str) or value in ("", ".", "..") or _CONTROL.search(value):
        raise RequestInvalidError(f"{name} = {words}: {allowed}", name=name)
    try:
        return quote(value, safe="")
    except UnicodeEncodeError:
        raise RequestInvalidError(f"{name} = {words}: a lone surrogate cannot be sent", name=name) from None


def check_acting_user(uid: object, name: str = "on_behalf_of") -> str | None:
    """Return `uid` if it can be a header unchanged, or is None; raises `RequestInvalidError` otherwise."""
    if uid is None:
        return None
    if not isinstance(uid, str) or not uid or uid != uid.strip() or _CONTROL.search(uid):
        # A receiver strips a header's ends: " bob" would silently act as bob.
        raise RequestInvalidError(
            f"{name} = {uid!r}: expected a non-empty text, "
            "without control characters and without white space at its ends",
            name=name,
        )
    segment(name, uid)
    return uid


def any_path(path: object) -> str:
    """Return a path given by hand, quoted if necessary; it cannot leave the base address.

    Raises `RequestInvalidError` for any other path. The error does not show it, as it may hold a key.
    """
    if not isinstance(path, str):
        raise RequestInvalidError(f"path = {description(path)}: expected a text", name="path")
    if _PLAIN.fullmatch(path):
        return path
    read = unquote(path)  # as a server reads it: a slash may be written as %2f or %5c
    refused = (
        (not path.startswith("/") or path.startswith("//"), "one '/' at its beginning"),
        (any(c in path for c in "?#\\"), "no '?', '#' or backslash: a query is given by query="),
        (_SURROGATE.search(path), "no lone surrogate"),
        (_BARE_PERCENT.search(path), "'%' only before two hexadecimal digits (%25 for itself)"),
        (_CONTROL.search(read), "no control characters"),
        (_DOTS.search(read), "no segment '.' or '..', in any spelling"),
    )
    for is_wrong, expected in refused:
        if is_wrong:
            fault = f"path: expected {expected} (its value is not shown: it may hold a key)"
            raise RequestInvalidError(fault, name="path")
    return quote(path, safe="/%:@!$&'()*+,;=~")


def is_mapping(value: object) -> bool:
    """Return True for a mapping with text keys, as a query given by hand must be."""
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
