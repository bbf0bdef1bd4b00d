"""The records that a list was asked for: an `Expectation` finds records of a reply that do not match.

Services ignore filters and acting users without an error, so records are compared with the request. A member
that a record does not have is no mismatch, except for the parent of a reply. In doubt a record matches:

- A window is compared in whole seconds if the units differ; the service may include its ends or not.
- Between users, a message of the app itself to one of them matches, and so does every message of a group.
- An action has other senders than the users of its conversation, and may name another receiver.
- Uids are compared without regard to case, conversations in either form (`a_user_b`, `user_a_b`).
- Filters by content (a text, links, reactions …) are not compared, as a record does not show all content.
- With filters for messages of other conversations (`sender`, `unread` …) the list's user is not compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from msgspec import UNSET, Struct

from ..._models.conversations import Conversation
from ..._models.messages import Message
from ..._models.raw_json import REFUSED, read_value
from ...times import MILLISECONDS_FROM
from ..requests.encode import filter_values
from ..requests.endpoint import Call
from .rows import Row

ON_BEHALF_OF: Final = "on_behalf_of"
"""The mismatch of a record that the acting user has no part in."""
APP_UIDS: Final = frozenset({"app_system", "system"})
"""The uids of the app itself."""

_BOUNDS: Final = tuple(
    (wire, name, attribute, index == 0)
    for attribute, pairs in (
        ("sent_at", (("fromTimestamp", "from_timestamp"), ("toTimestamp", "to_timestamp"))),
        *((f"{kind}_at", ((f"{kind}At[from]", f"{kind}_at_from"), (f"{kind}At[to]", f"{kind}_at_to")))
          for kind in ("sent", "updated", "edited")),
    )
    for index, (wire, name) in enumerate(pairs)
)  # fmt: skip
"""The ends of windows: names in the query and in `MessageQuery`, the member, and True for a first end."""
_TEXTS: Final = (
    ("category", "category", "category"), ("categories", "categories", "category"),
    ("type", "type", "type"), ("types", "types", "type"),
    ("sender", "sender", "sender"), ("senders", "senders", "sender"),
    ("receiverType", "receiver_type", "receiver_type"),
)  # fmt: skip
_ELSEWHERE: Final = frozenset(
    {"sender", "senders", "hasReactions", "unread", "undelivered", "myMentionsOnly", "saved"}
)
"""Filters with which a user's list may have messages of other conversations."""
_ABSENT: Final = frozenset({"", "0", 0, None, UNSET})
_MESSAGE_LISTS: Final = {
    "messages.list": "", "messages.list_user": "uid", "messages.list_group": "guid",
    "messages.list_thread": "parent_id",
}  # fmt: skip
"""Lists of messages, each with the name of its path's subject."""
_THREAD_LISTS: Final = frozenset(
    {"messages.list_threads", "messages.list_threads_user", "messages.list_threads_group"}
)
"""Lists of threads; no published document says which threads are a user's or a group's."""
_CONVERSATION_LISTS: Final = frozenset({"conversations.list"})


class _Check(Struct, frozen=True):
    """One filter of a request: its `name`, and the values of a member that match in any case."""

    name: str
    attribute: str = ""
    allowed: frozenset[Any] = frozenset()

    def all_match(self, records: Sequence[Any]) -> bool:
        """Return True if all records match; False if one may not. It costs little for a page."""
        return self.allowed.issuperset(_values(records, self.attribute))

    def mismatch(self, record: Any) -> str | None:
        """Return the name of the filter that a record does not match; None if it matches."""
        return None if self.accepts(value_of(record, self.attribute), record) else self.name

    def accepts(self, value: Any, record: Any) -> bool:
        """Return True if a record with this `value` of the member matches."""
        raise NotImplementedError


class QueryChecks(Struct, frozen=True):
    """The checks of a query's filters."""

    checks: "tuple[_Check, ...]" = ()
    is_elsewhere: bool = False
    """True if a user's list may have messages of other conversations."""
    is_counting: bool = False
    """True for counts instead of messages."""

    @classmethod
    def of(cls, query: Struct | Mapping[str, Any] | None) -> "QueryChecks":
        """Return the checks of a `MessageQuery`, or of its values by their names in the query."""
        asked = query if isinstance(query, Mapping) else filter_values(query) or {}
        is_elsewhere = any(asked.get(name) for name in _ELSEWHERE)
        return cls(tuple(_filters(asked)), is_elsewhere, bool(asked.get("count")))


class Expectation(Struct, frozen=True):
    """The filters, path and acting user of a request: `mismatch(record)` names one that a record lacks."""

    checks: "tuple[_Check, ...]" = ()
    is_with_oneself: bool = False
    """True for the messages between a user and the same user: a caller may have meant all of them."""

    @classmethod
    def of(
        cls, call: Call[Any], acting_user: str | None = None, checks: QueryChecks | None = None
    ) -> "Expectation":
        """Return the expectation of a list's call; `acting_user` is the session's, if the call has none.

        `checks` are those of its query, if they are known already. The expectation of another operation, and
        of counts, has no checks.
        """
        endpoint = call.endpoint
        acting_user = None if endpoint.acting == "never" else call.acting_user or acting_user
        if (subject := _MESSAGE_LISTS.get(endpoint.name)) is not None:
            value = call.path[endpoint.value_slice] if subject else ""
            value = unquote(value) if "%" in value else value
            return cls.of_messages(
                uid=value if subject == "uid" else None,
                guid=value if subject == "guid" else None,
                parent_id=value if subject == "parent_id" else None,
                acting_user=acting_user,
                checks=QueryChecks.of(call.query) if checks is None else checks,
            )
        if endpoint.name in _CONVERSATION_LISTS and acting_user is not None:
            return cls.of_conversations(acting_user)
        return cls.of_messages(acting_user=acting_user) if endpoint.name in _THREAD_LISTS else cls()

    @classmethod
    def of_conversations(cls, acting_user: str) -> "Expectation":
        """Return the expectation of a list of an acting user's conversations."""
        return cls((_ConversationsOf(uid=acting_user),))

    @classmethod
    def of_messages(
        cls,
        *,
        uid: str | None = None,
        guid: str | None = None,
        parent_id: str | None = None,
        acting_user: str | None = None,
        checks: QueryChecks = QueryChecks(),  # noqa: B008, a frozen value
    ) -> "Expectation":
        """Return the expectation of a list of messages.

        `uid`: the messages of a user, with `acting_user` those between the two; `guid`: of a group;
        `parent_id`: of a thread; `checks`: of its query.
        """
        if checks.is_counting:
            return EVERY_RECORD
        first: tuple[_Check, ...] = ()
        if acting_user is not None and acting_user != uid:
            if uid is None or checks.is_elsewhere:
                first = (_UserOf(ON_BEHALF_OF, uid=acting_user),)
            else:
                first = (_Pair(uid=uid, acting_user=acting_user),)
        elif uid is not None and not checks.is_elsewhere:
            first = (_UserOf("uid", uid=uid),)
        if guid is not None:
            first += (_Group("guid", "receiver", frozenset({guid})),)
        if parent_id is not None:
            first += (_Thread("message_id", "parent_id", frozenset({parent_id})),)
        return cls(first + checks.checks, uid is not None and uid == acting_user)

    def mismatch(self, record: Any) -> str | None:
        """Return the filter that a record does not match, by its name in `MessageQuery` or the path.

        It is `on_behalf_of` for a record that the acting user has no part in; None for a record that matches.
        """
        return next((name for check in self.checks if (name := check.mismatch(record)) is not None), None)

    def mismatches(self, records: Sequence[Any]) -> dict[int, str]:
        """Return the indexes of the records that do not match, each with the filter's name; usually empty.

        It costs a few operations for a page, as long as all records match.
        """
        mismatches: dict[int, str] = {}
        for check in self.checks if records else ():
            if not check.all_match(records):
                for index, record in enumerate(records):
                    if index not in mismatches and (name := check.mismatch(record)) is not None:
                        mismatches[index] = name
        return mismatches


EVERY_RECORD: Final = Expectation()
"""The expectation that every record matches."""


class _RowMembers(Struct, gc=False, rename="camel"):
    category: Any = ""
    type: Any = ""
    parent_id: Any = ""
    updated_at: Any = 0
    edited_at: Any = 0
    conversation_id: Any = ""
    conversation_type: Any = ""
    conversation_with: Any = None


_ROW_MEMBERS: Final = msgspec.json.Decoder(_RowMembers)
_IN_ROW: Final = frozenset(Row.__struct_fields__)


class _Bound(_Check, frozen=True):
    stamp: int = 0
    is_first: bool = True

    def all_match(self, records: Sequence[Any]) -> bool:
        times = _values(records, self.attribute)
        if set(map(type, times)) != {int} or min(times) <= 0:
            return False
        return not (self._excludes(min(times)) or self._excludes(max(times)))

    def accepts(self, value: Any, record: Any) -> bool:
        return type(value) is not int or value <= 0 or not self._excludes(value)

    def _excludes(self, time: int) -> bool:
        stamp = self.stamp
        if (time >= MILLISECONDS_FROM) is not (stamp >= MILLISECONDS_FROM):
            time, stamp = _seconds(time), _seconds(stamp)
        return time < stamp if self.is_first else time > stamp


class _OneOf(_Check, frozen=True):
    def accepts(self, value: Any, record: Any) -> bool:
        if not isinstance(value, str) or not value or (self.attribute == "sender" and _is_indirect(record)):
            return True
        return _folded(value) in set(map(_folded, self.allowed))


class _Thread(_Check, frozen=True):
    def accepts(self, value: Any, record: Any) -> bool:
        [own] = self.allowed
        parent = value if isinstance(value, str | int) else ""
        return own.lstrip("0") in (str(parent).lstrip("0"), str(record.id).lstrip("0"))


class _Group(_Check, frozen=True):
    def accepts(self, value: Any, record: Any) -> bool:
        [own] = self.allowed
        if not value or value.casefold() == own.casefold():
            return True
        return _is_indirect(record) and _conversation_id(record) in ("", f"group_{own}".casefold())


class _UserOf(_Check, frozen=True, kw_only=True):
    uid: str

    def all_match(self, records: Sequence[Any]) -> bool:
        uid = self.uid
        for record in records:  # noqa: SIM110, `all` takes twice as long; every page of a user passes here
            if record.sender != uid and record.receiver != uid:
                return False
        return True

    def mismatch(self, record: Any) -> str | None:
        users = _parties(record)
        if not users or (self.name == ON_BEHALF_OF and users & APP_UIDS):
            return None
        return self.name if _is_without(self.uid.casefold(), users, record) else None


class _Pair(_Check, frozen=True, kw_only=True):
    name: str = "uid"
    uid: str
    acting_user: str

    def all_match(self, records: Sequence[Any]) -> bool:
        users = {self.uid: self.acting_user, self.acting_user: self.uid}
        for record in records:  # noqa: SIM110, as above
            if users.get(record.sender) != record.receiver:
                return False
        return True

    def mismatch(self, record: Any) -> str | None:
        uid, acting_user = self.uid.casefold(), self.acting_user.casefold()
        users = _parties(record)
        if users <= {uid, acting_user} or (users & APP_UIDS and users & {uid, acting_user}):
            return None
        if not users & APP_UIDS and _is_without(acting_user, users, record):
            return ON_BEHALF_OF
        return "uid" if _is_without(uid, users, record) else None


class _ConversationsOf(_Check, frozen=True, kw_only=True):
    name: str = ON_BEHALF_OF
    uid: str

    def all_match(self, records: Sequence[Any]) -> bool:
        return not any(map(self.mismatch, records))

    def mismatch(self, record: Any) -> str | None:
        conversation, uid = _conversation_id(record), self.uid.casefold()
        if value_of(record, "conversation_type") == "group" or conversation.startswith("group_"):
            return None
        if _names_users(conversation) and not _has_user(conversation, uid):
            return ON_BEHALF_OF
        # A user's conversations are with others, but for one with oneself.
        party = value_of(record, "conversation_with")
        other = party.get("uid") if isinstance(party, dict) else getattr(party, "uid", None)
        is_own_side = isinstance(other, str) and other.casefold() == uid
        return ON_BEHALF_OF if is_own_side and conversation.split("_").count(uid) == 1 else None


def _filters(asked: Mapping[str, Any]) -> Iterator[_Check]:
    for wire, name, attribute, is_first in _BOUNDS:
        if type(stamp := asked.get(wire)) is int:
            yield _Bound(name, attribute, stamp=stamp, is_first=is_first)
    for wire, name, attribute in _TEXTS:
        if value := asked.get(wire):
            yield _OneOf(name, attribute, _ABSENT.union((value,) if isinstance(value, str) else value))


def _parties(record: Any) -> set[str]:
    """Return the two users of a message; empty for a message of a group, or one without them."""
    sender, receiver, kind = record.sender, record.receiver, record.receiver_type
    return {sender.casefold(), receiver.casefold()} if kind == "user" and sender and receiver else set()


def _is_without(uid: str, users: set[str], record: Any) -> bool:
    """Return True for a message between `users` that the user `uid` has no part in."""
    if uid in users:
        return False
    if not _is_indirect(record):
        return True
    conversation = _conversation_id(record)
    return _names_users(conversation) and not _has_user(conversation, uid)


def _is_indirect(record: Any) -> bool:
    """Return True for an action or a call, whose sender and receiver may be others than the users."""
    return value_of(record, "category") in ("action", "call")


def _conversation_id(record: Any) -> str:
    conversation = value_of(record, "conversation_id")
    return conversation.casefold() if isinstance(conversation, str) else ""


def _names_users(conversation: str) -> bool:
    return conversation.startswith("user_") or "_user_" in conversation


def _has_user(conversation: str, uid: str) -> bool:
    """Return True if a conversation's id may name the user."""
    return f"_{uid}_" in f"_{conversation}_"


def _folded(text: Any) -> Any:
    return text.casefold() if isinstance(text, str) else text


def _seconds(stamp: int) -> int:
    return stamp // 1000 if stamp >= MILLISECONDS_FROM else stamp


def _values(records: Sequence[Any], attribute: str) -> list[Any]:
    if attribute in _IN_ROW or type(records[0]) is not Row:
        return list(map(attrgetter(attribute), records))
    return [value_of(record, attribute) for record in records]


def value_of(record: Any, attribute: str) -> Any:
    if type(record) is Row and attribute not in _IN_ROW:
        record = _row_members(record.raw)
    return getattr(record, attribute, None)


def _row_members(raw: bytes) -> _RowMembers:
    try:
        return _ROW_MEMBERS.decode(raw)
    except REFUSED:
        pass
    try:
        served = read_value(raw)
    except (ValueError, RecursionError):
        served = None
    return msgspec.convert(served, _RowMembers) if isinstance(served, dict) else _RowMembers()


# ── the acting user that the reply of a single call shows: what a record does not say is no evidence ──


def is_of_others(record: Any, uid: str) -> bool:
    """Return True for a message or a conversation that the user `uid` has no part in."""
    if isinstance(record, Conversation):
        return Expectation.of_conversations(uid).mismatch(record) is not None
    return (
        isinstance(record, Message) and Expectation.of_messages(acting_user=uid).mismatch(record) is not None
    )


def is_sent_by_other(record: Any, uid: str) -> bool:
    sender = getattr(record, "sender", None)
    return isinstance(sender, str) and bool(sender) and sender.casefold() != uid.casefold()
