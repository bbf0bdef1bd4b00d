"""Random apps, kills, departures and lost files: the export holds what was shown, each message once."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from chatrest._core.replies.rows import Row
from chatrest._core.send import AsRows
from chatrest._parameters.messages import MessageQuery
from chatrest._resources.messages import Messages
from chatrest.errors import NotFoundError
from chatrest.export import Plan, Report, export
from chatrest.export.folder.journal import NAME as JOURNAL, Journal
from chatrest.export.plan.file_names import HISTORY
from chatrest.export.plan.message_ids import ids_of, key_of
from chatrest.export.plan.ownership import Source
from tests.support.export_runs import (
    GROUPS,
    START,
    USERS,
    Served,
    edit,
    files_of,
    forget_user,
    hide,
    raws_of,
    served,
)
from tests.support.simulated_crashes import Fate, dies

FORMATS: list[dict[str, Any]] = [
    {},
    {"partition": "none"},
    {"partition": "month", "compress": "gzip"},
    {"partition": "day"},
]
APP_LIST = Source("everything")
FAST = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
PLANS: list[dict[str, Any]] = [
    {"all_users": True},
    {"all_users": True, "groups": GROUPS, "pairs": (("ann", "bob"),)},
    {"users": ("ann", "bob"), "groups": GROUPS[:1]},
    {"pairs": (("ann", "bob"), ("ann", "cat")), "users": ("cat",)},
    {"everything": True},
]
cases = st.tuples(st.sampled_from(PLANS), st.sampled_from(FORMATS), st.integers(0, 2**32), st.integers(1, 4))


class World:
    """A service, and everything that its lists have shown to the plan's sources."""

    def __init__(self, service: Served, plan: Plan, dice: Random, out: Path) -> None:
        self.service, self.plan, self.dice, self.out = service, plan, dice, out
        self.next_id = 1
        self.shown: dict[Source, dict[str, Row]] = {}
        self.users = set(USERS)
        self.app: set[str] = set()
        """What the app's own list has shown."""

    async def look(self) -> dict[Source, dict[str, Row]]:
        """Read every list of the plan, as it is now; what was shown once is remembered."""
        messages = Messages(AsRows(self.service.session.sender))
        query = MessageQuery(affix="append")
        self.app |= {key_of(row) for row in await messages.list(query=query).thorough().collect()}
        lists: dict[Source, dict[str, Row]] = {}
        for source in self.sources():
            try:
                rows = await source.list(messages, query).thorough().collect()
            except NotFoundError:
                continue
            lists[source] = {key_of(row): row for row in rows}
            self.shown.setdefault(source, {}).update(lists[source])
        return lists

    def all_shown(self, source: Source) -> set[str]:
        return self.app if source == APP_LIST else set(self.shown.get(source, ()))

    def sources(self) -> list[Source]:
        users = [Source("user", (uid,)) for uid in self.users] if self.plan.all_users else []
        return [*self.plan.sources, *users]

    def write(self, count: int) -> None:
        """New messages of all kinds, some with ids that are not numbers, or far apart."""
        records = []
        for _ in range(count):
            sender, receiver = self.dice.sample(USERS[:4], 2)
            is_group = self.dice.random() < 0.3
            self.next_id += self.dice.choice([1, 1, 1, 7, 5000])
            record = {
                "id": str(self.next_id) if self.dice.random() < 0.9 else f"m-{self.next_id}",
                "sender": sender,
                "receiverType": "group" if is_group else "user",
                "receiver": self.dice.choice(GROUPS) if is_group else receiver,
                "sentAt": START + self.next_id * 100,
            }
            records.append(json.dumps(record).encode())
        self.service.store.add_records(records)
        numbers = self.service.store.ids()
        if numbers and self.dice.random() < 0.7:  # lists that do not show what the rule says
            hide(self.service.store, self.dice.sample(numbers, 1), f"u:{self.dice.choice(USERS)}")

    def happen(self) -> None:
        """One of the things that happen between two runs."""
        match self.dice.randrange(4):
            case 0 if self.plan.all_users and len(self.users) > 2:
                in_pairs = {uid for pair in self.plan.pairs for uid in pair}  # a pair's list is refused then
                uid = self.dice.choice(sorted(self.users - in_pairs) or ["nobody"])
                self.users.discard(uid)
                forget_user(self.service.store, uid)
            case 1 if files := files_of(self.out):
                self.dice.choice(files).unlink()
            case 2 if numbers := self.service.store.ids():
                edit(self.service.store, self.dice.choice(numbers), "edited")
            case _:
                self.write(self.dice.randrange(12))


async def check(world: World, report: Report, lists: dict[Source, dict[str, Row]]) -> None:
    """Compare the folder and the journal's sets with what the lists have shown, the app's own list, too."""
    stored = Counter(key_of(Row(str(json.loads(raw)["id"]))) for raw in raws_of(world.out))
    assert not stored or max(stored.values()) == 1
    ever = {key for rows in world.shown.values() for key in rows}
    assert stored.keys() <= ever | world.app
    if report.complete:
        now = {key for rows in lists.values() for key in rows}
        assert now <= stored.keys(), f"{sorted(now - stored.keys())} are missing"
        assert len(ever - stored.keys()) <= report.missing
    with Journal(world.out / JOURNAL) as journal:
        in_files = ids_of([Row(key) for key in stored])
        held = [file for file in journal.files("open", "sealed") if file.stem != HISTORY]
        assert journal.ids_in(held).numbers == in_files.numbers
        assert set(journal.keys_of(journal.ids_in(held)).values()) == set(in_files.others)
        by_app = journal.seen(journal.source_number(APP_LIST.key))
        assert in_files.numbers <= journal.seen()
        for known in journal.sources():
            shown = journal.seen(known.number).numbers
            assert shown <= ids_of([Row(key) for key in world.all_shown(known.source)]).numbers
            if report.complete and known.source in lists:
                assert ids_of([Row(key) for key in lists[known.source]]).numbers <= shown | by_app


@pytest.mark.parametrize("with_news", [False, True])
@settings(max_examples=6)
@given(case=cases)
def test_each_message_that_the_service_showed_is_on_disk_once(
    case: tuple[dict[str, Any], dict[str, Any], int, int], with_news: bool
) -> None:
    sources, shape, seed, runs = case
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("chatrest._resources.collection.MAX_PAGE_SIZE", Random(seed).choice([5, 1000]))
        patch.setattr("chatrest.export.fetch.app_list.MIN_SOURCES", 2 if with_news else 1000)
        patch.setattr("chatrest.export.fetch.list_reader.MIN_PAGES", 1)
        patch.setattr("chatrest._storage.SETTINGS", "PRAGMA journal_mode=WAL;PRAGMA synchronous=OFF;")
        world = (Plan(**sources, **shape), Random(seed), Path(folder) / "out")
        asyncio.run(live(*world, runs, patch))


async def live(plan: Plan, dice: Random, out: Path, runs: int, patch: pytest.MonkeyPatch) -> None:
    async with served() as service:
        world = World(service, plan, dice, out)
        world.write(dice.randrange(40))
        for _ in range(runs):
            lists = await world.look()
            recheck = dice.choice([None, 10**9])
            if dice.random() < 0.6:
                await dies(service.session, Fate(out, dice.randrange(1, 120)), plan, patch, recheck=recheck)
            report = await export(service.session, out, plan, recheck=recheck)
            await check(world, report, lists)
            world.happen()
        lists = await world.look()
        report = await export(service.session, out, plan)
        assert report.complete or report.missing, report
        report = await export(service.session, out, plan)
        assert report.complete, report
        await check(world, report, lists)
