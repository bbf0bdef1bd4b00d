"""Checked structs: each field follows its own rule, whether it is needed, optional or nullable."""

import inspect
import pydoc
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from traceback import TracebackException
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pytest
from msgspec import NODEFAULT, UNSET, Meta, UnsetType, convert, structs

from chatrest import (
    AppQuery,
    EnabledItemsQuery,
    MessageQuery,
    NewMessage,
    NewUser,
    NewWebhook,
    RetryPolicy,
    UserChanges,
    UserQuery,
    _parameters as parameters,
)
from chatrest._core.requests.encode import query_pairs
from chatrest._core.requests.wire import json_body
from chatrest._parameters.agents import (
    ApiToolChanges,
    EnabledActions,
    IntegrationMeta,
    NewApiTool,
    NewExternalAgent,
    NewVariable,
)
from chatrest._parameters.checked import (
    Body,
    Bool,
    CheckedStruct,
    Filter,
    Json,
    Ordinal,
    Stamp,
    Text,
    Texts,
    _types_in,
    meaning,
)
from chatrest._parameters.notifications import (
    ApnsProvider,
    FcmProvider,
    NewCustomPushProvider,
    NewPushToken,
    NewTwilioProvider,
    PushTokenQuery,
    SendgridProviderChanges,
)
from chatrest._parameters.users import Deletion
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over


class Letter(Body, frozen=True, kw_only=True, rename="camel"):
    subject_line: Text
    copies: Ordinal = 1
    reply_to: Text | UnsetType = UNSET
    expires_at: Stamp | UnsetType | None = UNSET
    labels: Texts | UnsetType = UNSET


class Page(CheckedStruct, frozen=True, kw_only=True, rename="camel"):
    page_number: Ordinal


class Book(Body, frozen=True, kw_only=True, rename="camel"):
    cover: Annotated[Page, Meta(description="a Page")] | UnsetType = UNSET
    pages: Annotated[tuple[Page, ...], Meta(description="a list of Page")] | UnsetType = UNSET


class Search(Filter, frozen=True, kw_only=True, rename="camel"):
    is_open: Bool | None = None
    since: Stamp | None = None


@loop_over(
    ("members", "body"),
    [
        ({}, b'{"subjectLine":"s","copies":1}'),
        ({"reply_to": None}, b'{"subjectLine":"s","copies":1}'),
        ({"reply_to": UNSET, "expires_at": UNSET}, b'{"subjectLine":"s","copies":1}'),
        ({"expires_at": None}, b'{"subjectLine":"s","copies":1,"expiresAt":null}'),
        ({"expires_at": 5, "labels": ["x"]}, b'{"subjectLine":"s","copies":1,"expiresAt":5,"labels":["x"]}'),
    ],
)
def test_none_is_sent_only_as_an_allowed_null(members: Any, body: bytes) -> None:
    assert json_body(Letter(subject_line="s", **members)) == body


@loop_over("name", ["subject_line", "copies"])
@loop_over("nothing", [None, UNSET])
def test_none_is_refused_for_a_required_member(name: str, nothing: Any) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} = {nothing}: expected "):
        Letter(**{"subject_line": "s", name: nothing})


@pytest.mark.parametrize("nothing", [None, UNSET])
def test_a_filter_of_none_is_not_sent(nothing: Any) -> None:
    assert list(query_pairs(Search(is_open=nothing, since=nothing))) == []
    assert list(query_pairs(Search(is_open=False, since=0))) == [("isOpen", "false"), ("since", "0")]


def test_a_checked_struct_cannot_be_changed() -> None:
    labels = ["x"]
    letter = Letter(subject_line="s", labels=labels)
    labels.append("")
    assert letter.labels == ("x",)
    assert structs.replace(letter, copies=2).copies == 2
    with pytest.raises(RequestInvalidError, match=r"^copies = 0: expected a whole number from 1$"):
        structs.replace(letter, copies=0)


def test_a_repr_shows_only_given_fields() -> None:
    assert repr(Letter(subject_line="s", reply_to=None)) == "Letter(subject_line='s')"
    assert repr(Search()) == "Search()"


class Access(Body, frozen=True, kw_only=True, rename="camel"):
    basic_auth_password: Text
    credentials: Json | UnsetType = UNSET


def test_no_repr_and_no_error_shows_a_credential() -> None:
    access = Access(basic_auth_password="pass-5f", credentials={"private_key": "key-7a", "name": "n"})
    assert (
        repr(access)
        == "Access(basic_auth_password=[hidden], credentials={'private_key': [hidden], 'name': 'n'})"
    )
    for members in ({"basic_auth_password": ["pass-5f"]}, {"credentials": [{"privateKey": "pass-5f"}]}):
        with pytest.raises(RequestInvalidError) as caught:
            structs.replace(access, **members)
        report = TracebackException.from_exception(caught.value, capture_locals=True)
        own = [frame for frame in report.stack if frame.filename.endswith("parameters/checked.py")]
        assert own
        assert "pass-5f" not in str(caught.value) + "".join(str(frame.locals) for frame in own)
    with pytest.raises(RequestInvalidError, match=r"^basic_auth_password = '': expected a non-empty text"):
        Access(basic_auth_password="")


AGENT: dict[str, Any] = {"name": "n", "icon": "https://i", "integrate_with": "mastra"}
TOOL: dict[str, Any] = {
    "slug": "s",
    "name": "S",
    "description": "d",
    "endpoint": "https://h",
    "method": "GET",
}
VARIABLE: dict[str, Any] = {"name": "v", "source_type": "constant"}
HOOK: dict[str, Any] = {"id": "w1", "name": "First", "webhook_url": "https://example.com/hook"}
ACCOUNT: dict[str, Any] = {"is_enabled": True, "webhook_url": "https://h", "use_basic_auth": True}


@loop_over(
    "body",
    [
        NewApiTool(**TOOL, headers='{"Authorization":"Bearer hush"}'),
        ApiToolChanges(headers="hush"),
        IntegrationMeta(headers={"Authorization": "hush"}),
        NewExternalAgent(**AGENT, integration_meta=IntegrationMeta(base_url="h", headers="hush")),
        NewVariable(**VARIABLE, constant_value="hush"),
        EnabledActions(actions=["a"], auth_meta=["hush"]),
        FcmProvider(service_account_creds={"private_key": "hush", "project_id": "p"}),
        ApnsProvider(p8_key="hush"),
        NewTwilioProvider(
            twilio_account_sid="s", twilio_auth_token="hush", twilio_sender_phone_number="+1"
        ),
        SendgridProviderChanges(send_grid_api_key="hush"),
        NewCustomPushProvider(**ACCOUNT, basic_auth_username="u", basic_auth_password="hush"),
        NewPushToken(auth_token="hush", fcm_token="hush", device_token="hush", voip_token="hush"),
        PushTokenQuery(auth_token="hush"),
        NewWebhook(**HOOK, username="u", password="hush"),
    ],
)  # fmt: skip
def test_no_repr_shows_a_possible_credential(body: Any) -> None:
    assert b"hush" in json_body(body)
    assert "hush" not in repr(body)
    assert "[hidden]" in repr(body)


@loop_over(
    "make",
    [
        lambda: NewApiTool(**TOOL, headers={"Authorization": "hush"}),  # type: ignore[arg-type]
        lambda: IntegrationMeta(headers=["hush"]),  # type: ignore[arg-type]
        lambda: NewExternalAgent(**AGENT, integration_meta={"headers": ["hush"]}),
        lambda: NewVariable(**VARIABLE, constant_value=["hush"]),  # type: ignore[arg-type]
        lambda: EnabledActions(actions=["a"], auth_meta=[{"token": "hush"}]),  # type: ignore[list-item]
        lambda: NewWebhook(**HOOK, username="u", password="hush" * 30),
    ],
)
def test_no_error_shows_a_possible_credential(make: Any) -> None:
    with pytest.raises(RequestInvalidError, match=r"\[hidden\]") as caught:
        make()
    assert "hush" not in str(caught.value)


def checked_structs(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield from (each, *checked_structs(each))


def test_every_default_passes_the_check_of_its_field() -> None:
    """A default is not checked when a struct is created."""
    defaults = {
        (kind, field.name): field.default
        for kind in checked_structs(CheckedStruct)
        for field in structs.fields(kind)
        if field.default not in (None, UNSET, NODEFAULT)
    }
    assert (NewMessage, "receiver_type") in defaults
    for (kind, name), value in defaults.items():
        assert convert(value, get_type_hints(kind, include_extras=True)[name]) == value


def test_a_mapping_for_a_struct_may_use_either_spelling() -> None:
    pages: Any = [{"page_number": 1}, {"pageNumber": 2}, Page(page_number=3)]
    book = Book(pages=pages, cover={"page_number": 4})  # type: ignore[arg-type]
    assert (
        json_body(book)
        == b'{"cover":{"pageNumber":4},"pages":[{"pageNumber":1},{"pageNumber":2},{"pageNumber":3}]}'
    )
    faults = {
        "pages[0]: unknown field 'number'; expected pageNumber": {"pages": [{"number": 1}]},
        "pages[1]: pageNumber = 0: expected a whole number from 1": {
            "pages": [{"page_number": 1}, {"pageNumber": 0}]
        },
        "cover: page_number = 0: expected a whole number from 1": {"cover": {"page_number": 0}},
        "pages[0]: 'pageNumber' is missing: expected a whole number from 1": {"pages": [{}]},
        "cover: 'pageNumber' is missing: expected a whole number from 1": {"cover": {}},
        "pages = 'x': expected a list of Page": {"pages": "x"},
        "pages = {'pageNumber': 1}: expected a list of Page": {"pages": {"pageNumber": 1}},
        "cover = [{'pageNumber': 1}]: expected a Page": {"cover": [{"pageNumber": 1}]},
    }
    for fault, given in faults.items():
        with pytest.raises(RequestInvalidError) as caught:
            Book(**given)  # type: ignore[arg-type]
        assert str(caught.value) == fault


def public_structs() -> Iterator[type[CheckedStruct]]:
    for module in iter_modules(parameters.__path__):
        for kind in vars(import_module(f"chatrest._parameters.{module.name}")).values():
            if isinstance(kind, type) and issubclass(kind, CheckedStruct):
                yield kind


KINDS = sorted(set(public_structs()), key=lambda kind: kind.__name__)


def test_no_field_is_a_text_with_a_pattern_or_a_container() -> None:
    """Such a union makes msgspec 0.22 free the pattern twice, and the interpreter crash."""
    hints = [hint for kind in KINDS for hint in get_type_hints(kind, include_extras=True).values()]
    for hint in hints:
        for union in (part for part in _types_in(hint) if get_origin(part) in (Union, UnionType)):
            parts = [(part, *get_args(part)[:1]) for part in get_args(union)]
            metas = [meta for part, *_ in parts for meta in getattr(part, "__metadata__", ())]
            has_container = any(
                get_origin(each) in (tuple, dict) or each in KINDS for part in parts for each in part
            )
            assert not (has_container and any(meta.pattern for meta in metas)), hint


def test_a_window_does_not_end_before_the_begin() -> None:
    windows = [(kind, *ends) for kind in KINDS for ends in getattr(kind, "windows", ())]
    assert len(windows) > 10
    for kind, first, last in windows:
        assert getattr(kind(**{first: 5, last: 5}), last) == 5
        with pytest.raises(
            RequestInvalidError, match=f"^{last} = 4: the window ends .* expected 5 or later$"
        ):
            kind(**{first: 5, last: 4})


@loop_over("query", [lambda: MessageQuery(tags=["a,b"]), lambda: UserQuery(roles=["x", "y,z"])])
def test_a_list_with_a_comma_in_an_item_is_refused_when_the_filter_is_made(query: Any) -> None:
    with pytest.raises(
        RequestInvalidError, match=r"^(tags|roles) = \[.*,.*\]: expected items without commas"
    ):
        query()


def test_every_field_has_one_line_of_meaning_and_expected_values() -> None:
    for kind in KINDS:
        lines = pydoc.getdoc(kind).splitlines()
        for name in kind.__struct_fields__:
            [line] = [line for line in lines if line.strip().startswith((f"{name}:", f"{name}*:"))]
            words = filter(None, (meaning(kind, name), kind.allowed(name)))
            assert line.endswith(f": {'; '.join(words)}")


def test_every_field_has_a_docstring_or_a_row_in_the_shared_table() -> None:
    assert meaning(MessageQuery, "has_links") == "only messages with links"
    assert meaning(UserQuery, "page") == "the number of the first page, from 1"  # that of its base
    assert meaning(UserChanges, "avatar") == meaning(NewUser, "avatar") == "the address of the user's picture"
    assert meaning(NewUser, "uid") == ""  # the name says all
    assert meaning(EnabledItemsQuery, "api_tools") == "include API tools"


def test_every_field_of_a_filter_of_the_first_pages_has_a_meaning() -> None:
    """The command's options have no other help."""
    for kind in (MessageQuery, UserQuery, AppQuery):
        assert all(meaning(kind, name) for name in kind.__struct_fields__)


def test_help_of_a_filter_is_readable() -> None:
    shown = pydoc.render_doc(MessageQuery, renderer=pydoc.plaintext)
    assert "has_links: only messages with links; True or False" in shown
    assert "Meta(" not in shown
    assert "__lt__" not in shown
    assert max(map(len, shown.splitlines())) < 3000
    assert len(shown.splitlines()) < 250  # from 3.13 on a parameter a line
    parameters = inspect.signature(NewUser).parameters
    assert (parameters["uid"].annotation, parameters["uid"].default) == (str, inspect.Parameter.empty)
    assert "has_links" in dir(MessageQuery)


@loop_over(
    ("call", "words"),
    [
        (lambda: MessageQuery(afix="append"), "MessageQuery has no field 'afix' (did you mean 'affix'?)"),
        (lambda: RetryPolicy(atempts=1), "RetryPolicy has no field 'atempts' (did you mean 'attempts'?)"),
        (lambda: MessageQuery(zzz=1), "MessageQuery has no field 'zzz'"),
        (lambda: NewUser(uid="a", nme="A"), "NewUser has no field 'nme' (did you mean 'name'?)"),
        (lambda: NewUser(), "NewUser: Missing required argument 'uid'"),
        (lambda: Deletion(True), "Deletion: Extra positional arguments provided"),
    ],
)
def test_a_wrong_name_is_named_with_the_nearest_one(call: Callable[[], Any], words: str) -> None:
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
        inner = [frame for frame in report.stack if "/chatrest/_" in frame.filename]
        assert inner
        assert "hush-5" not in str(caught.value) + "".join(str(frame.locals) for frame in inner)


def test_a_type_error_of_another_cause_is_unchanged() -> None:
    class Broken(Filter, frozen=True, kw_only=True):
        def __post_init__(self) -> None:
            raise TypeError("of the struct itself")

    with pytest.raises(TypeError, match=r"^Broken: of the struct itself$"):
        Broken()
    assert NewMessage.text("bob", "hi").receiver == "bob"
