"""The records that a list was asked for: `Expectation` finds those among what came that do not fit.

Services ignore filters and acting users without a word, so what came is compared with what was asked. What a
record does not show is no mismatch, but for the parent of a reply. In doubt a record counts as fitting:

- A window is about whole seconds where the units differ; the service may include its ends or not.
- Between users, what the app itself sent to one of them fits, and so does every message of a group.
- An action has other senders than the users of its conversation, and may name another receiver.
- Uids are compared without regard to case, conversations in either form (`a_user_b`, `user_a_b`).
- Filters by content (a text, links, reactions …) are not compared, as a message may match unseen.
- What asks for messages of other conversations (`sender`, `unread` …) is not compared with the list's user.
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
"""The name of the mismatch of a record that the acting user has no part in."""
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
"""The ends of windows: their names in the query and in `MessageQuery`, the member, and if it is the first."""
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
"""Each with what its path names."""
_THREAD_LISTS: Final = frozenset(
    {"messages.list_threads", "messages.list_threads_user", "messages.list_threads_group"}
)
"""Which threads are a user's or a group's is in no published document."""
_CONVERSATION_LISTS: Final = frozenset({"conversations.list"})


class _Check(Struct, frozen=True):
    """One thing that was asked for: its `name`, and the values of a member that fit in any case."""

    name: str
    attribute: str = ""
    allowed: frozenset[Any] = frozenset()

    def fit(self, records: Sequence[Any]) -> bool:
        """Return True if all records fit, found out cheaply; False if one may not."""
        return self.allowed.issuperset(_values(records, self.attribute))

    def misfit(self, record: Any) -> str | None:
        """Return the name of the filter that a record does not fit; None if it fits."""
        return None if self.fits(value_of(record, self.attribute), record) else self.name

    def fits(self, value: Any, record: Any) -> bool:
        """Return True if a record with this `value` fits."""
        raise NotImplementedError


class QueryChecks(Struct, frozen=True):
    """The checks of a query's filters."""

    checks: "tuple[_Check, ...]" = ()
    is_elsewhere: bool = False
    """True if a user's list may have messages of other conversations."""
    is_counting: bool = False
    """True for counts in the place of messages."""

    @classmethod
    def of(cls, query: Struct | Mapping[str, Any] | None) -> "QueryChecks":
        """Return the checks of a `MessageQuery`, or of its values by their names in the query."""
        asked = query if isinstance(query, Mapping) else filter_values(query) or {}
        is_elsewhere = any(asked.get(name) for name in _ELSEWHERE)
        return cls(tuple(_filters(asked)), is_elsewhere, bool(asked.get("count")))


class Expectation(Struct, frozen=True):
    """The request for a list: `mismatch(record)` names the filter that a record does not fit."""

    checks: "tuple[_Check, ...]" = ()
    is_with_oneself: bool = False
    """True for the messages between a user and the same user: a caller may have meant all of them."""

    @classmethod
    def of(
        cls, call: Call[Any], acting_user: str | None = None, checks: QueryChecks | None = None
    ) -> "Expectation":
        """Return what a list's call asks for; `acting_user` is the session's, where the call names none.

        `checks` are those of its query, where they are known already. A call of another operation, and one
        for counts, expects nothing.
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
        """Return what a list of an acting user's conversations is asked for."""
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
        """Return what a list of messages is asked for.

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
        """Return the name of the filter that a record does not fit, as `MessageQuery` or the path names it.

        It is `on_behalf_of` for a record that the acting user has no part in; None for a record that fits.
        """
        return next((name for check in self.checks if (name := check.misfit(record)) is not None), None)

    def mismatches(self, records: Sequence[Any]) -> dict[int, str]:
        """Return the indexes of the records that do not fit, with the filter's name; usually none.

        Costs a few operations for a whole page, as long as all of it fits.
        """
        misfits: dict[int, str] = {}
        for check in self.checks if records else ():
            if not check.fit(records):
                for index, record in enumerate(records):
                    if index not in misfits and (name := check.misfit(record)) is not None:
                        misfits[index] = name
        return misfits


EVERY_RECORD: Final = Expectation()
"""The expectation that every record fits."""


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

    def fit(self, records: Sequence[Any]) -> bool:
        times = _values(records, self.attribute)
        if set(map(type, times)) != {int} or min(times) <= 0:
            return False
        return not (self._excludes(min(times)) or self._excludes(max(times)))

    def fits(self, value: Any, record: Any) -> bool:
        return type(value) is not int or value <= 0 or not self._excludes(value)

    def _excludes(self, time: int) -> bool:
        stamp = self.stamp
        if (time >= MILLISECONDS_FROM) is not (stamp >= MILLISECONDS_FROM):
            time, stamp = _seconds(time), _seconds(stamp)
        return time < stamp if self.is_first else time > stamp


class _OneOf(_Check, frozen=True):
    def fits(self, value: Any, record: Any) -> bool:
        if not isinstance(value, str) or not value or (self.attribute == "sender" and _is_indirect(record)):
            return True
        return _folded(value) in set(map(_folded, self.allowed))


class _Thread(_Check, frozen=True):
    def fits(self, value: Any, record: Any) -> bool:
        [own] = self.allowed
        parent = value if isinstance(value, str | int) else ""
        return own.lstrip("0") in (str(parent).lstrip("0"), str(record.id).lstrip("0"))


class _Group(_Check, frozen=True):
    def fits(self, value: Any, record: Any) -> bool:
        [own] = self.allowed
        if not value or value.casefold() == own.casefold():
            return True
        return _is_indirect(record) and _conversation_id(record) in ("", f"group_{own}".casefold())


class _UserOf(_Check, frozen=True, kw_only=True):
    uid: str

    def fit(self, records: Sequence[Any]) -> bool:
        uid = self.uid
        for record in records:  # noqa: SIM110, `all` takes twice as long; every page of a user passes here
            if record.sender != uid and record.receiver != uid:
                return False
        return True

    def misfit(self, record: Any) -> str | None:
        users = _parties(record)
        if not users or (self.name == ON_BEHALF_OF and users & APP_UIDS):
            return None
        return self.name if _is_without(self.uid.casefold(), users, record) else None


class _Pair(_Check, frozen=True, kw_only=True):
    name: str = "uid"
    uid: str
    acting_user: str

    def fit(self, records: Sequence[Any]) -> bool:
        users = {self.uid: self.acting_user, self.acting_user: self.uid}
        for record in records:  # noqa: SIM110, as above
            if users.get(record.sender) != record.receiver:
                return False
        return True

    def misfit(self, record: Any) -> str | None:
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

    def fit(self, records: Sequence[Any]) -> bool:
        return not any(map(self.misfit, records))

    def misfit(self, record: Any) -> str | None:
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
    """Return the users that a message is between; none where it is not between users, or does not say it."""
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
