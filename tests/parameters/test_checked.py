"""Checked structs: each field follows its own rule, whether it is needed, optional or nullable."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from traceback import TracebackException
from typing import Annotated, Any

import pytest
from msgspec import UNSET, Meta, UnsetType, inspect, structs

from chatrest import parameters
from chatrest.core.encode import query_pairs
from chatrest.core.wire import json_body
from chatrest.errors import RequestInvalidError
from chatrest.parameters.checked import Body, Checked, Filter, Flag, Json, Ordinal, Stamp, Text, Texts


class Letter(Body, frozen=True, kw_only=True, rename="camel"):
    """A member of every kind."""

    subject_line: Text
    copies: Ordinal = 1
    reply_to: Text | UnsetType = UNSET
    expires_at: Stamp | UnsetType | None = UNSET
    labels: Texts | UnsetType = UNSET


class Page(Checked, frozen=True, kw_only=True, rename="camel"):
    """A struct inside of others."""

    page_number: Ordinal


class Book(Body, frozen=True, kw_only=True, rename="camel"):
    """Members that are structs."""

    cover: Annotated[Page, Meta(description="a Page")] | UnsetType = UNSET
    pages: Annotated[tuple[Page, ...], Meta(description="a list of Page")] | UnsetType = UNSET


class Search(Filter, frozen=True, kw_only=True, rename="camel"):
    """A field of every kind."""

    is_open: Flag | None = None
    since: Stamp | None = None


@pytest.mark.parametrize(
    ("members", "body"),
    [
        ({}, b'{"subjectLine":"s","copies":1}'),
        ({"reply_to": None}, b'{"subjectLine":"s","copies":1}'),
        ({"reply_to": UNSET, "expires_at": UNSET}, b'{"subjectLine":"s","copies":1}'),
        ({"expires_at": None}, b'{"subjectLine":"s","copies":1,"expiresAt":null}'),
        ({"expires_at": 5, "labels": ["x"]}, b'{"subjectLine":"s","copies":1,"expiresAt":5,"labels":["x"]}'),
    ],
)
def test_none_is_not_sent_but_where_null_is_a_value(members: Any, body: bytes) -> None:
    assert json_body(Letter(subject_line="s", **members)) == body


@pytest.mark.parametrize("name", ["subject_line", "copies"])
@pytest.mark.parametrize("nothing", [None, UNSET])
def test_a_member_that_is_no_optional_one_is_refused_where_it_is_none(name: str, nothing: Any) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name} = {nothing}: allowed is "):
        Letter(**{"subject_line": "s", name: nothing})


@pytest.mark.parametrize("nothing", [None, UNSET])
def test_a_filter_that_is_none_is_not_asked_for(nothing: Any) -> None:
    assert list(query_pairs(Search(is_open=nothing, since=nothing), "comma")) == []
    assert list(query_pairs(Search(is_open=False, since=0), "comma")) == [("isOpen", "false"), ("since", "0")]


def test_what_was_checked_stays_so() -> None:
    labels = ["x"]
    letter = Letter(subject_line="s", labels=labels)
    labels.append("")
    assert letter.labels == ("x",)
    assert structs.replace(letter, copies=2).copies == 2
    with pytest.raises(RequestInvalidError, match=r"^copies = 0: allowed is a whole number from 1$"):
        structs.replace(letter, copies=0)


def test_a_repr_shows_what_was_given_alone() -> None:
    assert repr(Letter(subject_line="s", reply_to=None)) == "Letter(subject_line='s')"
    assert repr(Search()) == "Search()"


class Access(Body, frozen=True, kw_only=True, rename="camel"):
    """A member that is a credential, in the struct and in an object of it."""

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
    with pytest.raises(RequestInvalidError, match=r"^basic_auth_password = '': allowed is a text"):
        Access(basic_auth_password="")


def checked_structs(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield from (each, *checked_structs(each))


def has_pattern(rule: inspect.Type) -> bool:
    inner = rule.type if isinstance(rule, inspect.Metadata) else rule
    return getattr(inner, "pattern", None) is not None


def unions(rule: inspect.Type) -> Iterator[inspect.UnionType]:
    if isinstance(rule, inspect.Metadata):
        yield from unions(rule.type)
    elif isinstance(rule, inspect.UnionType):
        yield rule


def test_no_field_is_a_text_with_a_pattern_or_a_container() -> None:
    """Such a union makes msgspec 0.22 free the pattern twice, and the interpreter crash."""
    for module in iter_modules(parameters.__path__):
        import_module(f"{parameters.__name__}.{module.name}")
    containers = (inspect.CollectionType, inspect.DictType, inspect.StructType, inspect.TupleType)
    kinds = [kind for kind in checked_structs(Checked) if kind.__module__.startswith("chatrest.")]
    assert len(kinds) > 20
    for kind in kinds:
        described = inspect.type_info(kind)
        assert isinstance(described, inspect.StructType)
        for field in described.fields:
            for union in unions(field.type):
                inner = [part.type if isinstance(part, inspect.Metadata) else part for part in union.types]
                has_container = any(isinstance(part, containers) for part in inner)
                assert not (has_container and any(map(has_pattern, union.types))), (
                    f"{kind.__name__}.{field.name}"
                )


def test_a_mapping_in_the_place_of_a_struct_has_its_members_in_either_spelling() -> None:
    pages: Any = [{"page_number": 1}, {"pageNumber": 2}, Page(page_number=3)]
    book = Book(pages=pages, cover={"page_number": 4})  # type: ignore[arg-type]
    assert (
        json_body(book)
        == b'{"cover":{"pageNumber":4},"pages":[{"pageNumber":1},{"pageNumber":2},{"pageNumber":3}]}'
    )
    with pytest.raises(RequestInvalidError, match=r"allowed is a list of Page; 'number' is none of"):
        Book(pages=[{"number": 1}])  # type: ignore[arg-type]
    with pytest.raises(
        RequestInvalidError, match=r"^pages = .*: allowed is a list of Page; \[1\]\.pageNumber: "
    ):
        Book(pages=[{"page_number": 1}, {"page_number": 0}])  # type: ignore[arg-type]
    with pytest.raises(RequestInvalidError, match=r"; \[0\]\.pageNumber is missing$"):
        Book(pages=[{}])  # type: ignore[arg-type]
    with pytest.raises(RequestInvalidError, match=r"^cover = .*; pageNumber is missing$"):
        Book(pages=[{"page_number": 1}], cover={})  # type: ignore[arg-type]
    with pytest.raises(RequestInvalidError, match=r"^pages = 'x': allowed is a list of Page$"):
        Book(pages="x")  # type: ignore[arg-type]
