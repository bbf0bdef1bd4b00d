import pytest

from tests.cases import loop_over
from tests.emulator.conftest import Asker


@pytest.fixture
def directory(ask: Asker) -> Asker:
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
def test_filters(directory: Asker, query: str, uids: str) -> None:
    answer = directory("/v3/users", query)
    assert [user["uid"] for user in answer.json["data"]] == uids.split()
    assert answer.json["meta"]["pagination"]["total"] == len(uids.split())


def test_a_count_has_no_records(directory: Asker) -> None:
    answer = directory("/v3/users", "count=true").json
    assert (answer["data"], answer["meta"]["pagination"]["total"]) == ([], 5)
