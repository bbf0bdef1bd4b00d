"""`session.auth_tokens` against the emulator: tokens that are made, listed, changed, removed and refused."""

import pytest

from chatrest import AsyncSession, NotFoundError, PageQuery, PermissionDeniedError, TokenChanges

UID = "user-01"


async def tokens(session: AsyncSession, uid: str = UID) -> list[str]:
    return [token.auth_token async for token in session.auth_tokens.list(uid)]


async def test_a_token_is_handed_out_again_unless_a_fresh_one_is_asked_for(session: AsyncSession) -> None:
    first = await session.auth_tokens.create(UID)
    assert await session.auth_tokens.create(UID) == first
    fresh = await session.auth_tokens.create(UID, force=True)
    assert await tokens(session) == [first.auth_token, fresh.auth_token]
    assert await session.auth_tokens.get(UID, first.auth_token) == first
    assert await tokens(session, "user-02") == []


async def test_a_changed_scope_is_read_again(session: AsyncSession) -> None:
    key = (await session.auth_tokens.create(UID)).auth_token
    changes = TokenChanges(platform="ios", user_agent="agent", app_info={"version": "1"})
    changed = await session.auth_tokens.update(UID, key, changes)
    assert (changed.platform, changed.user_agent, changed.app_info) == ("ios", "agent", {"version": "1"})
    assert await session.auth_tokens.get(UID, key) == changed


async def test_removed_tokens_are_not_found(session: AsyncSession) -> None:
    keys = [(await session.auth_tokens.create(UID, force=True)).auth_token for _ in range(3)]
    assert (await session.auth_tokens.delete(UID, keys[1])).success
    assert await tokens(session) == [keys[0], keys[2]]
    with pytest.raises(NotFoundError, match="ERR_AUTH_TOKEN_NOT_FOUND"):
        await session.auth_tokens.get(UID, keys[1])
    assert (await session.auth_tokens.flush(UID)).success
    assert await tokens(session) == []
    assert (await session.auth_tokens.create(UID)).auth_token not in keys


async def test_a_token_of_another_user_is_refused(session: AsyncSession) -> None:
    token = await session.auth_tokens.create(UID)
    for ask in (
        session.auth_tokens.get("user-02", token.auth_token),
        session.auth_tokens.delete("user-02", token.auth_token),
    ):
        with pytest.raises(PermissionDeniedError, match="ERR_AUTHTOKEN_NOT_ACCESSIBLE"):
            await ask
    with pytest.raises(NotFoundError, match="ERR_UID_NOT_FOUND"):
        await session.auth_tokens.list("nobody").collect()


async def test_a_walk_goes_on_from_a_token_that_holds_no_secret(session: AsyncSession) -> None:
    keys = [(await session.auth_tokens.create(UID, force=True)).auth_token for _ in range(5)]
    walk = session.auth_tokens.list(UID, PageQuery(per_page=2)).limit(3)
    first = [token.auth_token async for token in walk]
    rest = session.auth_tokens.list(UID, PageQuery(per_page=2), cursor=str(walk.cursor))
    assert first + [token.auth_token async for token in rest] == keys
    assert not any(key in repr(walk.cursor) for key in keys)
