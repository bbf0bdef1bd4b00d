"""Calls of deprecated operations: a standard warning in the caller's own line."""

import warnings
from typing import Any

import pytest

from chatrest.core.decode import ACK, many
from chatrest.core.endpoint import Endpoint
from chatrest.core.paging import BY_PAGE
from chatrest.models.users import User
from chatrest.resources.collection import Collection
from tests.sending import Sender

GET: Endpoint[Any] = Endpoint("notes.get", "GET", "/notes/{id}", ACK, deprecated="notes.get_user")
OLD: Endpoint[Any] = Endpoint("notes.old", "GET", "/notes", ACK, deprecated="")
LIST: Endpoint[Any] = Endpoint(
    "notes.list", "GET", "/notes", many(User), paging=BY_PAGE, deprecated="users.list"
)
NOTES = """
class Notes(Collection):
    def get(self, id):
        return self._call(GET, id=id)

    def old(self):
        return self._call(OLD)

    def list(self):
        return self._walk(LIST)
"""


def collection() -> Any:
    """A collection in a module of the package, whose frames are not the caller's."""
    names: dict[str, Any] = {
        "__name__": "chatrest.resources.notes", "Collection": Collection,
        "GET": GET, "OLD": OLD, "LIST": LIST,
    }  # fmt: skip
    exec(NOTES, names)
    return names["Notes"](Sender(b'{"data":{"success":true}}'))


async def test_the_warning_names_the_replacement_and_the_callers_line() -> None:
    with pytest.warns(DeprecationWarning, match=r"^notes\.get is deprecated: use notes\.get_user$") as caught:
        await collection().get("5")
    assert [warning.filename for warning in caught] == [__file__]


async def test_without_a_replacement_the_warning_says_so() -> None:
    with pytest.warns(DeprecationWarning, match=r"^notes\.old is deprecated, and no replacement is known$"):
        await collection().old()


def test_a_list_warns_when_it_is_asked_for() -> None:
    with pytest.warns(DeprecationWarning, match=r"^notes\.list is deprecated: use users\.list$"):
        collection().list()


async def test_a_line_warns_once_by_the_default_rule() -> None:
    notes = collection()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            await notes.get("5")
        await notes.get("6")
    assert len(caught) == 2
