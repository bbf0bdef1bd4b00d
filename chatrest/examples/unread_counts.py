"""The unread messages of all users of three apps in two regions, counted at once: `session.fan_out`.

    python -m chatrest.examples.unread_counts                         # three emulated apps, 60 users
    python -m chatrest.examples.unread_counts --users 5000 --journal counts.journal

Prints a line of JSON for each user with unread messages, and a line for each app to standard error. With a
journal, a run that was stopped continues with the users that have no line yet.

For your apps, put `App(app_id, api_key, region)` in the place of the emulators.
"""

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Final, NamedTuple

from chatrest import App, AsyncSession, MessageQuery, Outcome
from chatrest.emulator import Emulator

APPS: Final = (("shop", "us"), ("support", "us"), ("shop-eu", "eu"))
"""The names and regions of the emulated apps."""
AT_ONCE: Final = 100
"""Users of each app that are counted at once."""


class Person(NamedTuple):
    """A user of one of the apps."""

    app: App
    uid: str


async def people(session: AsyncSession, apps: Sequence[App]) -> AsyncIterator[Person]:
    """Yield the users of all apps, those of an app as soon as its list is read."""

    async def uids(app: App) -> list[str]:
        return [user.uid async for user in session.for_app(app).users.list()]

    async with session.fan_out(apps, uids) as lists:
        async for listed in lists:
            if not listed.ok:
                sys.stderr.write(f"{listed.item.app_id}: no list of users: {listed.error}\n")
            for uid in listed.value or ():
                yield Person(listed.item, uid)


async def count_all(session: AsyncSession, apps: Sequence[App], journal: str | None) -> dict[str, list[int]]:
    """Print the users with unread messages; return for each app the numbers of users, messages, failures."""
    totals = {app.app_id: [0, 0, 0] for app in apps}

    async def unread(person: Person) -> int:
        view = session.for_app(person.app).as_user(person.uid)
        return sum(each.count for each in await view.messages.counts(MessageQuery(unread=True)))

    async with session.fan_out(
        people(session, apps),
        unread,
        concurrency=AT_ONCE,
        group=lambda person: person.app.app_id,  # an app that hangs does not delay the others
        journal=journal,
        key=lambda person: (person.app.app_id, person.uid),
    ) as outcomes:
        async for outcome in outcomes:
            report(outcome)
            total = totals[outcome.item.app.app_id]
            total[0] += 1
            total[1] += outcome.value or 0
            total[2] += not outcome.ok
    return totals


def report(outcome: Outcome[Person, int]) -> None:
    """Print the outcome of a user with unread messages, or of one whose messages could not be counted."""
    line: dict[str, object] = {"app": outcome.item.app.app_id, "uid": outcome.item.uid}
    if outcome.value or not outcome.ok:
        line |= {"unread": outcome.value} if outcome.ok else {"error": str(outcome.error)}
        sys.stdout.write(f"{json.dumps(line)}\n")
        sys.stdout.flush()  # before the journal notes it


async def run(users: int, journal: str | None) -> None:
    """Count the unread messages of so many users, in emulators that end with the block."""
    async with AsyncExitStack() as stack:
        apps = []
        for index, (name, region) in enumerate(APPS):
            size = users // len(APPS) + (index < users % len(APPS))
            emulator = Emulator(users=size, messages=20 * size, seed=index, app_id=name)
            await stack.enter_async_context(emulator)
            apps.append(App(name, emulator.app.api_key, region, base_url=emulator.base_url))
        async with AsyncSession(apps[0], concurrency=AT_ONCE) as session:
            totals = await count_all(session, apps, journal)
    for name, (counted, messages, failures) in totals.items():
        sys.stderr.write(f"{name}: {counted} users, {messages} unread messages, {failures} failed\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--users", type=int, default=60, help="users of all apps together (60)")
    parser.add_argument("--journal", metavar="PATH", help="a file that notes which users are done")
    args = parser.parse_args(argv)
    asyncio.run(run(args.users, args.journal))


if __name__ == "__main__":
    main()
