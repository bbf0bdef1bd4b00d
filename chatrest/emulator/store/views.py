"""Marks of users on messages, and their views of conversations.

Rules:
- A conversation begins with its first message, or is added without one.
- Users see the conversations that they send or receive in, and those of the groups that they are members of.
- The last message is the newest one that is no action; actions on messages move no conversation.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Literal, NamedTuple, TypeAlias

from msgspec import UNSET, Struct

from .directory import Memberships
from .documents import Document
from .message_index import MessageLists, StoredMessage, conversation_id, conversation_list


class Mark(NamedTuple):
    id: int
    kind: str
    """save, subscription or reaction."""
    message: int
    owner: str
    value: str = ""
    """The emoji of a reaction."""
    at: int = 0
    """In epoch seconds."""


class MessageMarks:
    def __init__(self) -> None:
        self._marks: dict[int, list[Mark]] = {}
        self._ids = count(1)

    def on(self, message: int) -> list[Mark]:
        return self._marks.get(message, [])

    def add(self, kind: str, message: int, owner: str, at: int = 0, value: str = "") -> bool:
        """Store a mark; False if it is there already, and then it keeps its time."""
        if self._find(kind, message, owner, value):
            return False
        self.insert([Mark(0, kind, message, owner, value, at)])
        return True

    def insert(self, marks: Iterable[Mark]) -> None:
        for mark in marks:
            self._marks.setdefault(mark.message, []).append(mark._replace(id=next(self._ids)))

    def remove(self, kind: str, message: int, owner: str, value: str = "") -> bool:
        matches = self._find(kind, message, owner, value)
        for mark in matches:
            self._marks[message].remove(mark)
        return bool(matches)

    def _find(self, kind: str, message: int, owner: str, value: str) -> list[Mark]:
        wanted = kind, message, owner, value
        return [mark for mark in self.on(message) if mark[1:5] == wanted]

    def forget(self, messages: Iterable[int]) -> None:
        for message in messages:
            self._marks.pop(message, None)


Kind: TypeAlias = Literal["user", "group"]
Receipt: TypeAlias = Literal["read", "delivered"]


class _Conversation(NamedTuple):
    kind: Kind
    sender: str
    """Of the first message."""
    receiver: str
    created_at: int


class ConversationView(Struct):
    uid: str
    conversation: str
    kind: Kind
    party: str
    """The other user's uid, or the group's guid."""
    created_at: int = 0
    read_id: int = 0
    delivered_id: int = 0
    reset_id: int = 0
    """The last message that the user has removed from the own view; 0 for none."""
    kept_at: int | None = None
    """The time that a reset conversation keeps in the list."""
    tags: tuple[str, ...] = ()
    pinned_at: int | None = None


class ConversationViews:
    def __init__(self, messages: MessageLists, members: Memberships) -> None:
        self._messages, self._members = messages, members
        self._conversations: dict[str, _Conversation] = {}
        self._views: dict[tuple[str, str], ConversationView] = {}
        self.app_pins: dict[tuple[str, str], Document] = {}
        """The pins of the app, which are for all users, by kind and party."""

    def note(self, messages: Iterable[StoredMessage]) -> None:
        """Begin the conversations of new messages that have none yet."""
        for each in messages:
            name = each.conversation_id
            if name and name not in self._conversations and each.receiver_type in ("user", "group"):
                at = each.sent_at if isinstance(each.sent_at, int) else 0
                began = _Conversation(each.receiver_type, each.sender, each.receiver, at)
                self._conversations[name] = began

    def add(self, uid: str, party: str, at: int) -> None:
        """Add the conversation of two users that has no message yet; one that exists stays as it is."""
        self._conversations.setdefault(conversation_id(uid, party), _Conversation("user", uid, party, at))

    def all(self, uid: str | None, conversation: str | None = None) -> list[ConversationView]:
        """Return the views of a user, or of all users; of one conversation, or of all."""
        names = self._conversations if conversation is None else {conversation} & self._conversations.keys()
        views = (view for name in names for view in self._of(name, self._conversations[name]))
        return [view for view in views if uid in (None, view.uid)]

    def _of(self, name: str, about: _Conversation) -> Iterator[ConversationView]:
        parties = {about.sender: about.receiver, about.receiver: about.sender}
        if about.kind == "group":
            parties = dict.fromkeys(self._members.of(about.receiver), about.receiver)
        for uid, party in parties.items():
            view = self.view(uid, about.kind, party, name)
            view.created_at = about.created_at
            yield view

    def view(self, uid: str, kind: Kind, party: str, name: str = "") -> ConversationView:
        name = name or conversation_id(uid, party, kind)
        return self._views.setdefault((uid, name), ConversationView(uid, name, kind, party))

    def ids_of(self, uid: str, kind: Literal["read_id", "delivered_id", "reset_id"]) -> dict[str, int]:
        """Return the last message up to which a user has done so, by conversation; others are left out."""
        views = (view for (owner, _), view in self._views.items() if owner == uid)
        return {view.conversation: getattr(view, kind) for view in views if getattr(view, kind)}

    def last(self, view: ConversationView) -> StoredMessage | None:
        """Return the last message that a user sees; None if there is none."""
        for number in reversed(self._messages.matching(conversation_list(view.conversation))):
            message = self._messages.messages[number]
            if number <= view.reset_id:
                break
            if message.category != "action":
                return message
        return None

    def is_removed(self, view: ConversationView) -> bool:
        """Return True for a conversation that its user has reset, without a message since and without a place
        kept in the list.
        """
        return bool(view.reset_id) and view.kept_at is None and self.last(view) is None

    def unread_count(self, view: ConversationView) -> int:
        """Return how many messages of others a user has not read; actions and deleted ones do not count."""
        return sum(
            each.read_at is UNSET and each.deleted_at is UNSET and each.category != "action"
            for each in self.of_others(view, max(view.read_id, view.reset_id))
        )

    def of_others(self, view: ConversationView, id: int = 0) -> list[StoredMessage]:
        return [each for each in self._since(view, id) if each.sender != view.uid]

    def _since(self, view: ConversationView, id: int) -> list[StoredMessage]:
        ids = self._messages.matching(conversation_list(view.conversation))
        return [self._messages.messages[number] for number in ids[bisect_right(ids, id) :]]

    def forget(self) -> None:
        self._conversations.clear()
        self._views.clear()
