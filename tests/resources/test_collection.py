"""The behaviour of all collections: the acting user, the structs that an operation takes, and the errors."""

import inspect
import pydoc
from typing import Any

import pytest
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import fields

from chatrest import App, AsyncSession, MessageQuery, NewUser
from chatrest._core.replies.decode import ACK
from chatrest._core.requests.endpoint import Acting, Endpoint
from chatrest._parameters.checked import Body, Filter, PageSize, Text
from chatrest._resources import COLLECTIONS, OPERATIONS, collection_class
from chatrest._resources.collection import Collection
from chatrest._resources.messages import Messages
from chatrest._resources.users import Users
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over
from tests.session_double import Sender

REPLY = b'{"data":{"success":true}}'


class Note(Body, frozen=True, kw_only=True, rename="camel"):
    text: Text


class Hints(Body, frozen=True, kw_only=True, rename="camel"):
    text: Text | UnsetType = UNSET


class NoteQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    limit: PageSize | None = None


def write(acting: Acting, body: type[Struct] | None = None) -> Endpoint[Any]:
    return Endpoint("notes.write", "POST", "/notes/{id}", ACK, "never", acting=acting, body=body)


class Notes(Collection):
    async def write(
        self, endpoint: Endpoint[Any], body: Any = None, *, query: Any = None, on_behalf_of: str | None = None
    ) -> Any:
        return await self._call(endpoint, body, query=query, on_behalf_of=on_behalf_of, id="5")


@loop_over(
    ("kind", "body", "allowed"),
    [
        (Note, None, "a Note"),
        (Note, {"text": "x"}, "a Note"),
        (Note, Hints(), "a Note"),
        (Note, Note, "a Note"),
        (Hints, {"text": "x"}, "a Hints, or None"),
        (None, Note(text="x"), "None"),
        (None, {}, "None"),
    ],
)
async def test_a_body_of_another_kind_is_refused(kind: Any, body: Any, allowed: str) -> None:
    sender = Sender(REPLY)
    with pytest.raises(RequestInvalidError, match=rf"^body = .*: expected {allowed}$"):
        await Notes(sender).write(write("never", kind), body)
    assert sender.calls == []


@pytest.mark.parametrize("query", [NoteQuery(), {}, "x"])
async def test_a_query_is_refused_where_there_is_none(query: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^query = .*: expected None$"):
        await Notes(Sender(REPLY)).write(write("never"), query=query)


@loop_over("endpoint", OPERATIONS.values())
def test_an_operations_query_has_the_parameters_by_which_its_list_is_paged(endpoint: Endpoint[Any]) -> None:
    """A caller who names a page's size by them must not be overruled."""
    if endpoint.paging is not None and endpoint.query is not None:
        names = {field.encode_name for field in fields(endpoint.query)}
        assert set(endpoint.paging.sizes) <= names


def test_a_repr_names_the_operations() -> None:
    session = AsyncSession(App("app-1", "k", "us", service_domain="chat.example.com"))
    assert repr(session.groups) == "<Groups: create, delete, get, list, update>"
    assert repr(session.messages).startswith("<Messages: add_reaction, ")
    assert repr(session.messages).endswith(" more>")


def test_methods_have_signatures_docs_and_kinds() -> None:
    assert inspect.iscoroutinefunction(Users.create)
    assert not inspect.iscoroutinefunction(Users.list)
    assert list(inspect.signature(Users.create).parameters) == ["self", "user"]
    for name in OPERATIONS:
        collection, _, operation = name.partition(".")
        assert getattr(collection_class(collection), operation).__doc__


def test_help_shows_a_collection_by_name() -> None:
    shown = pydoc.render_doc(AsyncSession, renderer=pydoc.plaintext)
    assert "LazyCollection object" not in shown
    for name in ("users", "messages"):
        assert name in COLLECTIONS
        assert f"operations, see help(session.{name})" in shown
    messages = pydoc.render_doc(Messages(Sender()), renderer=pydoc.plaintext)
    assert "The messages between the user `uid` and the acting user." in messages
    assert len(messages.splitlines()) < 350  # Python 3.13 shows each parameter on its line
    assert MessageQuery(limit=1) != NewUser(uid="a", name="A")
