"""From a reply's bytes to structs: the fast way for the whole page, the patient way where that fails.

The fast way is one msgspec decode of the whole envelope. It is all or nothing, so where it fails the page
is read again, record by record, by `scan` and `fit`: a record that still cannot be held becomes an
`UnknownMessage` with its exact bytes, and never fails its page (specification, Resources: the values of
`category` and `type` are open). What was mended is told in `Listing.repairs`.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Struct

from ..errors import ReplyUnreadableError
from ..models.app import AppInfo
from ..models.message import BY_CATEGORY, Message, Typed, settle, unknown
from ..models.meta import Meta, Position
from ..models.outcome import Ack as Ack, Outcomes as Outcomes
from ..models.user import AuthToken, User
from .fit import MisfitError, fit, shape
from .scan import TooDeep, envelope, whole

T = TypeVar("T")

REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Listing(Struct, Generic[T], frozen=True):
    """A list reply: its records as the service ordered them, its `meta`, and the bytes as served."""

    items: list[T]
    meta: Meta
    raw: bytes
    repairs: tuple[str, ...] = ()
    """What the patient way mended: `data[3].sentAt: expected whole number, got text`."""
    cursor: Position | None = None
    """The `cursor` at the reply's top level."""
    position_fault: str | None = None
    """Why a position that the reply holds (`meta.cursor`, `meta.next`, `cursor`) cannot be read; None where
    all can, or none is there."""

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Not the bytes: they may hold a credential."""
        return [("items", len(self.items)), ("meta", self.meta), ("raw", len(self.raw))]

    def __repr__(self) -> str:
        return f"<Listing of {len(self.items)} items, {len(self.raw)} bytes>"


class Kind(Struct, Generic[T], frozen=True, dict=True):
    """What a record is: how it is decoded fast, and how it is held when that fails."""

    fast: Any
    """The type of the fast decode."""
    patient: Callable[[Any, bytes, str, list[str]], T]
    """(record as JSON, its bytes, its path, notes) → the record."""
    settle: Callable[[list[Any]], None] | None = None
    """What the fast decode cannot tell apart is put right here, in place."""

    @cached_property
    def listing(self) -> msgspec.json.Decoder[Any]:
        """Decodes a list's envelope. Made when first used: building one takes a millisecond."""
        return msgspec.json.Decoder(_Envelope[list[self.fast]])  # type: ignore[name-defined]

    @cached_property
    def single(self) -> msgspec.json.Decoder[Any]:
        """Decodes the envelope of one record."""
        return msgspec.json.Decoder(_Envelope[self.fast])  # type: ignore[name-defined]

    @cached_property
    def record(self) -> msgspec.json.Decoder[Any]:
        """Decodes a record by itself."""
        return msgspec.json.Decoder(self.fast)


class _Envelope(Struct, Generic[T], frozen=True, gc=False):
    data: T
    meta: Meta = Meta()
    cursor: Position | None = None


class Many(Struct, Generic[T], frozen=True):
    """Reads a list reply."""

    kind: Kind[T]

    @property
    def identified_by(self) -> str:
        """The field that tells one record from another."""
        return getattr(self.kind.fast, "identified_by", "id")

    def __call__(self, body: bytes, /) -> Listing[T]:
        """The page; raises `ReplyUnreadableError` where the body is not the list envelope."""
        try:
            page = self.kind.listing.decode(body)
        except REFUSED:
            return self._patiently(body)
        if self.kind.settle is not None:
            self.kind.settle(page.data)
        return Listing(page.data, page.meta, body, cursor=page.cursor)

    def _patiently(self, body: bytes) -> Listing[T]:
        members, records = records_of(body)
        notes: list[str] = []
        items = [_held(self.kind, *each, f"data[{i}]", notes) for i, each in enumerate(records)]
        return Listing(items, meta_of(members.get("meta"), notes), body, tuple(notes))


class One(Struct, Generic[T], frozen=True):
    """Reads a reply that is one record: `{"data": {…}}`."""

    kind: Kind[T]

    def __call__(self, body: bytes, /) -> T:
        """The record; raises `ReplyUnreadableError` where the body is not its envelope."""
        try:
            items = [self.kind.single.decode(body).data]
        except REFUSED:
            return self._patiently(body)
        if self.kind.settle is not None:
            self.kind.settle(items)
        return items[0]  # type: ignore[no-any-return]

    def _patiently(self, body: bytes) -> T:
        _, records = records_of(body)
        if len(records) != 1:  # services of this kind show a single record as an array of one
            raise ReplyUnreadableError(f"data: expected one record, got an array of {len(records)}")
        return _held(self.kind, *records[0], "data", [])


def read_json(body: bytes, /) -> Any:
    """The reply's JSON as Python objects; None for an empty body.

    A reply that holds an error in the place of data is none, whatever its status: `ReplyUnreadableError`.
    """
    try:
        found = msgspec.json.decode(body)
    except REFUSED:
        found = whole(body)
    if isinstance(found, dict) and isinstance(found.get("error"), dict) and "data" not in found:
        raise ReplyUnreadableError("the reply holds an error, and no data")
    return found


def records_of(body: bytes) -> tuple[dict[str, Any], list[tuple[Any, bytes]]]:
    """The envelope, if `data` is an array, or an object that is a record: a list of one, then."""
    members, records = envelope(body)
    data = members.get("data")
    if data == {}:  # an empty array, as some services write it
        return members, []
    if isinstance(data, list) or (isinstance(data, dict) and _IDS & data.keys()):
        return members, records
    got = {dict: "an object without an id", type(None): "nothing"}.get(type(data), type(data).__name__)
    raise ReplyUnreadableError(f"data: expected records, got {got}")


_IDS = {"id", "uid", "guid", "authToken"}


def _held(kind: Kind[T], record: Any, raw: bytes, path: str, notes: list[str]) -> T:
    try:
        items = [kind.record.decode(raw)]
    except REFUSED:
        return kind.patient(record, raw, path, notes)
    if kind.settle is not None:
        kind.settle(items)
    return items[0]  # type: ignore[no-any-return]


def meta_of(served: Any, notes: list[str]) -> Meta:
    if not isinstance(served, dict):
        return Meta()
    meta: Meta = fit(served, shape(Meta), "meta", notes)
    for name in ("cursor", "next", "previous"):
        # A place that cannot be read is not the end of a list.
        if served.get(name) and not _is_read(served[name], getattr(meta, name)):
            raise ReplyUnreadableError(f"meta.{name}: expected an object with the place to go on from")
    return meta


def _is_read(served: Any, mark: Position | None) -> bool:
    if mark is None:
        return False
    named = (("id", mark.id), ("sentAt", mark.sent_at), ("updatedAt", mark.updated_at))
    return all(value is not UNSET or wire not in served for wire, value in named)


def _message(record: Any, raw: bytes, path: str, notes: list[str]) -> Message:
    if flaw := _flaw(record):
        return unknown(record, raw, flaw)
    kind = BY_CATEGORY[record["category"]]
    try:
        items = [fit(record, shape(kind), path, notes)]
    except MisfitError as misfit:
        return unknown(record, raw, str(misfit))
    settle(items)
    return items[0]  # type: ignore[no-any-return]


def _flaw(record: Any) -> str | None:
    """What keeps a record from being any of the typed messages."""
    if isinstance(record, TooDeep):
        return "the record is nested too deeply to be read"
    if not isinstance(record, dict):
        return "the record is not an object"
    identity, category = record.get("id"), record.get("category")
    if not isinstance(identity, str | int) or isinstance(identity, bool) or identity == "":
        return "id: expected text"
    if not isinstance(category, str):
        return "category: expected text"
    if category not in BY_CATEGORY:
        return f"category: {category[:50]!r} is none of {', '.join(BY_CATEGORY)}"
    return None


def _plain(kind: type[T]) -> Kind[T]:
    def patient(record: Any, raw: bytes, path: str, notes: list[str]) -> T:
        try:
            held: T = fit(record, shape(kind), path, notes)
            return held
        except MisfitError as misfit:
            raise ReplyUnreadableError(str(misfit)) from None

    return Kind(kind, patient)


def kind_of(record: Any) -> Kind[Any]:
    """How records of this type are decoded."""
    return MESSAGE if record is Message else _plain(record)


def many(record: Any) -> Many[Any]:
    """The envelope of a list: `{"data": [record, …], "meta": {…}}`."""
    return Many(kind_of(record))


def one(record: Any) -> One[Any]:
    """The envelope of one record: `{"data": record}`."""
    return One(kind_of(record))


def bare(record: Any) -> Any:
    """The envelope of one record at the reply's root, without `data`."""
    return lambda body: One(kind_of(record))(b'{"data":%b}' % body)


def _outcomes(body: bytes, record: Any) -> Outcomes[Any]:
    found = read_json(body)
    data = found.get("data") if isinstance(found, dict) else None
    if not isinstance(data, dict):
        raise ReplyUnreadableError("data: expected an object with an outcome per item")
    return Outcomes({}, body)


def each(record: Any) -> Any:
    """An outcome per item: `{"data": {key: outcome}}`."""
    return lambda body: _outcomes(body, record)


ACK: Any = one(Ack)
JSON: Any = read_json

MESSAGE: Kind[Message] = Kind(Typed, _message, settle)
USER: Kind[User] = _plain(User)
AUTH_TOKEN: Kind[AuthToken] = _plain(AuthToken)
APP_INFO: Kind[AppInfo] = _plain(AppInfo)
