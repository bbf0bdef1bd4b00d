"""The list of users by its filters, and a user who does not exist."""

import pytest

from chatrest.emulator import Store
from tests.emulator.conftest import ServiceClient, client_of
from tests.support.cases import loop_over


@pytest.fixture
def directory(ask: ServiceClient) -> ServiceClient:
    """Beside ann, bob and cat: users that differ in all that can be filtered for."""
    ask.store.add_user("dan_x", "Anna", status="available", role="boss", tags=["a", "b"], updatedAt=77)
    ask.store.add_user("danyx", "Ölaf", role="guest", tags=["b"])
    ask.store.add_user("eve", "Eve", deactivatedAt=5)
    return ask


@loop_over(
    ("query", "uids"),
    [
        ("", "ann bob cat dan_x danyx"),
        ("searchKey=AN", "ann dan_x"),
        ("searchKey=an&searchIn=uid", "ann"),
        ("searchKey=an&searchIn=name,uid", "ann dan_x"),
        ("searchKey=dan_", "dan_x"),
        ("searchKey=%C3%B6", "danyx"),
        ("searchKey=nn", ""),
        ("status=available", "dan_x"),
        ("status=offline", "ann bob cat danyx"),
        ("role=boss", "dan_x"),
        ("roles=boss,guest", "dan_x danyx"),
        ("tags=a", "dan_x"),
        ("tags=a&tags=b", "dan_x danyx"),
        ("onlyDeactivated=true", "eve"),
        ("withDeactivated=true", "ann bob cat dan_x danyx eve"),
        ("roles=boss,guest&tags=b&searchKey=dany", "danyx"),
    ],
)
def test_filters_of_users(directory: ServiceClient, query: str, uids: str) -> None:
    answer = directory("/v3/users", query)
    assert [user["uid"] for user in answer.json["data"]] == uids.split()
    assert answer.json["meta"]["pagination"]["total"] == len(uids.split())


def test_a_user_who_does_not_exist_is_answered_with_those_who_do(
    generated: ServiceClient, store: Store
) -> None:
    sentence = "The user with UID user-1 does not exist; known: user-001 to user-012."
    assert generated("/v3/users/user-1").json["error"]["message"] == sentence
    assert generated("/v3/users/user-001/messages", acting_user="user-1").json["error"]["message"] == sentence
    assert client_of(store)("/v3/users/user-1").json["error"]["message"].endswith("known: none.")
