"""Messages: what each list asks for, and what is sent."""

from typing import Any

import pytest

from chatrest._core.replies.decode import Listing
from chatrest._models.messages import unknown
from chatrest._models.meta import Meta, Position
from chatrest._parameters.messages import MessageQuery
from chatrest._resources.messages import Messages
from chatrest.errors import CursorError
from tests.cases import loop_over
from tests.session_double import Sender


def page(*ids: int, **meta: Any) -> Listing[Any]:
    return Listing([unknown({"id": each, "sentAt": each}, b"{}", "") for each in ids], Meta(**meta), b"{}")


def end() -> Listing[Any]:
    return page()


LISTS: dict[str, tuple[Any, str, str]] = {
    # how it is called, the size with an acting user, and without one
    "list_user": (lambda m, **k: m.list_user("a/b", **k), "limit", "perPage"),
    "list_group": (lambda m, **k: m.list_group("g", **k), "limit", "limit"),
    "list": (lambda m, **k: m.list(**k), "limit", "limit"),
    "list_thread": (lambda m, **k: m.list_thread("5", **k), "perPage", "perPage"),
}


@loop_over("name", LISTS)
async def test_each_list_goes_on_from_its_token_and_refuses_those_of_the_others(name: str) -> None:
    ask, *_ = LISTS[name]
    walk = ask(Messages(Sender(page(1, 2, cursor=Position("append", 2)))))
    async for message in walk:
        if message.id == "2":
            break
    session = Sender(page(3), end())
    assert [m.id for m in await ask(Messages(session), cursor=str(walk.cursor)).collect()] == ["3"]
    assert dict(session.calls[0].position)["id"] == "2"
    for other, (ask_other, *_rest) in LISTS.items():
        if other != name:
            with pytest.raises(CursorError):
                ask_other(Messages(Sender()), cursor=str(walk.cursor))


@loop_over("name", LISTS)
@loop_over(("of_view", "of_call"), [(None, None), ("eve", None), (None, "eve")])
async def test_the_size_has_its_own_name_with_an_acting_user(name: str, of_view: Any, of_call: Any) -> None:
    """Specification, Endpoints: `limit` works alongside the `onBehalfOf` header."""
    ask, with_user, without = LISTS[name]
    session = Sender(end(), acting_user=of_view)
    await ask(Messages(session), on_behalf_of=of_call).collect()
    assert session.call.position == ((with_user if of_view or of_call else without, "1000"),)


# ── sending ──


@loop_over(("operation", "name"), [("list", "limit"), ("list_group", "limit"), ("list_thread", "perPage")])
@loop_over("size", [MessageQuery(per_page=7), MessageQuery(limit=7)])
async def test_a_page_size_goes_under_the_name_that_the_list_knows(
    operation: str, name: str, size: MessageQuery
) -> None:
    send = Sender(b'{"data":[]}')
    list_messages = getattr(Messages(send), operation)
    await list_messages(*([] if operation == "list" else ["5"]), size).collect()
    assert send.asked() == {name: "7"}
