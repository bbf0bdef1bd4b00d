"""Generated data: users, groups, members and messages from a seed; equal seed and sizes give equal bytes.

- Users and conversations are unevenly busy (Zipf). About one message in ten is in a group, of a member; its
  owner is an admin, every fifth other member a moderator.
- Ids ascend from 1 by 1, `sentAt` ascends from `EPOCH` with them. The files of messages are those of `media`.
- Only members of the conversation react, each at most once.
- An edit or a deletion (category `action`) is of a message that shows it; a call that is `ongoing` was
  `initiated` before in the same conversation.
"""

from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.json import encode

from ..media import FAMILY, FILES, GIVEN, LANGUAGES, MEDIA, MEDIA_SIZES, PHRASES, REACTIONS, TAGS
from . import Store
from .documents import Document, selected
from .message_index import conversation_id
from .views import Mark


class GeneratedConversation(Struct):
    """A conversation being generated, and what later messages in it may refer to."""

    id: str
    members: list[str]
    guid: str = ""
    root: str = ""
    """The message that thread replies answer."""
    changed: tuple[str, Document] | None = None
    """A message that shows an edit or a deletion whose action is still to come: (action, record)."""
    call: tuple[str, str, int] | None = None
    """A call that was initiated and has not begun: (session, audio or video, when)."""


class _Draft(NamedTuple):
    """A message to be written; `other` is the receiver, or in a group any other member."""

    conversation: GeneratedConversation
    number: int
    at: int
    sender: str
    other: str


class MessageWriter:
    def __init__(
        self, dice: Random, users: dict[str, Document], groups: dict[str, Document], media_url: str
    ) -> None:
        self._dice, self._media_url = dice, media_url
        names = ("uid", "name", "role", "status", "avatar")
        self._users = {uid: selected(user, names) for uid, user in users.items()}
        self._groups = groups
        self.reactions: list[Mark] = []

    def record(self, kind: str, conversation: GeneratedConversation, number: int, at: int) -> Document:
        """Return a message of this kind; a kind that is not possible here becomes a text."""
        sender, other = self._dice.sample(conversation.members, 2)
        draft = _Draft(conversation, number, at, sender, other)
        if kind == "call" and not conversation.guid:
            return self._call(draft)
        if kind == "action" and (action := self._action(draft)):
            return self._record(draft, "action", "message", action)
        if kind == "media":
            return self._record(draft, "message", *self._media(draft))
        if kind == "custom":
            return self._record(draft, "custom", *self._custom(draft))
        # An action without a message to act upon becomes a text that the next action is about.
        return self._text(draft, changed=kind == "action" or self._dice.random() < 0.03)

    def _record(self, draft: _Draft, category: str, type: str, data: Document, **fields: Any) -> Document:
        share, conversation = self._dice.random(), draft.conversation
        record = {
            "id": str(draft.number),
            "conversationId": conversation.id,
            "sender": draft.sender,
            "receiverType": "group" if conversation.guid else "user",
            "receiver": conversation.guid or draft.other,
            "category": category,
            "type": type,
            "data": data,
            "sentAt": draft.at,
            "updatedAt": draft.at,
            **fields,
        }
        if category not in ("action", "call"):
            record["muid"] = f"m-{draft.number}"
        if category != "action":
            record |= {"deliveredAt": draft.at + 1} if share < 0.9 else {}
            record |= {"readAt": draft.at + 2} if share < 0.75 else {}
        if 0.3 < share < 0.36:
            record["tags"] = [TAGS[int(share * 500) % len(TAGS)]]
        return record

    def _text(self, draft: _Draft, *, changed: bool) -> Document:
        roll, conversation, number = self._dice.random, draft.conversation, draft.number
        data, fields = Document(), Document()
        text = " ".join(self._dice.choices(PHRASES, k=1 + int(roll() * 4)))
        if roll() < 0.06:
            text += f" https://news.example.com/a/{number}?ref=chat"
        if roll() < 0.06:
            text += f" <@uid:{draft.other}>"
            data["mentions"] = {draft.other: self._users[draft.other]}
        if roll() < 0.06:
            reaction, most = REACTIONS[int(roll() * len(REACTIONS))], 1 + int(roll() * 3)
            data["reactions"] = [{"reaction": reaction, "count": self._react(draft, reaction, most)}]
        if roll() < 0.1:
            data["metadata"] = {"client": {"language": LANGUAGES[int(roll() * len(LANGUAGES))]}}
        resource = f"WEB-4_0_0-{number % 97}"
        data = {"text": text, "resource": resource, "entities": self._entities(draft), **data}
        if conversation.root and roll() < 0.06:
            fields["parentId"] = conversation.root
        elif roll() < 0.3:
            conversation.root = str(number)
        action = "deleted" if roll() < 0.4 else "edited"
        if changed:
            at = draft.at + 1 + int(roll() * 20)
            fields |= {"updatedAt": at, f"{action}At": at, f"{action}By": draft.sender}
        record = self._record(draft, "message", "text", data, **fields)
        if changed:
            conversation.changed = action, record
        return record

    def _react(self, draft: _Draft, reaction: str, most: int) -> int:
        """Let members of the conversation react; return how many did, as there may be fewer than `most`."""
        members, number = draft.conversation.members, draft.number
        count = min(most, len(members))
        for index in range(count):
            uid, at = members[(number + index) % len(members)], draft.at + 3 + index
            self.reactions.append(Mark(0, "reaction", number, uid, reaction, at))
        return count

    def _media(self, draft: _Draft) -> tuple[str, Document]:
        roll = self._dice.random
        kind, mime, extension = MEDIA[int(roll() * len(MEDIA))]
        name = f"{FILES[int(roll() * len(FILES))]}.{extension}"
        url = f"{self._media_url}{int(roll() * 10**12):012}.{extension}"
        file = {"mimeType": mime, "extension": extension, "size": MEDIA_SIZES[extension]}
        caption = {"text": PHRASES[int(roll() * len(PHRASES))]} if roll() < 0.3 else {}
        attachments = {"attachments": [{"url": url, "name": name, **file}], "url": url}
        return kind, {**caption, **attachments, "resource": "WEB-4_0_0", "entities": self._entities(draft)}

    def _custom(self, draft: _Draft) -> tuple[str, Document]:
        roll, kind = self._dice.random, "location"
        if roll() < 0.5:
            custom: Document = {"latitude": round(roll() * 90, 6), "longitude": round(roll() * 180, 6)}
        else:
            kind, question = "poll", PHRASES[int(roll() * len(PHRASES))]
            custom = {"question": question, "options": ["1", "2"], "votes": {}}
        return kind, {"customData": custom, "entities": self._entities(draft)}

    def _action(self, draft: _Draft) -> Document | None:
        """An edit or deletion whose message has arrived; else in a group an addition; else nothing."""
        conversation = draft.conversation
        if conversation.changed:
            (action, record), conversation.changed = conversation.changed, None
            return self._action_data(draft, action, _entity("message", record))
        if conversation.guid:
            return self._action_data(draft, "added", _entity("user", self._users[draft.other]))
        return None

    def _call(self, draft: _Draft) -> Document:
        """A call is initiated; the next call message of the conversation says that it has begun."""
        dice, conversation = self._dice, draft.conversation
        if conversation.call:
            (session, kind, at), conversation.call = conversation.call, None
            status, started = "ongoing", {"startedAt": draft.at}
        else:
            kind, at = "video" if dice.random() < 0.4 else "audio", draft.at
            session = f"v1.us.{dice.getrandbits(64):016x}"
            conversation.call, status, started = (session, kind, at), "initiated", {}
        channel = {"identity": f"[user]{draft.sender}", "service": "calls.example.com"}
        call = {
            "sessionid": session,
            "type": kind,
            "status": status,
            "sender": draft.sender,
            "receiver": draft.other,
            "receiverType": "user",
            "conversationId": conversation.id,
            "initiatedAt": at,
            "joinedAt": draft.at,
            **started,
            "wsChannel": {**channel, "secret": f"{dice.getrandbits(128):032x}"},
            "data": {"entities": self._entities(draft), "metadata": {}},
        }
        return self._record(draft, "call", kind, self._action_data(draft, status, _entity("call", call)))

    def _action_data(self, draft: _Draft, action: str, on: Document) -> Document:
        ends = self._entities(draft)
        return {"action": action, "entities": {"by": ends["sender"], "on": on, "for": ends["receiver"]}}

    def _entities(self, draft: _Draft) -> Document:
        conversation = draft.conversation
        if conversation.guid:
            receiver = _entity("group", self._groups[conversation.guid])
        else:
            user = self._users[draft.other] | {"conversationId": conversation.id}
            receiver = _entity("user", user)
        return {"sender": _entity("user", self._users[draft.sender]), "receiver": receiver}


def _entity(kind: str, entity: Document) -> Document:
    return {"entity": entity, "entityType": kind}


EPOCH: Final = 1_600_000_000
"""The second at which generated data begins."""
KINDS: Final = {"text": 70, "media": 10, "custom": 5, "action": 5, "call": 10}
"""Parts in a hundred."""
MEDIA_URL: Final = "https://media.example.com/files/"
"""The beginning of the addresses of files where no emulator serves them."""
_GROUP_SHARE = 0.1
_PAIRS_PER_USER = 3
_GroupRow: TypeAlias = tuple[Document, list[str]]


def fill(
    store: Store, users: int, messages: int, groups: int, *, seed: int, media_url: str = MEDIA_URL
) -> None:
    """Put generated data into an empty store; 100,000 messages take two or three seconds.

    `media_url` is the beginning of the addresses of files.
    """
    dice = Random(seed)  # noqa: S311 - generated data, and no keys
    user_records = [_user(dice, index, media_url) for index in range(users)]
    group_count = groups if users > 1 else 0
    group_rows = [_group(dice, index, groups, user_records, media_url) for index in range(group_count)]
    groups_by_guid = {group["guid"]: group for group, _ in group_rows}
    writer = MessageWriter(dice, {user["uid"]: user for user in user_records}, groups_by_guid, media_url)
    store.add_records(_records(dice, writer, user_records, group_rows, messages))
    store.marks.insert(writer.reactions)
    store.people.add_users(user_records)
    for group, uids in group_rows:
        store.people.add_group(group)
        # They join one second after the other, the owner first.
        for index, uid in enumerate(uids):
            scope = "admin" if uid == group["owner"] else "moderator" if index % 5 == 1 else "participant"
            store.members.add(group["guid"], uid, scope, group["createdAt"] + index)


def _user(dice: Random, index: int, media_url: str) -> Document:
    uid = f"user-{index + 1:03}"
    at = EPOCH - dice.randrange(10**6, 10**7)
    user: Document = {
        "uid": uid,
        "name": f"{dice.choice(GIVEN)} {dice.choice(FAMILY)}",
        "status": "available" if dice.random() < 0.2 else "offline",
        "role": "moderator" if dice.random() < 0.1 else "default",
        "avatar": f"{media_url}faces/{uid}.png",
        "createdAt": at,
        "updatedAt": at + dice.randrange(10**6),
        "lastActiveAt": EPOCH + dice.randrange(10**6),
    }
    if dice.random() < 0.3:
        user["metadata"] = {"team": dice.choice(("north", "süd", "東"))}
    if dice.random() < 0.3:
        user["tags"] = dice.sample(TAGS, 2)
    return user


def _group(dice: Random, index: int, groups: int, users: list[Document], media_url: str) -> _GroupRow:
    guid = f"group-{index + 1:0{max(2, len(str(groups)))}}"
    members = dice.sample([user["uid"] for user in users], min(len(users), dice.randrange(3, 30)))
    group = {
        "guid": guid,
        "name": f"Group {index + 1}",
        "icon": f"{media_url}faces/{guid}.png",
        "type": ("public", "private", "password")[index % 3],
        "owner": members[0],
        "createdAt": EPOCH - 10**5,
        "membersCount": len(members),
        "conversationId": f"group_{guid}",
        "updatedAt": EPOCH - 10**5,
    }
    return group, members


def _records(
    dice: Random, writer: MessageWriter, users: list[Document], group_rows: list[_GroupRow], messages: int
) -> Iterator[bytes]:
    if not messages:
        return
    conversations = _pairs(dice, users)
    weights = _zipf(len(conversations), 1 - _GROUP_SHARE if group_rows else 1)
    conversations += [
        GeneratedConversation(group["conversationId"], uids, group["guid"]) for group, uids in group_rows
    ]
    weights += _zipf(len(group_rows), _GROUP_SHARE)
    at, shares, kinds = EPOCH, list(accumulate(weights)), list(accumulate(KINDS.values()))
    for number in range(1, messages + 1):
        at += int(dice.random() * 120)
        [conversation] = dice.choices(conversations, cum_weights=shares)
        [kind] = dice.choices(list(KINDS), cum_weights=kinds)
        yield encode(writer.record(kind, conversation, number, at))


def _pairs(dice: Random, users: list[Document]) -> list[GeneratedConversation]:
    uids = [user["uid"] for user in users]
    weights = list(accumulate(_zipf(len(uids), 1)))
    pairs: dict[tuple[str, str], None] = {(uids[0], uids[1]): None}
    for _ in range(_PAIRS_PER_USER * len(uids)):
        uid, other = dice.choices(uids, cum_weights=weights, k=2)
        if uid != other and (other, uid) not in pairs:
            pairs[uid, other] = None
    return [GeneratedConversation(conversation_id(*pair), list(pair)) for pair in pairs]


def _zipf(count: int, total: float) -> list[float]:
    shares = [1 / rank for rank in range(1, count + 1)]
    all_shares = sum(shares)
    return [total * share / all_shares for share in shares]
