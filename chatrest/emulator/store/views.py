"""Marks of users on messages, and their views of conversations.

Users see the conversations that they send or receive in, and those of the groups that they are members of.
The last message is the newest one that is no action; actions on messages move no conversation.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from msgspec import UNSET, Struct

from .directory import Memberships
from .documents import Document
from .message_index import MessageIndex, StoredMessage, conversation_id, conversation_list


class Mark(NamedTuple):
    id: int
    kind: str
    """save, subscription or reaction."""
    message: int
    owner: str
    value: str = ""
    at: int = 0


class MessageMarks:
    def __init__(self) -> None:
        self._marks: dict[int, list[Mark]] = {}
        self._ids = count(1)

    def on(self, message: int) -> list[Mark]:
        return self._marks.get(message, [])

    def add(self, kind: str, message: int, owner: str, at: int = 0, value: str = "") -> bool:
        """Store a mark; False if it is there already, and then it keeps its time."""
        is_new = not self._matching(kind, message, owner, value)
        if is_new:
            self.insert([Mark(0, kind, message, owner, value, at)])
        return is_new

    def insert(self, marks: Iterable[Mark]) -> None:
        for mark in marks:
            self._marks.setdefault(mark.message, []).append(mark._replace(id=next(self._ids)))

    def remove(self, kind: str, message: int, owner: str, value: str = "") -> bool:
        """Remove a mark; False if there is none."""
        matches = self._matching(kind, message, owner, value)
        for mark in matches:
            self._marks[message].remove(mark)
        return bool(matches)

    def _matching(self, kind: str, message: int, owner: str, value: str) -> list[Mark]:
        return [mark for mark in self.on(message) if mark[1:5] == (kind, message, owner, value)]

    def remove_all(self, messages: Iterable[int]) -> None:
        for message in messages:
            self._marks.pop(message, None)


PartyKind: TypeAlias = Literal["user", "group"]
Receipt: TypeAlias = Literal["read", "delivered"]


class ConversationView(Struct):
    uid: str
    conversation: str
    kind: PartyKind
    party: str
    created_at: int = 0
    read_id: int = 0
    delivered_id: int = 0
    reset_id: int = 0
    """The last message that the user has removed from the own view; 0 for none."""
    is_listed_after_reset: bool = False
    tags: tuple[str, ...] = ()
    pinned_at: int | None = None


class ConversationViews:
    def __init__(self, messages: MessageIndex, members: Memberships) -> None:
        self._messages, self._members = messages, members
        self._views: dict[tuple[str, str], ConversationView] = {}
        self.app_pins: dict[tuple[str, str], Document] = {}
        """The pins of the app, which are for all users, by kind and party."""

    def all(self, uid: str | None, conversation: str | None = None) -> list[ConversationView]:
        """Return the views of a user, or of all users; of one conversation, or of all."""
        prefix, names = conversation_list(""), [conversation or ""]
        if conversation is None:
            names = [name.removeprefix(prefix) for name in self._messages.lists if name.startswith(prefix)]
        return [view for name in names for view in self._views_of(name) if uid in (None, view.uid)]

    def _views_of(self, name: str) -> Iterator[ConversationView]:
        ids = self._messages.lists.get(conversation_list(name))
        first = self._messages.messages[ids[0]] if ids and name else StoredMessage()
        parties = {}
        if first.receiver_type == "user":
            parties = {first.sender: first.receiver, first.receiver: first.sender}
        elif first.receiver_type == "group":
            parties = dict.fromkeys(self._members.of(first.receiver), first.receiver)
        for uid, party in parties.items():
            view = self.view(uid, first.receiver_type, party, name)
            view.created_at = first.sent_at if isinstance(first.sent_at, int) else 0
            yield view

    def view(self, uid: str, kind: PartyKind, party: str, name: str = "") -> ConversationView:
        name = name or conversation_id(uid, party, kind)
        return self._views.setdefault((uid, name), ConversationView(uid, name, kind, party))

    def ids_of(self, uid: str, kind: Literal["read_id", "delivered_id", "reset_id"]) -> dict[str, int]:
        """Return the ids up to which a user has read, received or reset, by conversation; 0 is left out."""
        views = (view for (owner, _), view in self._views.items() if owner == uid)
        return {view.conversation: getattr(view, kind) for view in views if getattr(view, kind)}

    def last_message(self, view: ConversationView) -> StoredMessage | None:
        for number in reversed(self._messages.matching(conversation_list(view.conversation))):
            message = self._messages.messages[number]
            if number <= view.reset_id:
                break
            if message.category != "action":
                return message
        return None

    def last_activity_at(self, view: ConversationView) -> int:
        last = self.last_message(view)
        return last.sent_at if last is not None and isinstance(last.sent_at, int) else view.created_at

    def is_removed(self, view: ConversationView) -> bool:
        """Return True for a conversation that a reset has taken from the list, without a message since."""
        return bool(view.reset_id) and not view.is_listed_after_reset and self.last_message(view) is None

    def unread_count(self, view: ConversationView) -> int:
        """Return how many messages of others a user has not read; actions and deleted ones do not count."""
        return sum(
            each.read_at is UNSET and each.deleted_at is UNSET and each.category != "action"
            for each in self.messages_of_others(view, max(view.read_id, view.reset_id))
        )

    def messages_of_others(self, view: ConversationView, id: int = 0) -> list[StoredMessage]:
        ids = self._messages.matching(conversation_list(view.conversation))
        messages = (self._messages.messages[number] for number in ids[bisect_right(ids, id) :])
        return [each for each in messages if each.sender != view.uid]

    def clear(self) -> None:
        self._views.clear()
