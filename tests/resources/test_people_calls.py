"""Users, groups and what belongs to them: what operations give, and what lists send."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET

from chatrest._models.outcomes import Ack
from chatrest._parameters.apps import ApiKeyChanges
from chatrest._parameters.users import UserChanges
from chatrest._resources import collection_class
from chatrest.errors import ReplyUnreadableError, RequestInvalidError
from tests.cases import loop_over
from tests.session_double import Sender

ACK = b'{"data":{"success":true,"message":"done"}}'
PERMISSIONS = b'{"data":{"a.b":{"success":true},"permissions":{"a.b":"deny","c.d":["x"]}}}'
LEFT = b'{"data":{"permissions":{"c.d":["x"]}}}'

Ask = Callable[[Any], Any]
CALLS: dict[str, Ask] = {
    "users.delete": lambda c: c.delete("ann", permanent=False),
    "users.reactivate": lambda c: c.reactivate(["a"]),
    "roles.get": lambda c: c.get("guest"),
    "rbac.set_role": lambda c: c.set_role("guest", {"a.b": "deny", "c.d": ["x"]}),
    "rbac.unset_role": lambda c: c.unset_role("guest", "a.b"),
    "rbac.set_scope": lambda c: c.set_scope("den", "admin", {"a.b": "deny"}),
}


async def call(name: str, *replies: bytes) -> tuple[Any, Sender]:
    """Make the call of the table, answered with `replies`; return its result and its sender."""
    sender = Sender(*replies)
    return await CALLS[name](collection_class(name.partition(".")[0])(sender)), sender


async def test_a_soft_deletion_may_be_acknowledged_by_the_uid_alone() -> None:
    result, _ = await call("users.delete", b'{"data":{"deactivatedUids":["ann"]}}')
    assert result == Ack(success=True)


@pytest.mark.parametrize(
    "settings", [b"[]", b"{}", b"null"], ids=["an empty array", "an empty object", "nothing"]
)
async def test_a_role_without_settings_is_read(settings: bytes) -> None:
    role, _ = await call("roles.get", b'{"data":{"role":"guest","settings":%b}}' % settings)
    assert role.role == "guest"
    assert getattr(role.settings, "list_users", UNSET) is UNSET


@pytest.mark.parametrize(
    ("reply", "uids"),
    [
        (b'{"data":{"nonDeactivatedUids":["a","b"]}}', ("a", "b")),
        (b'{"data":{"success":{"a":{"success":true},"b":{"success":false}}}}', ("a",)),
    ],
)
async def test_reactivated_users_are_read_in_either_form(reply: bytes, uids: tuple[str, ...]) -> None:
    result, _ = await call("users.reactivate", reply)
    assert result.non_deactivated_uids == uids


async def test_permissions_that_were_set_come_with_all_that_are_set() -> None:
    outcomes, _ = await call("rbac.set_role", PERMISSIONS)
    assert list(outcomes) == list(outcomes.check()) == ["a.b"]
    assert outcomes.permissions == {"a.b": "deny", "c.d": ("x",)}
    left, _ = await call("rbac.unset_role", LEFT)
    assert left.permissions == {"c.d": ("x",)}
    alone, _ = await call("rbac.set_scope", LEFT)
    assert (len(alone), alone.permissions) == (0, {"c.d": ("x",)})


@loop_over("reply", [b"{}", b'{"data":{}}', b'{"data":[1]}', b'{"data":{"a":5}}'])
async def test_a_reply_without_outcomes_and_permissions_is_unreadable(reply: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        await call("rbac.set_role", reply)


@loop_over(
    ("name", "secret", "arguments"), [("auth_tokens", "authToken", ("ann",)), ("api_keys", "apiKey", ())]
)
async def test_no_cursor_holds_a_secret(name: str, secret: str, arguments: tuple[str, ...]) -> None:
    records = ",".join(f'{{"uid":"ann","{secret}":"s3cret-{n}"}}' for n in range(3))
    page = f'{{"data":[{records}],"meta":{{}}}}'.encode()
    collection: Any = collection_class(name)(Sender(page, b'{"data":[]}'))
    walk = collection.list(*arguments)
    async for record in walk:
        for text in (repr(record), repr(walk), repr(walk.cursor), str(walk.cursor)):
            assert "s3cret" not in text
    assert "s3cret" not in str(walk.cursor.last)


@loop_over(
    "ask",
    [
        lambda keys, tokens: keys.get("s3cret\n"),
        lambda keys, tokens: keys.delete("s3cret\ud800"),
        lambda keys, tokens: keys.update(ApiKeyChanges(), "s3cret"),
        lambda keys, tokens: keys.update("s3cret", "s3cret"),
        lambda keys, tokens: tokens.get("ann", "s3cret\n"),
        lambda keys, tokens: tokens.update("ann", "s3cret", UserChanges()),
    ],
)
async def test_no_error_or_frame_of_a_wrong_argument_holds_a_secret(ask: Any) -> None:
    sender = Sender(ACK)
    with pytest.raises(RequestInvalidError) as caught:
        await ask(collection_class("api_keys")(sender), collection_class("auth_tokens")(sender))
    assert "s3cret" not in str(caught.value)
    inner = caught.traceback[2:]  # this test, and the table's line that names the secret
    assert not any("s3cret" in repr(frame.locals) for frame in inner)
