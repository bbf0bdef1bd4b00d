"""A service for exports of parts: users that come and go, groups that are left, edits and deletions; and what
such an export holds, as its user would read it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from chatrest.emulator.store import Store
from chatrest.export.plan.parts import NAME, Parts
from tests.support.export_runs import START, edit, raws_of


class ChangingService:
    """A service that changes by days; drawn by `dice`."""

    def __init__(self, store: Store, dice: Random) -> None:
        self.store, self.dice = store, dice
        self.users: dict[str, bool] = {}
        self.members: dict[str, set[str]] = {}
        for _ in range(dice.randrange(3, 9)):
            self._join_app()
        for number in range(dice.randrange(3)):
            guid = f"g{number}"
            store.add_group(guid)
            self.members[guid] = set(dice.sample(sorted(self.users), dice.randrange(1, len(self.users))))

    @property
    def active_users(self) -> list[str]:
        return sorted(uid for uid, is_active in self.users.items() if is_active)

    def pass_day(self, most: int = 50) -> None:
        for _ in range(self.dice.randrange(most)):
            self._step()

    def _step(self) -> None:
        changes = [self._join_app_and_groups, self._leave_app, self._return, self._leave_group, self._delete]
        changes += [self._edit] * 2 + [self._send_to_group] * 6 + [self._send_to_user] * 27
        self.dice.choice(changes)()

    def _join_app_and_groups(self) -> None:
        self._join_app()
        uid = list(self.users)[-1]
        for guid, members in self.members.items():
            if self.dice.random() < 0.4:
                members.add(uid)
                self.store.show(self.of_group(guid), f"u:{uid}")

    def _leave_app(self) -> None:
        if len(self.active_users) > 2:
            uid = self.dice.choice(self.active_users)
            self.users[uid] = False
            self.store.people.remove_user(uid)

    def _return(self) -> None:
        if inactive_users := sorted(self.users.keys() - set(self.active_users)):
            uid = self.dice.choice(inactive_users)
            self.users[uid] = True
            self.store.add_user(uid)

    def _leave_group(self) -> None:
        if groups := [guid for guid in sorted(self.members) if len(self.members[guid]) > 1]:
            guid = self.dice.choice(groups)
            uid = self.dice.choice(sorted(self.members[guid]))
            self.members[guid].remove(uid)
            self.store.hide(self.of_group(guid), f"u:{uid}")

    def _delete(self) -> None:
        if ids := self.store.ids():
            number = self.dice.choice(ids)
            self.store.remove([number])

    def _send_to_group(self) -> None:
        if self.members:
            guid = self.dice.choice(sorted(self.members))
            if senders := sorted(self.members[guid] & set(self.active_users)):
                self.send(self.dice.choice(senders), guid)

    def _send_to_user(self) -> None:
        if len(self.active_users) > 1:
            self.send(*self.dice.sample(self.active_users, 2))

    def _join_app(self) -> None:
        uid = f"u{len(self.users)}"
        self.users[uid] = True
        self.store.add_user(uid)

    def _edit(self) -> None:
        """Edit a message, of a group by anybody: the conversation shows that by another message."""
        if not (ids := self.texts()):
            return
        number, by = self.dice.choice(ids), self.dice.choice(self.active_users)
        entity = json.loads(edit(self.store, number, f"edited {self.dice.random()}"))
        if entity["receiverType"] == "user":
            by = entity["sender"]
        entities = {"on": {"entity": entity, "entityType": "message"}}
        data = {"action": "edited", "entities": entities}
        self.send(by, entity["receiver"], category="action", type="message", data=data)

    def send(self, sender: str, receiver: str, **more: Any) -> None:
        number = self.store.last_id + 1
        is_group = receiver in self.members
        kind = "group" if is_group else "user"
        at = START + number
        self.store.add_message(sender, receiver, f"{number}", receiver_type=kind, sent_at=at, **more)
        for member in self.members.get(receiver, ()):
            if member != sender:
                self.store.show([number], f"u:{member}")
        if is_group and sender not in self.members[receiver]:
            self.store.hide([number], f"u:{sender}")

    def of_group(self, guid: str) -> list[int]:
        return list(self.store.matching(f"c:group_{guid}"))

    def texts(self) -> list[int]:
        ids = self.store.ids()
        records = zip(ids, self.store.records(ids), strict=True)
        return [number for number, raw in records if json.loads(raw)["category"] == "message"]

    def visible(self, *, with_groups: bool) -> set[int]:
        lists = [f"u:{uid}" for uid in self.active_users]
        lists += [f"c:group_{guid}" for guid in self.members if with_groups]
        return {number for name in lists for number in self.store.matching(name)}


def parts_of(out: Path) -> Iterator[Path]:
    return iter(sorted(path for path in out.glob("part=*") if path.is_dir()))


def stored(out: Path) -> list[bytes]:
    return [raw for part in parts_of(out) for raw in raws_of(part)]


def parts_in(out: Path) -> Parts:
    return Parts.parse((out / NAME).read_bytes(), out)
