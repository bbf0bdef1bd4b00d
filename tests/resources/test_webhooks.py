"""`management.webhooks`, `.triggers` and `.apps` against the emulator."""

from collections.abc import AsyncIterator

import pytest

from chatrest import AsyncManagement, NotFoundError
from chatrest._core.replies.decode import one
from chatrest._models.apps import Webhook
from chatrest._parameters.apps import AppQuery, NewApp, NewWebhook
from chatrest.emulator import Emulator
from tests.cases import loop_over

APP = "emulated"
URL = "https://example.com/hook"


@pytest.fixture
async def management() -> AsyncIterator[AsyncManagement]:
    async with (
        Emulator(users=2, messages=0, groups=0) as emulator,
        AsyncManagement(
            emulator.management_url, key=emulator.management_key, secret=emulator.management_secret
        ) as management,
    ):
        yield management


def hook(number: int = 1) -> NewWebhook:
    return NewWebhook(id=f"w{number}", name=f"Hook {number}", webhook_url=URL)


async def test_legacy_webhooks_are_others(management: AsyncManagement) -> None:
    await management.webhooks.create(APP, hook(1))
    await management.webhooks.create(APP, hook(2), x_webhook_version=None)
    assert [each.id async for each in management.webhooks.list(APP)] == ["w1"]
    assert [each.id async for each in management.webhooks.list(APP, x_webhook_version=None)] == ["w2"]
    with pytest.raises(NotFoundError):
        await management.webhooks.delete(APP, "w2")


async def test_a_webhook_that_comes_again_has_no_triggers(management: AsyncManagement) -> None:
    await management.webhooks.create(APP, hook())
    await management.triggers.add(APP, "w1", ["message_sent"])
    await management.webhooks.delete(APP, "w1")
    with pytest.raises(NotFoundError, match="ERR_WEBHOOK_NOT_FOUND"):
        await management.triggers.list(APP, "w1").collect()
    await management.webhooks.create(APP, hook())
    assert await management.triggers.list(APP, "w1").collect() == []


@loop_over(
    "body",
    [
        b'{"data":{"id":"w1","name":"n"}}',
        b'{"data":[{"id":"w1","name":"n"}]}',
        b'{"data":[{"data":{"id":"w1","name":"n"}}]}',
        b'[{"data":{"id":"w1","name":"n"}}]',
    ],
)
def test_a_webhook_is_read_from_every_documented_form(body: bytes) -> None:
    assert one(Webhook)(body) == Webhook(id="w1", name="n")


async def test_an_app_is_made_with_its_keys_and_listed(management: AsyncManagement) -> None:
    made = await management.apps.create(NewApp(name="Second", region="eu", skip_sample_data=True))
    assert (made.name, made.region) == ("Second", "eu")
    assert sorted(key["scope"] for key in made.api_keys.values()) == ["authOnly", "fullAccess"]
    assert [app.id async for app in management.apps.list(AppQuery(per_page=1))] == [APP, made.id]
    assert [app.id async for app in management.apps.list(AppQuery(search_key="sec"))] == [made.id]
    await management.webhooks.create(made.id, hook())
    assert [each.id async for each in management.webhooks.list(APP)] == []
