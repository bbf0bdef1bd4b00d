"""The error of a call with an argument that its method does not have."""

import inspect
import pydoc
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from chatrest import AsyncSession, MessageQuery, NewUser
from chatrest.resources import COLLECTIONS, OPERATIONS, collection_class
from chatrest.resources.messages import Messages
from chatrest.resources.users import AuthTokens, Users
from tests.sending import Sender

AFIX = "Messages.list_user() has no argument 'afix' (did you mean 'affix'?): query=MessageQuery(…) has it"


async def called(call: Callable[[], Any]) -> Any:
    result = call()
    return await result if inspect.isawaitable(result) else result


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda u, m: u.create(uid="a"),
            "Users.create() has no argument 'uid': it is a field, give user=NewUser(uid=…)",
        ),
        (
            lambda u, m: m.list_user("a", affix="append"),
            "Messages.list_user() has no argument 'affix': it is a field, give query=MessageQuery(affix=…)",
        ),
        (
            lambda u, m: m.list_user("a", afix="append"),
            AFIX,
        ),
        (
            lambda u, m: m.get("a", on_behalf="b"),
            "Messages.get() has no argument 'on_behalf' (did you mean 'on_behalf_of'?)",
        ),
        (lambda u, m: u.update("a", zzz=1), "Users.update() has no argument 'zzz': changes is a UserChanges"),
        (
            lambda u, m: m.get("a", zzz=1),
            "Messages.get() has no argument 'zzz': it has message_id, on_behalf_of",
        ),
        (lambda u, m: m.get(), "Messages.get() missing 1 required positional argument: 'message_id'"),
    ],
)
async def test_a_wrong_argument_is_said_with_the_struct_that_has_it(call: Any, words: str) -> None:
    sender = Sender()
    with pytest.raises(TypeError) as caught:
        await called(lambda: call(Users(sender), Messages(sender)))
    assert str(caught.value) == words
    assert sender.calls == []


async def test_a_type_error_of_the_method_itself_is_its_own() -> None:
    class Failing(Users):  # type: ignore[misc]
        def plain(self) -> None:
            raise TypeError("mine")

        async def awaited(self) -> None:
            raise TypeError("mine")

    for call in (Failing(Sender()).plain, Failing(Sender()).awaited):
        with pytest.raises(TypeError, match=r"^mine$"):
            await called(call)


async def test_no_frame_holds_an_argument_that_may_be_a_credential() -> None:
    with pytest.raises(TypeError) as caught:
        await AuthTokens(Sender()).get("bob", auth_tokn="hush-5")  # type: ignore[call-arg]
    report = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    inner = [frame for frame in report.stack if "chatrest/resources" in frame.filename]
    assert inner
    assert "hush-5" not in str(caught.value) + "".join(str(frame.locals) for frame in inner)


def test_methods_keep_their_signatures_docs_and_kinds() -> None:
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
    assert len(messages.splitlines()) < 200
    assert MessageQuery(limit=1) != NewUser(uid="a", name="A")
