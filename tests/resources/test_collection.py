"""The behaviour of all collections: the acting user, the structs that an operation takes, and the errors."""

import inspect
import pydoc
from typing import Any

import pytest
from msgspec.structs import fields

from chatrest import App, AsyncSession, MessageQuery, NewUser
from chatrest._core.requests.endpoint import Endpoint
from chatrest._parameters.users import UserChanges
from chatrest._resources import COLLECTIONS, OPERATIONS, collection_class
from chatrest._resources.messages import Messages
from chatrest._resources.users import AuthTokens, Users
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over
from tests.support.session_double import Sender

REPLY = b'{"data":{"success":true}}'


def struct_argument(name: str) -> str | None:
    """The argument of an operation's method that is its body; None if the method makes the body itself."""
    collection, _, operation = name.partition(".")
    hints = getattr(collection_class(collection), operation).__annotations__
    body = OPERATIONS[name].body
    return next((argument for argument, hint in hints.items() if body is not None and hint is body), None)


@loop_over("name", [name for name in OPERATIONS if struct_argument(name)])
async def test_none_as_a_body_is_refused_by_argument_name(name: str) -> None:
    collection, _, operation = name.partition(".")
    sender, argument = Sender(REPLY, acting_user="ann"), struct_argument(name)
    method = getattr(collection_class(collection)(sender), operation)
    parameters = inspect.signature(method).parameters.values()
    path = {each.name: "x" for each in parameters if each.default is each.empty and each.name != argument}
    with pytest.raises(RequestInvalidError, match=rf"^{argument} = None: expected a \w+$") as caught:
        await method(**path, **{argument: None})
    assert (caught.value.name, sender.calls) == (argument, [])


@loop_over("body", [{"name": "Ann"}, NewUser(uid="ann", name="Ann"), UserChanges])
async def test_a_body_of_another_type_is_refused(body: Any) -> None:
    sender = Sender(REPLY)
    with pytest.raises(RequestInvalidError, match=r"^changes = .*: expected a UserChanges$"):
        await Users(sender).update("ann", body)
    assert sender.calls == []


def test_the_error_of_a_text_for_a_body_does_not_show_it() -> None:
    with pytest.raises(RequestInvalidError, match=r"^changes = \[str\]: expected a TokenChanges"):
        AuthTokens(Sender(REPLY)).update("ann", "token", "s3cret")  # type: ignore[arg-type]


@loop_over("query", [{}, "x", MessageQuery()])
def test_a_query_of_another_type_is_refused(query: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"^query = .*: expected a UserQuery, or None$"):
        Users(Sender(REPLY)).list(query)


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
