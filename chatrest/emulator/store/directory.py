"""Users, groups, the members of groups, and users in relation to others: blocked, friends, banned.

Users and groups are in the order in which they were added.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from ...errors import RequestInvalidError
from .documents import Document, selected

SYSTEM: Final = {"uid": "app_system", "name": "System", "role": "default", "status": "available"}


class Directory:
    def __init__(self) -> None:
        self.users: dict[str, Document] = {}
        """All records by uid, with tags; those of users that are switched off have `deactivatedAt`."""
        self.groups: dict[str, Document] = {}

    def add_users(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Store user records, each with `uid` and `name`; `RequestInvalidError` for a uid that exists."""
        for record in records:
            if record["uid"] in self.users:
                raise RequestInvalidError(f"uid = {record['uid']!r}: this user exists already")
            self.users[record["uid"]] = dict(record)

    def add_group(self, record: Mapping[str, Any]) -> None:
        """Store a group record, with `guid`; `RequestInvalidError` for a guid that exists."""
        if record["guid"] in self.groups:
            raise RequestInvalidError(f"guid = {record['guid']!r}: this group exists already")
        counted = {"membersCount": 0, "conversationId": f"group_{record['guid']}"}
        self.groups[record["guid"]] = {**counted, **record}

    def user(self, uid: str) -> Document | None:
        """Return a user's record without tags; None if there is none, or where the user is switched off."""
        record = self.users.get(uid)
        return None if record is None or "deactivatedAt" in record else untagged(record)

    def remove_user(self, uid: str) -> None:
        self.users.pop(uid, None)

    def uids(self) -> list[str]:
        return list(self.users)

    def entity(self, receiver_type: str, receiver: str) -> Document:
        """Return the entity wrapper of a user or a group, as it is in a message's `data.entities`."""
        if receiver_type == "user":
            record = selected(self.user(receiver) or SYSTEM, ("uid", "name", "role", "status", "avatar"))
        else:
            record = self.groups.get(receiver, SYSTEM)
        return {"entity": dict(record), "entityType": receiver_type}


def untagged(record: Document) -> Document:
    return {name: value for name, value in record.items() if name != "tags"}


class Membership(NamedTuple):
    scope: str
    joined_at: int

    @property
    def fields(self) -> Document:
        return {"scope": self.scope, "joinedAt": self.joined_at}


class Memberships:
    def __init__(self, groups: dict[str, Document], relations: "Relations") -> None:
        self._groups, self._relations = groups, relations
        self._members: dict[str, dict[str, Membership]] = {}

    def of(self, guid: str) -> dict[str, Membership]:
        return self._members.setdefault(guid, {})

    def add(self, guid: str, uid: str, scope: str = "participant", joined_at: int = 0) -> None:
        """Add a member, or change it; `scope` is admin, moderator or participant."""
        self.of(guid)[uid] = Membership(scope, joined_at)
        self._count(guid)

    def remove(self, guid: str, uid: str) -> None:
        self.of(guid).pop(uid, None)
        self._count(guid)

    def ban(self, guid: str, uid: str, at: int = 0) -> None:
        self._relations.add("banned", guid, uid, at)
        self.remove(guid, uid)

    def guids(self, uid: str) -> list[str]:
        return [guid for guid, members in self._members.items() if uid in members]

    def _count(self, guid: str) -> None:
        if guid in self._groups:
            self._groups[guid]["membersCount"] = len(self.of(guid))


Relation: TypeAlias = Literal["banned", "blocked", "friend"]


class Relations:
    """Users in relation to an owner: to another user, or to the group that they are banned from."""

    def __init__(self) -> None:
        self._relations: dict[tuple[Relation, str], dict[str, int]] = {}

    def of(self, kind: Relation, owner: str) -> dict[str, int]:
        return self._relations.setdefault((kind, owner), {})

    def add(self, kind: Relation, owner: str, uid: str, at: int = 0) -> None:
        """Put `uid` into a relation to `owner` at a time; one that exists stays as it is."""
        self.of(kind, owner).setdefault(uid, at)

    def remove_user(self, uid: str) -> None:
        for (kind, owner), uids in self._relations.items():
            uids.pop(uid, None)
            if owner == uid and kind != "banned":
                uids.clear()
