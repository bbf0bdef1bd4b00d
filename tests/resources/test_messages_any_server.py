"""The walk over reactions, from servers that page them in different ways: complete from each of them."""

import itertools
import json
from typing import Any, NamedTuple

from chatrest._core.requests.encode import query_pairs
from chatrest._resources.messages import Messages
from tests.support.cases import loop_over
from tests.support.session_double import Sender

CAP = 20


class Habits(NamedTuple):
    dialect: str
    """`id`, or `cursorField` as compatible servers write it."""
    affix: str
    """The direction of a request that names none."""
    is_turned: bool
    """True if a page is written from its end."""
    is_inclusive: bool
    """True if a page begins with the item that was asked from."""
    has_affix: bool
    """True if the position says its direction."""


HABITS = [
    Habits(*values)
    for values in itertools.product(("id", "cursorField"), ("append", "prepend"), *[(False, True)] * 3)
]


def server(habits: Habits, total: int) -> Any:
    def answer(call: Any) -> Any:
        query = {**dict(query_pairs(call.query)), **dict(call.position)}
        affix = query.get("cursorAffix") or query.get("affix") or habits.affix
        start = query.get("cursorValue", query.get("id"))
        return call.endpoint.reply(json.dumps(page(habits, total, affix, start)).encode())

    return answer


def page(habits: Habits, total: int, affix: str, start: str | None) -> dict[str, Any]:
    ids = list(range(1, total + 1)) if affix == "append" else list(range(total, 0, -1))
    if start is not None:
        place = ids.index(int(start))
        ids = ids[place if habits.is_inclusive else place + 1 :]
    ids = ids[:CAP]
    position: dict[str, Any] = {}
    if ids and habits.dialect == "id":
        position = {"id": str(ids[-1])}
    elif ids:
        position = {"cursorField": "id", "cursorValue": ids[-1]}
    if ids and habits.has_affix:
        position |= {"affix": affix} | ({"cursorAffix": affix} if habits.dialect == "cursorField" else {})
    served = ids[::-1] if habits.is_turned else ids
    records = [
        {"id": number, "messageId": 5, "reaction": "+", "uid": "u", "reactedAt": 7} for number in served
    ]
    return {"data": records, "meta": {"next": position}}


@loop_over("habits", HABITS)
async def test_every_reaction_is_returned_once(habits: Habits) -> None:
    for total in (0, 1, CAP - 1, CAP, CAP + 1, 45):
        walk = Messages(Sender(server(habits, total))).list_reactions("5")
        assert sorted(int(reaction.id) for reaction in await walk.collect()) == list(range(1, total + 1))


async def test_a_few_reactions_that_lead_back_alone_cost_one_request() -> None:
    def served(count: int) -> Any:
        def answer(call: Any) -> Any:
            after = dict(call.position).get("cursorValue")
            reply = page(HABITS[0], count, "prepend", after)
            ids = [record["id"] for record in reply["data"]]
            previous = {"cursorField": "id", "cursorValue": ids[-1], "affix": "prepend"} if ids else None
            meta = {"previous": previous} if previous else {}
            return call.endpoint.reply(json.dumps({"data": reply["data"], "meta": meta}).encode())

        return answer

    for count in (1, 9, 10, CAP, CAP + 1, 45):
        sender = Sender(served(count))
        walk = Messages(sender).list_reactions("5")
        assert sorted(int(reaction.id) for reaction in await walk.collect()) == list(range(1, count + 1))
        if count < 10:
            assert len(sender.calls) == 1
