"""Generated data: users, groups, members and messages from a seed; equal seed and sizes give equal bytes.

Rules:
- Messages that users have sent have a `muid`; the files of their attachments are those of `media`.
- Users are unevenly busy (Zipf): the first is the busiest; conversations likewise.
- Only members write in a group. Its owner is an admin, every fifth other member a moderator.
- About one message in ten is in a group, where there are groups.
- Ids ascend from 1 by 1, `sentAt` ascends from `EPOCH` with them.
- An edit or a deletion (category `action`) is of a message that shows it; a call that is `ongoing` was
  `initiated` before in the same conversation.

Records are written as text, not as objects: the command's demo makes 100,000 of them at its start.
"""

from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import Any, Final, TypeAlias

from .members import Member
from .message_writer import Conversation, Writer
from .phrases import FAMILY, GIVEN, TAGS
from .store import Store

EPOCH: Final = 1_600_000_000
"""The second at which generated data begins."""
KINDS: Final = {"text": 70, "media": 10, "custom": 5, "action": 5, "call": 10}
"""Parts in a hundred."""
MEDIA_URL: Final = "https://media.example.com/files/"
"""The beginning of the addresses of files where no emulator serves them."""
_GROUP_SHARE = 0.1
_PAIRS_PER_USER = 3
_Room: TypeAlias = tuple[dict[str, Any], list[str]]
"""A group's record, and the uids of its members."""


def fill(
    store: Store, *, users: int, messages: int, groups: int, seed: int, media_url: str = MEDIA_URL
) -> None:
    """Put generated data into an empty store; 100,000 messages take two or three seconds.

    `media_url` is the beginning of the addresses of files.
    """
    dice = Random(seed)  # noqa: S311 - generated data, and no keys
    user_records = [_user(dice, index, users) for index in range(users)]
    group_count = groups if users > 1 else 0
    rooms = [_group(dice, index, groups, user_records) for index in range(group_count)]
    records = _records(store, dice, user_records, rooms, messages, media_url)
    store.add_all(user_records, [group for group, _ in rooms], records, _members(rooms))


def _user(dice: Random, index: int, users: int) -> dict[str, Any]:
    uid = f"user-{index + 1:0{max(2, len(str(users)))}}"
    at = EPOCH - dice.randrange(10**6, 10**7)
    user: dict[str, Any] = {
        "uid": uid,
        "name": f"{dice.choice(GIVEN)} {dice.choice(FAMILY)}",
        "status": "available" if dice.random() < 0.2 else "offline",
        "role": "moderator" if dice.random() < 0.1 else "default",
        "avatar": f"https://media.example.com/avatars/{uid}.png",
        "createdAt": at,
        "updatedAt": at + dice.randrange(10**6),
        "lastActiveAt": EPOCH + dice.randrange(10**6),
    }
    if dice.random() < 0.3:
        user["metadata"] = {"team": dice.choice(("north", "süd", "東"))}
    if dice.random() < 0.3:
        user["tags"] = dice.sample(TAGS, 2)
    return user


def _group(dice: Random, index: int, groups: int, users: list[dict[str, Any]]) -> _Room:
    guid = f"group-{index + 1:0{max(2, len(str(groups)))}}"
    members = dice.sample([user["uid"] for user in users], min(len(users), dice.randrange(3, 30)))
    group = {
        "guid": guid,
        "name": f"Group {index + 1}",
        "type": ("public", "private", "password")[index % 3],
        "owner": members[0],
        "createdAt": EPOCH - 10**5,
        "membersCount": len(members),
        "conversationId": f"group_{guid}",
        "updatedAt": EPOCH - 10**5,
    }
    return group, members


def _members(rooms: list[_Room]) -> Iterator[tuple[str, str, Member]]:
    """The members of every group, as they join one second after the other, the owner first."""
    for group, uids in rooms:
        for index, uid in enumerate(uids):
            scope = "moderator" if index % 5 == 1 else "participant"
            scope = "admin" if uid == group["owner"] else scope
            yield group["guid"], uid, Member(scope, group["createdAt"] + index)


def _records(
    store: Store,
    dice: Random,
    users: list[dict[str, Any]],
    rooms: list[_Room],
    messages: int,
    media_url: str,
) -> Iterator[bytes]:
    if not messages:
        return
    conversations = _pairs(dice, users)
    weights = _zipf(len(conversations), 1 - _GROUP_SHARE if rooms else 1)
    conversations += [Conversation.of_group(group, members) for group, members in rooms]
    weights += _zipf(len(rooms), _GROUP_SHARE)
    groups = {room["guid"]: room for room, _ in rooms}
    writer = Writer(dice, {user["uid"]: user for user in users}, groups, media_url)
    at, shares, kinds = EPOCH, list(accumulate(weights)), list(accumulate(KINDS.values()))
    names = list(KINDS)
    for number in range(1, messages + 1):
        at += int(dice.random() * 120)
        [conversation] = dice.choices(conversations, cum_weights=shares)
        [kind] = dice.choices(names, cum_weights=kinds)
        yield writer.record(kind, conversation, number, at + store.skew(number)).encode()


def _pairs(dice: Random, users: list[dict[str, Any]]) -> list[Conversation]:
    """Return conversations of two, the busiest first; the first user is in more of them than any other."""
    uids = [user["uid"] for user in users]
    weights = list(accumulate(_zipf(len(uids), 1)))
    pairs: dict[tuple[str, str], None] = {(uids[0], uids[1]): None}
    for _ in range(_PAIRS_PER_USER * len(uids)):
        uid, other = dice.choices(uids, cum_weights=weights, k=2)
        if uid != other and (other, uid) not in pairs:
            pairs[uid, other] = None
    return [Conversation.of_pair(*pair) for pair in pairs]


def _zipf(count: int, total: float) -> list[float]:
    shares = [1 / rank for rank in range(1, count + 1)]
    all_shares = sum(shares)
    return [total * share / all_shares for share in shares]
