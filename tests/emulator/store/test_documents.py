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
