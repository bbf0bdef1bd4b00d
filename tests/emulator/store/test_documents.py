"""Documents by kind, parent and key."""

from chatrest.emulator.store import Store


def test_a_number_is_not_given_twice(store: Store) -> None:
    rules = store.documents.of("rules")
    numbers = []
    for _ in range(3):
        numbers.append(store.documents.next_number())
        rules["a"] = {}
        del rules["a"]
    assert numbers == sorted(set(numbers))


# ── auth tokens ──


def test_the_oldest_token_goes_where_a_user_has_a_hundred(store: Store) -> None:
    tokens = [store.auth_tokens.issue("ann", 1, fresh=True)["authToken"] for _ in range(101)]
    assert list(store.auth_tokens.of("ann")) == tokens[1:]
    assert store.auth_tokens.owner(tokens[0]) is None
