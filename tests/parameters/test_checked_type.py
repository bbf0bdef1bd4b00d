"""What `help` says of filters and bodies, and what a call with wrong names says."""

import inspect
import pydoc
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import chatrest.parameters
from chatrest import MessageQuery, NewMessage, NewUser, NewWebhook
from chatrest.errors import RequestInvalidError
from chatrest.parameters.checked import Checked, Filter
from chatrest.parameters.meanings import MEANINGS, meaning
from chatrest.parameters.users import Deletion


def checked_structs() -> Iterator[type[Checked]]:
    """Yield every filter and body of the package."""
    for module in iter_modules(chatrest.parameters.__path__):
        for kind in vars(import_module(f"chatrest.parameters.{module.name}")).values():
            if isinstance(kind, type) and issubclass(kind, Checked):
                yield kind


KINDS = sorted(set(checked_structs()), key=lambda kind: kind.__name__)


def test_every_field_has_a_line_with_its_meaning_and_what_is_allowed() -> None:
    for kind in KINDS:
        lines = pydoc.getdoc(kind).splitlines()
        for name in kind.__struct_fields__:
            assert meaning(kind, name), f"{kind.__name__}.{name}"
            [line] = [line for line in lines if line.strip().startswith((f"{name}:", f"{name}*:"))]
            assert line.endswith(f"{meaning(kind, name)}; {kind.allowed(name)}")


def test_every_meaning_is_of_a_field() -> None:
    fields = {name for kind in KINDS for name in kind.__struct_fields__}
    fields |= {f"{kind.__name__}.{name}" for kind in KINDS for name in kind.__struct_fields__}
    assert set(MEANINGS) <= fields


def test_help_of_a_filter_is_readable() -> None:
    shown = pydoc.render_doc(MessageQuery, renderer=pydoc.plaintext)
    assert "has_links: only messages with links; True or False" in shown
    assert "Meta(" not in shown
    assert "__lt__" not in shown
    assert max(map(len, shown.splitlines())) < 3000
    assert len(shown.splitlines()) < 200
    parameters = inspect.signature(NewUser).parameters
    assert (parameters["uid"].annotation, parameters["uid"].default) == (str, inspect.Parameter.empty)
    assert "has_links" in dir(MessageQuery)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MessageQuery(afix="append"), "MessageQuery has no field 'afix' (did you mean 'affix'?)"),
        (lambda: MessageQuery(zzz=1), "MessageQuery has no field 'zzz'"),
        (
            lambda: NewUser(uid="a", nme="A"),
            "NewUser has no field 'nme' (did you mean 'name'?), and needs name",
        ),
        (lambda: NewUser(), "NewUser needs uid, name"),
        (lambda: Deletion(True), "Deletion takes its fields by name (permanent)"),
        (
            lambda: MessageQuery("x"),
            f"MessageQuery takes its fields by name ({', '.join(MessageQuery.__struct_fields__[:5])}, …)",
        ),
    ],
)
def test_a_wrong_name_is_said_with_the_nearest_one(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == words
    assert caught.value.__cause__ is None


def test_no_frame_of_a_wrong_call_holds_a_value() -> None:
    hook = {"id": "w", "name": "W", "webhook_url": "https://h.example", "username": "u"}
    for more in ({"pasword": "hush-5"}, {"password": ["hush-5"]}):
        with pytest.raises((TypeError, RequestInvalidError)) as caught:
            NewWebhook(**hook, **more)
        report = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        inner = [frame for frame in report.stack if "chatrest/parameters" in frame.filename]
        assert inner
        assert "hush-5" not in str(caught.value) + "".join(str(frame.locals) for frame in inner)


def test_a_type_error_of_another_cause_keeps_its_words() -> None:
    class Broken(Filter, frozen=True, kw_only=True):
        def __post_init__(self) -> None:
            raise TypeError("of the struct itself")

    with pytest.raises(TypeError, match=r"^of the struct itself$"):
        Broken()
    assert NewMessage.text("bob", "hi").receiver == "bob"
