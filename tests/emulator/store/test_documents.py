"""Documents by kind, parent and key."""

from pathlib import Path

from chatrest.emulator.store import Store


def test_documents_are_listed_in_the_order_in_which_they_were_first_put(store: Store) -> None:
    rules = store.documents.of("rules")
    for key in ("b", "a", "c"):
        rules.put({"id": key, "at": 1}, key)
    rules.put({"id": "b", "at": 2}, "b")
    assert rules.list() == [{"id": "b", "at": 2}, {"id": "a", "at": 1}, {"id": "c", "at": 1}]
    assert rules.get("a") == {"id": "a", "at": 1}


def test_kinds_and_parents_are_apart(store: Store) -> None:
    store.documents.of("notes").put({"of": "app"})
    store.documents.of("notes", "ann").put({"of": "ann"})
    store.documents.of("rules").put({"of": "rules"})
    assert store.documents.of("notes").list() == [{"of": "app"}]
    assert store.documents.of("notes", "ann").get() == {"of": "ann"}
    store.documents.of("notes", "ann").clear()
    assert store.documents.of("notes", "ann").list() == []
    assert store.documents.of("notes").get() == {"of": "app"}


def test_a_deletion_says_if_there_was_something(store: Store) -> None:
    rules = store.documents.of("rules")
    rules.put({}, "a")
    assert (rules.delete("a"), rules.delete("a"), rules.get("a")) == (True, False, None)


def test_a_number_is_not_given_twice(store: Store) -> None:
    rules = store.documents.of("rules")
    numbers = []
    for _ in range(3):
        numbers.append(store.documents.next_number())
        rules.put({}, "a")
        rules.delete("a")
    assert numbers == sorted(set(numbers))


def test_documents_stay_in_a_file(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        store.documents.of("rules").put({"id": "a"}, "a")
    with Store(tmp_path / "store") as store:
        assert store.documents.of("rules").list() == [{"id": "a"}]


# ── auth tokens ──


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
