"""The help of structs: a line for each field, and a signature with what a caller may give."""

import inspect
import pydoc
from typing import Any

from msgspec import Struct

import chatrest
from chatrest import Cursor, Page, RetryPolicy, User
from chatrest._core.requests.arguments import Timeouts
from chatrest.export import Plan
from tests.support.cases import loop_over


def help_of(kind: type) -> str:
    return pydoc.render_doc(kind, renderer=pydoc.plaintext)


@loop_over(
    ("kind", "line"),
    [
        (RetryPolicy, "attempts: the number of failures after which a call's error is raised"),
        (Timeouts, "connect: until there is a connection: name, socket, TLS"),
        (Page, "raw*: the reply's body, byte for byte as served"),
        (User, "uid*"),
    ],
)
def test_help_shows_each_field_with_its_meaning(kind: type, line: str) -> None:
    assert "Fields (* is required):" in help_of(kind)
    assert any(each.startswith(line) for each in (text.strip(" |") for text in help_of(kind).splitlines()))
    assert "__lt__" not in dir(kind)


@loop_over("kind", [kind for name in dir(chatrest) if isinstance(kind := getattr(chatrest, name), type)])
def test_help_of_every_public_struct_names_its_fields(kind: type[Any]) -> None:
    if issubclass(kind, Struct) and kind is not Cursor:
        words = pydoc.getdoc(kind)
        assert all(f"\n  {name}" in words for name in kind.__struct_fields__ if not name.startswith("_"))


def test_the_signature_of_a_plan_has_the_callers_fields() -> None:
    parameters = inspect.signature(Plan).parameters
    assert "_since_age" not in parameters
    assert "_since_age" not in pydoc.getdoc(Plan)
    assert str(parameters["since"].annotation).endswith("date | datetime.timedelta | str | None")
    assert parameters["users"].annotation == tuple[str, ...]
