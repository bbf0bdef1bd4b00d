"""The behaviour of all collections: the acting user, the structs that an operation takes, and the errors."""

import inspect
import pydoc
from typing import Any, get_args

import pytest
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import fields

from chatrest import App, AsyncManagement, AsyncSession, MessageQuery, NewUser
from chatrest._cli.call.arguments import snake_case
from chatrest._core.replies.decode import ACK, JSON, many
from chatrest._core.requests.dialects import BY_ID, BY_PAGE
from chatrest._core.requests.endpoint import Acting, Endpoint
from chatrest._models.messages import Message
from chatrest._models.users import User
from chatrest._parameters.checked import Body, Filter, Size, Text
from chatrest._resources import COLLECTIONS, OPERATIONS, collection_class
from chatrest._resources.collection import Collection, Start
from chatrest._resources.messages import Messages
from chatrest._resources.users import Users
from chatrest._walk.walk import Walk
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over
from tests.session_double import Sender
from tests.small_service import SmallService

REPLY = b'{"data":{"success":true}}'


class Note(Body, frozen=True, kw_only=True, rename="camel"):
    """A body that needs a member."""

    text: Text


class Hints(Body, frozen=True, kw_only=True, rename="camel"):
    """A body that may have nothing in it."""

    text: Text | UnsetType = UNSET


class NoteQuery(Filter, frozen=True, kw_only=True, rename="camel"):
    """A filter."""

    limit: Size | None = None


def write(acting: Acting, body: type[Struct] | None = None) -> Endpoint[Any]:
    return Endpoint("notes.write", "POST", "/notes/{id}", ACK, "never", acting=acting, body=body)


class Notes(Collection):
    """Notes."""

    async def write(
        self, endpoint: Endpoint[Any], body: Any = None, *, query: Any = None, on_behalf_of: str | None = None
    ) -> Any:
        return await self._call(endpoint, body, query=query, on_behalf_of=on_behalf_of, id="5")

    def list(self, acting: Acting, *, on_behalf_of: str | None = None, cursor: Start = None) -> Walk[Any]:
        endpoint = Endpoint(
            "notes.list", "GET", "/notes", many(Message), query=NoteQuery, paging=BY_ID, acting=acting
        )
        return self._walk(endpoint, NoteQuery(limit=9), cursor, on_behalf_of=on_behalf_of)


# ── the acting user ──


async def test_where_a_user_is_required_and_none_is_given_nothing_is_sent() -> None:
    sender = Sender(REPLY)
    with pytest.raises(RequestInvalidError, match=r"^notes\.write acts as a user: give on_behalf_of"):
        await Notes(sender).write(write("required"))
    with pytest.raises(RequestInvalidError, match=r"^notes\.list acts as a user"):
        Notes(sender).list("required")
    assert sender.calls == []


@loop_over(
    ("acting", "of_view", "of_call", "header"),
    [("never", "bob", None, None), ("optional", "bob", None, "bob"), ("optional", None, "eve", "eve"),
     ("required", "bob", "eve", "eve"), ("required", "bob", None, "bob"), ("optional", None, None, None)],
)  # fmt: skip
async def test_the_header_is_sent_by_what_the_operation_says(
    acting: Any, of_view: Any, of_call: Any, header: Any
) -> None:
    headers: list[Any] = []

    def keep(request: Any, reply: Any) -> Any:
        headers.append(request.headers.get("onBehalfOf"))
        return reply

    service = SmallService([])
    service.spoil = keep
    endpoint = Endpoint("notes.list", "GET", "/messages", JSON, acting=acting)

    class Raw(Collection):
        async def ask(self) -> Any:
            return await self._call(endpoint, on_behalf_of=of_call)

    async with service.session() as session:
        view = session if of_view is None else session.as_user(of_view)
        await Raw(view.sender).ask()
    assert headers == [header]


# ── what an operation takes ──


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


# ── the one table ──

APP = App("app-1", "k" * 20, base_url="http://127.0.0.1:9")
DOORS: dict[str, Any] = {
    "chat": AsyncSession(APP),
    "calls": AsyncSession(APP),
    "management": AsyncManagement("http://127.0.0.1:9", key="k" * 20, secret="s" * 20),
}
operations = loop_over("endpoint", OPERATIONS.values())


def arguments_of(endpoint: Endpoint[Any]) -> dict[str, inspect.Parameter]:
    """The arguments of the method by which a caller reaches an operation."""
    collection_name, operation = endpoint.name.split(".")
    method = getattr(getattr(DOORS[endpoint.interface], collection_name), operation)
    return dict(inspect.signature(method).parameters)


def is_reachable(struct: type[Struct], arguments: dict[str, inspect.Parameter]) -> bool:
    """Return True where an argument takes the struct, or every field of it is an argument."""
    takers = [argument for argument in arguments.values() if struct in typed(argument.annotation)]
    return bool(takers) or {field.name for field in fields(struct)} <= arguments.keys()


def typed(annotation: Any) -> tuple[Any, ...]:
    return (annotation, *get_args(annotation))


@operations
def test_a_method_has_the_arguments_of_its_operation(endpoint: Endpoint[Any]) -> None:
    """First the path's parameters in their order; every filter and member of a body can be given."""
    arguments = arguments_of(endpoint)
    assert ("cursor" in arguments) is (endpoint.paging is not None)
    assert ("on_behalf_of" in arguments) is (endpoint.acting != "never")
    for struct in (endpoint.query, endpoint.body):
        assert struct is None or is_reachable(struct, arguments)
    first = list(arguments.values())[: len(endpoint.parameters)]
    for argument, name in zip(first, endpoint.parameters, strict=True):
        assert argument.name == snake_case(name) or argument.name.endswith(f"_{name}")
        assert (argument.kind, argument.default) == (argument.POSITIONAL_OR_KEYWORD, argument.empty)


@operations
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


# ── signatures and help ──


def test_methods_have_signatures_docs_and_kinds() -> None:
    assert inspect.iscoroutinefunction(Users.create)
    assert not inspect.iscoroutinefunction(Users.list)
    assert list(inspect.signature(Users.create).parameters) == ["self", "user"]
    for name in OPERATIONS:
        collection, _, operation = name.partition(".")
        assert getattr(collection_class(collection), operation).__doc__


def test_help_shows_a_collection_by_name() -> None:
    shown = pydoc.render_doc(AsyncSession, renderer=pydoc.plaintext)
    assert "lazy.collection object" not in shown
    for name in ("users", "messages"):
        assert name in COLLECTIONS
        assert f"operations, see help(session.{name})" in shown
    messages = pydoc.render_doc(Messages(Sender()), renderer=pydoc.plaintext)
    assert "GET /users/{uid}/messages" in messages
    assert len(messages.splitlines()) < 350  # Python 3.13 shows each parameter on its line
    assert MessageQuery(limit=1) != NewUser(uid="a", name="A")


# ── deprecated operations ──

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
        "__name__": "chatrest._resources.notes", "Collection": Collection,
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
