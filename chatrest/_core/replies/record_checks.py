"""The checks of an `Expectation`: each compares one thing that was asked for with the records of a reply.

In doubt a record matches:

- A window is compared in whole seconds if the units differ; the service may include its ends or not.
- Between users, a message of the app itself to one of them matches, and so does every message of a group.
- An action has other senders than the users of its conversation, and may name another receiver.
- Uids are compared without regard to case, conversations in either form (`a_user_b`, `user_a_b`).
- A member that a record does not have is no mismatch, except for the parent of a reply.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from ..._models.raw_json import REFUSED, read_value
from ...times import MILLISECONDS_FROM
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
_ABSENT: Final = frozenset({"", "0", 0, None, UNSET})


class RecordCheck(Struct, frozen=True):
    """One filter of a request: its `name`, and the values of a member that match in any case."""

    name: str
    attribute: str = ""
    allowed: frozenset[Any] = frozenset()

    def all_match(self, records: Sequence[Any]) -> bool:
        """Return True if all records match; False if one may not. It costs little for a page."""
        return self.allowed.issuperset(_values(records, self.attribute))

    def mismatch(self, record: Any) -> str | None:
        return None if self.accepts(value_of(record, self.attribute), record) else self.name

    def accepts(self, value: Any, record: Any) -> bool:
        raise NotImplementedError


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


class _TimeCheck(RecordCheck, frozen=True):
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


class _ValueCheck(RecordCheck, frozen=True):
    def accepts(self, value: Any, record: Any) -> bool:
        if not isinstance(value, str) or not value or (self.attribute == "sender" and _is_indirect(record)):
            return True
        return _folded(value) in set(map(_folded, self.allowed))


class ThreadCheck(RecordCheck, frozen=True):
    def accepts(self, value: Any, record: Any) -> bool:
        [own] = self.allowed
        parent = value if isinstance(value, str | int) else ""
        return own.lstrip("0") in (str(parent).lstrip("0"), str(record.id).lstrip("0"))


class GroupCheck(RecordCheck, frozen=True):
    def accepts(self, value: Any, record: Any) -> bool:
        [own] = self.allowed
        if not value or value.casefold() == own.casefold():
            return True
        return _is_indirect(record) and _conversation_id(record) in ("", f"group_{own}".casefold())


class UserCheck(RecordCheck, frozen=True, kw_only=True):
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


class UserPairCheck(RecordCheck, frozen=True, kw_only=True):
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


class ConversationCheck(RecordCheck, frozen=True, kw_only=True):
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


def filter_checks(asked: Mapping[str, Any]) -> Iterator[RecordCheck]:
    for wire, name, attribute, is_first in _BOUNDS:
        if type(stamp := asked.get(wire)) is int:
            yield _TimeCheck(name, attribute, stamp=stamp, is_first=is_first)
    for wire, name, attribute in _TEXTS:
        if value := asked.get(wire):
            yield _ValueCheck(name, attribute, _ABSENT.union((value,) if isinstance(value, str) else value))


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
