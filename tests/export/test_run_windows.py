"""A plan's window and its filters: what an export holds with them, believed or not by the service."""

from pathlib import Path
from typing import Any

import pytest

from chatrest.emulator.service.context import ServiceRequest as Request
from chatrest.emulator.weather.faults import Change, Outgoing, query_of
from chatrest.export import Plan, export
from chatrest.parameters.messages import MessageQuery
from tests.exporting import (
    START,
    assert_whole,
    fast_disk as fast_disk,
    ids_of,
    served,
    small_pages as small_pages,
)
from tests.runs import MIXED, fill_plain

pytestmark = pytest.mark.usefixtures("small_pages", "fast_disk", "tidy")


async def test_a_window_holds_what_was_sent_in_it_both_ends_included(tmp_path: Path) -> None:
    async with served(150) as service:
        times = {number: service.store.sent_at(number) for number in service.store.ids()}
        since, until = sorted(time for time in times.values() if time)[40:90:49]
        inside = [number for number, time in times.items() if time is not None and since <= time <= until]
        plan = Plan(**MIXED, since=since, until=until)
        assert (await export(service.session, tmp_path / "out", plan)).complete
        assert_whole(tmp_path / "out", service.expected(inside))
        assert 40 < len(inside) < 60


async def test_a_service_that_heeds_no_window_is_not_believed(tmp_path: Path) -> None:
    async with served(60, fill_in=lambda store: fill_plain(store, 60)) as service:
        plan = Plan(everything=True, since=START + 10, until=START + 20)
        service.emulator.weather.add(Unfiltered(served_by=service.emulator.store, route="messages.list"))
        assert (await export(service.session, tmp_path / "out", plan)).complete
        assert ids_of(tmp_path / "out") == [str(number) for number in range(10, 21)]


class Unfiltered(Change, frozen=True):
    """A list of all that there is, whatever window was asked for."""

    served_by: Any

    def changed(self, reply: Outgoing, request: Request, number: int) -> Outgoing:
        query = query_of(request)
        if query.get("affix") != "append":
            return reply
        span = self.served_by.after("*", int(query.get("id", "0")), int(query["limit"]))
        rows = b",".join(self.served_by.records(span.ids))
        last = span.ids[-1] if span.ids else int(query.get("id", "0"))
        body = b'{"data":[%b],"meta":{"next":{"affix":"append","id":"%d"}}}' % (rows, last)
        return Outgoing(200, body, reply.headers)


async def test_a_filter_goes_with_every_source(tmp_path: Path) -> None:
    async with served(150) as service:
        odd = [n for n in service.store.ids() if b"unheard-of" in service.store.records([n])[0]]
        plan = Plan(**MIXED, query=MessageQuery(category="unheard-of"))
        assert (await export(service.session, tmp_path / "out", plan)).complete
        assert_whole(tmp_path / "out", service.expected(odd))
        assert odd
