"""Auth tokens in the store: what is handed out again, and how many a user has."""

from chatrest.emulator.store import Store


def test_the_oldest_token_goes_where_a_user_has_a_hundred(store: Store) -> None:
    tokens = [store.auth_tokens.issue("ann", 1, {}, fresh=True)["authToken"] for _ in range(101)]
    assert [token["authToken"] for token in store.auth_tokens.list("ann")] == tokens[1:]
    assert store.auth_tokens.owner(tokens[0]) is None


def test_tokens_are_handed_out_again_by_scope(store: Store) -> None:
    first = store.auth_tokens.issue("ann", 1, {}, fresh=False)
    scoped = store.auth_tokens.issue("ann", 2, {"platform": "ios"}, fresh=False)
    assert store.auth_tokens.issue("ann", 3, {}, fresh=False) == first
    assert store.auth_tokens.issue("ann", 3, {"platform": "ios"}, fresh=False) == scoped
    assert first["authToken"] != scoped["authToken"]
