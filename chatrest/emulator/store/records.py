"""Writes made messages as JSON text, one method a kind (specification, Message record)."""

import json
from random import Random
from typing import Any, NamedTuple, Self, final

from .phrases import FILES, LANGUAGES, MEDIA, PHRASES, REACTIONS, TAGS
from .rows import conversation_id

_PHRASES = tuple(json.dumps(phrase, ensure_ascii=False)[1:-1] for phrase in PHRASES)
_ENTITY = ("uid", "name", "role", "status", "avatar")


@final
class Talk:
    """A conversation being made, and what later messages in it may refer to."""

    __slots__ = ("call", "changed", "guid", "id", "members", "receivers", "root")

    def __init__(self, id: str, members: list[str], guid: str = "") -> None:
        self.id = id
        self.members = members
        self.guid = guid
        self.receivers: dict[str, str] = {}
        """Entity wrappers of receivers, with `conversationId`, written once."""
        self.root = ""
        """The message that thread replies answer."""
        self.changed: tuple[str, str] | None = None
        """A message that shows an edit or a deletion whose action is still to come: (action, record)."""
        self.call: tuple[str, str, int] | None = None
        """A call that was initiated and has not begun: (session, audio or video, when)."""

    @classmethod
    def of_two(cls, one: str, other: str) -> Self:
        """The conversation of two users."""
        return cls(conversation_id(one, other), [one, other])

    @classmethod
    def of_group(cls, group: dict[str, Any], members: list[str]) -> Self:
        """The conversation of a group's members."""
        return cls(group["conversationId"], members, group["guid"])


class _Turn(NamedTuple):
    """Who says something to whom, where and when; `other` is any member where the talk is a group's."""

    talk: Talk
    number: int
    at: int
    sender: str
    other: str


@final
class Writer:
    """Writes records; every choice is made with `dice`."""

    def __init__(
        self, dice: Random, users: dict[str, dict[str, Any]], groups: dict[str, dict[str, Any]]
    ) -> None:
        self._dice = dice
        self._users = {uid: _json({name: user[name] for name in _ENTITY}) for uid, user in users.items()}
        self._senders = {uid: _wrapped("user", user) for uid, user in self._users.items()}
        self._groups = {guid: _wrapped("group", _json(group)) for guid, group in groups.items()}

    def record(self, kind: str, talk: Talk, number: int, at: int) -> str:
        """A message of this kind as JSON text; what cannot be made of it here becomes a text."""
        sender, other = self._dice.sample(talk.members, 2)
        turn = _Turn(talk, number, at, sender, other)
        if kind == "call" and not talk.guid:
            return self._call(turn)
        if kind == "action" and (action := self._action(turn)):
            return self._record(turn, "action", "message", action)
        if kind == "media":
            return self._record(turn, "message", *self._media(turn))
        if kind == "custom":
            return self._record(turn, "custom", *self._custom(turn))
        # An action with nothing to act upon makes a text that the next action is about.
        return self._text(turn, changed=kind == "action" or self._dice.random() < 0.03)

    def _record(
        self, turn: _Turn, category: str, type: str, data: str, more: str = "", changed_at: int = 0
    ) -> str:
        pick, talk = self._dice.random(), turn.talk
        if category != "action":
            more += f',"deliveredAt":{turn.at + 1}' if pick < 0.9 else ""
            more += f',"readAt":{turn.at + 2}' if pick < 0.75 else ""
        more += f',"tags":["{TAGS[int(pick * 500) % len(TAGS)]}"]' if 0.3 < pick < 0.36 else ""
        receiver, receiver_type = (talk.guid, "group") if talk.guid else (turn.other, "user")
        return (
            f'{{"id":"{turn.number}","conversationId":"{talk.id}","sender":"{turn.sender}",'
            f'"receiverType":"{receiver_type}","receiver":"{receiver}","category":"{category}",'
            f'"type":"{type}","data":{data},"sentAt":{turn.at},"updatedAt":{changed_at or turn.at}{more}}}'
        )

    def _text(self, turn: _Turn, *, changed: bool) -> str:
        pick, talk = self._dice.random, turn.talk
        words, rest = self._said(turn)
        data = f'{{"text":"{words}","resource":"WEB-4_0_0-{turn.number % 97}",{self._entities(turn)}{rest}}}'
        more, at = "", 0
        if talk.root and pick() < 0.06:
            more = f',"parentId":"{talk.root}"'
        elif pick() < 0.3:
            talk.root = str(turn.number)
        action = "deleted" if pick() < 0.4 else "edited"
        if changed:
            at = turn.at + 1 + int(pick() * 20)
            more += f',"{action}At":{at},"{action}By":"{turn.sender}"'
        record = self._record(turn, "message", "text", data, more, at)
        if changed:
            talk.changed = action, record
        return record

    def _said(self, turn: _Turn) -> tuple[str, str]:
        """The words of a text, and the members of its `data` that come and go."""
        pick, rest = self._dice.random, ""
        words = " ".join(self._dice.choices(_PHRASES, k=1 + int(pick() * 4)))
        if pick() < 0.06:
            words += f" https://news.example.com/a/{turn.number}?ref=chat"
        if pick() < 0.06:
            words += f" <@uid:{turn.other}>"
            rest += f',"mentions":{{"{turn.other}":{self._users[turn.other]}}}'
        if pick() < 0.06:
            reaction, count = REACTIONS[int(pick() * len(REACTIONS))], 1 + int(pick() * 3)
            rest += f',"reactions":[{{"reaction":"{reaction}","count":{count}}}]'
        if pick() < 0.1:
            language = LANGUAGES[int(pick() * len(LANGUAGES))]
            rest += f',"metadata":{{"client":{{"language":"{language}"}}}}'
        return words, rest

    def _media(self, turn: _Turn) -> tuple[str, str]:
        pick = self._dice.random
        kind, mime, extension = MEDIA[int(pick() * len(MEDIA))]
        name = f"{FILES[int(pick() * len(FILES))]}.{extension}"
        url = f"https://media.example.com/files/{int(pick() * 10**12):012}.{extension}"
        attachment = (
            f'{{"url":"{url}","name":"{name}","mimeType":"{mime}","extension":"{extension}",'
            f'"size":{int(pick() * 5_000_000)}}}'
        )
        caption = f'"text":"{_PHRASES[int(pick() * len(_PHRASES))]}",' if pick() < 0.3 else ""
        rest = f'"attachments":[{attachment}],"url":"{url}","resource":"WEB-4_0_0"'
        return kind, f"{{{caption}{rest},{self._entities(turn)}}}"

    def _custom(self, turn: _Turn) -> tuple[str, str]:
        pick = self._dice.random
        if pick() < 0.5:
            kind, custom = "location", f'{{"latitude":{pick() * 90:.6f},"longitude":{pick() * 180:.6f}}}'
        else:
            question = _PHRASES[int(pick() * len(_PHRASES))]
            kind, custom = "poll", f'{{"question":"{question}","options":["1","2"],"votes":{{}}}}'
        return kind, f'{{"customData":{custom},{self._entities(turn)}}}'

    def _action(self, turn: _Turn) -> str:
        """An edit or deletion whose message has come; else in a group an addition; else nothing."""
        talk = turn.talk
        if talk.changed:
            (action, record), talk.changed = talk.changed, None
            on = _wrapped("message", record)
        elif talk.guid:
            action, on = "added", self._senders[turn.other]
        else:
            return ""
        return self._acted(turn, action, on)

    def _call(self, turn: _Turn) -> str:
        """A call is initiated; the next call message of the conversation says that it has begun."""
        dice, talk = self._dice, turn.talk
        if talk.call:
            (session, kind, at), talk.call = talk.call, None
            status, started = "ongoing", f',"startedAt":{turn.at}'
        else:
            kind, at = "video" if dice.random() < 0.4 else "audio", turn.at
            session = f"v1.us.{dice.getrandbits(64):016x}"
            talk.call, status, started = (session, kind, at), "initiated", ""
        call = (
            f'{{"sessionid":"{session}","type":"{kind}","status":"{status}","sender":"{turn.sender}",'
            f'"receiver":"{turn.other}","receiverType":"user","conversationId":"{talk.id}",'
            f'"initiatedAt":{at},"joinedAt":{turn.at}{started},"wsChannel":{{"identity":"[user]{turn.sender}",'
            f'"service":"calls.example.com","secret":"{dice.getrandbits(128):032x}"}},'
            f'"data":{{{self._entities(turn)},"metadata":{{}}}}}}'
        )
        return self._record(turn, "call", kind, self._acted(turn, status, _wrapped("call", call)))

    def _acted(self, turn: _Turn, action: str, on: str) -> str:
        by, whom = self._senders[turn.sender], self._receiver(turn)
        return f'{{"action":"{action}","entities":{{"by":{by},"on":{on},"for":{whom}}}}}'

    def _entities(self, turn: _Turn) -> str:
        return f'"entities":{{"sender":{self._senders[turn.sender]},"receiver":{self._receiver(turn)}}}'

    def _receiver(self, turn: _Turn) -> str:
        talk, other = turn.talk, turn.other
        if talk.guid:
            return self._groups[talk.guid]
        if other not in talk.receivers:
            entity = f'{self._users[other][:-1]},"conversationId":"{talk.id}"}}'
            talk.receivers[other] = _wrapped("user", entity)
        return talk.receivers[other]


def _wrapped(kind: str, entity: str) -> str:
    return f'{{"entity":{entity},"entityType":"{kind}"}}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
