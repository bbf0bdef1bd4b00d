"""`session.api_keys`, and the apps of an account."""

from collections.abc import AsyncIterator
from datetime import date

import pytest

from chatrest import (
    ApiKeyQuery,
    App,
    AsyncManagement,
    AsyncSession,
    AuthenticationError,
    NewApiKey,
    NotFoundError,
)
from chatrest._parameters.apps import AppQuery, NewApp, NewWebhook
from chatrest._resources.apps import APPS_LIST, Apps, Metrics
from chatrest.emulator import Emulator
from tests.resources.conftest import NOW
from tests.support.session_double import Sender


@pytest.mark.parametrize("body", [b'{"data":[{"id":"a","name":"A"}]}', b'{"data":{"id":"a","name":"A"}}'])
async def test_apps_are_listed_also_where_one_is_shown_for_a_list(body: bytes) -> None:
    sender = Sender(body, b'{"data":[]}')
    assert [app.id for app in await Apps(sender).list(AppQuery(search_key="x")).collect()] == ["a"]
    first, second = sender.calls
    assert (first.endpoint, first.path, first.query) == (APPS_LIST, "/apps", {"searchKey": "x"})
    assert dict(first.position) == {"perPage": "1000"}
    assert dict(second.position) == {"page": "2", "perPage": "1000"}


async def names(session: AsyncSession, query: ApiKeyQuery | None = None) -> list[str]:
    return [key.name async for key in session.api_keys.list(query)]


async def test_a_key_that_was_made_is_accepted_until_it_is_removed(
    people: Emulator, session: AsyncSession
) -> None:
    made = await session.api_keys.create(NewApiKey(name="Mine", scope="fullAccess"))
    assert (made.name, made.scope, made.created_at) == ("Mine", "fullAccess", NOW)
    other = session.for_app(App(people.app.app_id, made.api_key, base_url=people.base_url))
    assert len(await other.users.list().collect()) == 5
    assert await session.api_keys.get(made.api_key) == made
    assert (await session.api_keys.delete(made.api_key)).success
    with pytest.raises(AuthenticationError, match="AUTH_ERR_APIKEY_NOT_FOUND"):
        await other.users.list().collect()
    with pytest.raises(NotFoundError, match="ERR_APIKEY_NOT_FOUND"):
        await session.api_keys.get(made.api_key)


FIGURES = b'{"audio_minutes":1,"video_minutes":2,"recorded_minutes":3,"active_users":4,"concurrent_users":5}'
POINT = b'{"messagesSent":1,"readReceipts":2,"deliveryReceipts":3,"startTime":"60","endTime":"90"}'
RECEIPTS = b'{"appId":"app","startTime":"60","endTime":"120","dataPoints":[%b]}' % POINT


async def test_usage_is_asked_for_in_milliseconds() -> None:
    sender = Sender(b'{"data":{"metrics":%b,"time_range":{"fromDate":6,"toDate":7}}}' % FIGURES)
    usage = await Metrics(sender).get_usage(5, date(1970, 1, 2))  # all of that day
    assert (sender.call.endpoint.method, sender.call.path) == ("GET", "/stats")
    assert sender.asked() == {"fromDate": "5", "toDate": "172799999"}
    figures = usage.metrics
    assert figures
    assert (figures.audio_minutes, figures.video_minutes, figures.recorded_minutes) == (1, 2, 3)
    assert (figures.active_users, figures.concurrent_users) == (4, 5)
    assert usage.time_range
    assert (usage.time_range.from_date, usage.time_range.to_date) == (6, 7)


@pytest.mark.parametrize("body", [RECEIPTS, b'{"data":%b}' % RECEIPTS])
async def test_receipts_are_read_with_and_without_data_around_them(body: bytes) -> None:
    sender = Sender(body)
    receipts = await Metrics(sender).get_message_receipts()
    assert (sender.call.endpoint.method, sender.call.path) == ("GET", "/stats/messages")
    assert (receipts.app_id, receipts.start_time, receipts.end_time) == ("app", "60", "120")
    [point] = receipts.data_points or ()
    assert (point.messages_sent, point.read_receipts, point.delivery_receipts) == (1, 2, 3)
    assert (point.start_time, point.end_time) == ("60", "90")


APP = "emulated"
URL = "https://example.com/hook"


@pytest.fixture
async def management(people: Emulator) -> AsyncIterator[AsyncManagement]:
    key, secret = people.management_key, people.management_secret
    async with AsyncManagement(people.management_url, key=key, secret=secret) as management:
        yield management


def hook(number: int = 1) -> NewWebhook:
    return NewWebhook(id=f"w{number}", name=f"Hook {number}", webhook_url=URL)


async def test_legacy_webhooks_are_those_without_the_header(
    people: Emulator, management: AsyncManagement
) -> None:
    await management.webhooks.list(APP).collect()
    await management.webhooks.list(APP, x_webhook_version=None).collect()
    assert [request.headers.get("x-webhook-version") for request in people.requests] == ["2", None]


async def test_an_app_is_made_with_its_keys_and_listed(management: AsyncManagement) -> None:
    made = await management.apps.create(NewApp(name="Second", region="eu", skip_sample_data=True))
    assert (made.name, made.region) == ("Second", "eu")
    assert sorted(key["scope"] for key in made.api_keys.values()) == ["authOnly", "fullAccess"]
    assert [app.id async for app in management.apps.list(AppQuery(per_page=1))] == [APP, made.id]
    assert [app.id async for app in management.apps.list(AppQuery(search_key="sec"))] == [made.id]
    await management.webhooks.create(made.id, hook())
    assert [each.id async for each in management.webhooks.list(APP)] == []


async def test_a_webhook_that_is_made_again_has_no_triggers(management: AsyncManagement) -> None:
    await management.webhooks.create(APP, hook())
    (await management.triggers.add(APP, "w1", ["message_sent"])).check()
    assert len(await management.triggers.list(APP, "w1").collect()) == 1
    await management.webhooks.delete(APP, "w1")
    await management.webhooks.create(APP, hook())
    assert await management.triggers.list(APP, "w1").collect() == []
