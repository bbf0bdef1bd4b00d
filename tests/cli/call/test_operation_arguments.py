"""The texts `KEY=VALUE` as the call of an endpoint, on endpoints that have every kind of parameter."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import UNSET, Meta, UnsetType, field

from chatrest import RequestInvalidError
from chatrest._cli.call.operation_arguments import Parameters, call_of
from chatrest._core.replies.decode import JSON
from chatrest._core.requests.endpoint import Call, Endpoint
from chatrest._parameters.checked import Body, Bool, Filter, Json, Ordinal, Stamp, Text, Texts
from chatrest._parameters.fields import Switch, words_of
from chatrest._parameters.files import Upload
from chatrest._resources import OPERATIONS
from tests.support.cases import loop_over

Ratio = Annotated[float, Meta(ge=0, description="a number from 0")]
Level = Annotated[Literal[1, 2], Meta(description="1 or 2")]
Anything = Annotated[Any, Meta(description="any JSON")]


class Part(Body, frozen=True, kw_only=True, rename="camel"):
    part_name: Text
    size: Ordinal | UnsetType = UNSET


class Query(Filter, frozen=True, kw_only=True, rename="camel"):
    uid: Text | None = None
    mode: Text | None = None
    sent_at_from: Stamp | None = field(default=None, name="sentAt[from]")
    page_number: Ordinal | None = None


class Content(Body, frozen=True, kw_only=True, rename="camel"):
    uid: Text
    mode: Text | UnsetType = UNSET
    body: Text | UnsetType = UNSET
    is_open: Bool | UnsetType = UNSET
    ratio: Ratio | UnsetType = UNSET
    level: Level | UnsetType = UNSET
    pinned: Switch | UnsetType = UNSET
    tags: Texts | UnsetType = UNSET
    levels: Annotated[tuple[Ordinal, ...], Meta(description="a list of numbers")] | UnsetType = UNSET
    meta_data: Json | UnsetType | None = UNSET
    note: Text | UnsetType | None = UNSET
    text_or_json: Annotated[str | dict[str, Any], Meta(description="a text or an object")] | UnsetType = UNSET
    value: Anything | UnsetType = UNSET
    first_part: Annotated[Part, Meta(description="a part")] | UnsetType = UNSET
    parts: Annotated[tuple[Part, ...], Meta(description="a list of parts")] | UnsetType = UNSET
    from_: Text | UnsetType = field(default=UNSET, name="from")


FULL: Endpoint[Any] = Endpoint(
    "things.change", "PUT", "/things/{uid}/{apiKey}", JSON, "idempotent",
    query=Query, body=Content, acting="required",
)  # fmt: skip
PLAIN: Endpoint[Any] = Endpoint("things.make", "POST", "/things", JSON, "never")
REQUIRED = ("uid=a", "api_key=k", "body.uid=b", "on_behalf_of=c")


def no_file(name: str) -> str:
    raise AssertionError(name)


def call(*texts: str, endpoint: Endpoint[Any] = FULL, read_file: Callable[[str], str] = no_file) -> Call[Any]:
    return call_of(endpoint, texts, read_file)


def body(*texts: str) -> Any:
    return call(*REQUIRED, *texts).body


@loop_over("key", ["apiKey", "api_key", "path.apiKey", "path.api_key"])
def test_a_parameter_of_the_path_by_both_names(key: str) -> None:
    made = call("uid=a/b", f"{key}=k", "body.uid=b", "onBehalfOf=c")
    assert (made.path, made.acting_user, made.query) == ("/things/a%2Fb/k", "c", None)


def test_the_path_wins_and_the_others_are_reached_by_their_place() -> None:
    made = call(*REQUIRED, "query.uid=q")
    assert (made.path, made.query, made.body) == ("/things/a/k", Query(uid="q"), Content(uid="b"))


@loop_over("key", ["sentAt[from]", "sent_at_from", "query.sentAt[from]"])
@loop_over(
    ("text", "seconds"),
    [
        ("1600000000", 1600000000),
        ("@60", 60),
        ("1970-01-02", 86400),
        ("1970-01-01T00:01:00+00:00", 60),
        ("1970-01-01T00:01", 60),
    ],
)
def test_a_time_is_a_number_or_a_date(key: str, text: str, seconds: int) -> None:
    assert call(*REQUIRED, f"{key}={text}").query.sent_at_from == seconds


@loop_over(
    ("text", "member", "value"),
    [
        ("isOpen=true", "is_open", True),
        ("is_open=0", "is_open", False),
        ("is_open=FALSE", "is_open", False),
        ("ratio=1.5", "ratio", 1.5),
        ("level=2", "level", 2),
        ("pinned=true", "pinned", 1),
        ("pinned=0", "pinned", 0),
        ("tags=a,b=c", "tags", ("a", "b=c")),
        ('tags=["a,b"]', "tags", ("a,b",)),
        ("levels=1,2", "levels", (1, 2)),
        ("levels=[3]", "levels", (3,)),
        ('meta_data={"a": [1]}', "meta_data", {"a": [1]}),
        ("metaData=null", "meta_data", None),
        ("note=null", "note", "null"),
        ("note=a=b", "note", "a=b"),
        ("note=@@all", "note", "@all"),
        ("body.body=x", "body", "x"),
        ("from=x", "from_", "x"),
        ("from_=x", "from_", "x"),
        ("text_or_json=12", "text_or_json", "12"),
        ('text_or_json={"a": 1}', "text_or_json", {"a": 1}),
        ("value=12", "value", 12),
        ("value=twelve", "value", "twelve"),
        ('first_part={"partName": "x"}', "first_part", Part(part_name="x")),
        ('parts={"partName": "x", "size": 2}', "parts", (Part(part_name="x", size=2),)),
    ],
)
def test_a_value_is_converted_by_the_type_of_its_field(text: str, member: str, value: object) -> None:
    assert getattr(body(text), member) == value


@loop_over(
    ("text", "words"),
    [
        ("is_open=yes", "is_open = 'yes': expected true or false"),
        ("ratio=much", "ratio = 'much': expected a number from 0"),
        ("level=3", "level = 3: expected 1 or 2"),
        ("tags=a,,b", r"tags = \['a', '', 'b'\]: expected a list of texts"),
        ("tags=", r"tags = \[\]: expected a list of texts"),
        ("tags=[a]", r"tags = '\[a\]': it is not JSON"),
        ("levels=1,x", r"levels = \[1, 'x'\]: expected a list of numbers"),
        ("page_number=null", "page_number = 'null': expected a whole number"),
        (
            'first_part={"size": 1}',
            "first_part: 'partName' is missing: expected a non-empty text",
        ),
    ],
)
def test_a_wrong_value_is_the_error_of_the_struct(text: str, words: str) -> None:
    with pytest.raises(RequestInvalidError, match=words):
        body(text)


def test_single_members_replace_those_of_a_complete_body() -> None:
    files = {"b.json": '{"uid": "b", "isOpen": true, "tags": ["x"], "note": null}'}
    given = ("uid=a", "apiKey=k", "on_behalf_of=c", "body=@b.json", "tags=y", 'tags=["z,1"]')
    made = call(*given, read_file=files.__getitem__)
    assert made.body == Content(uid="b", is_open=True, tags=("y", "z,1"), note=None)


def test_labels_and_descriptions_of_parameters() -> None:
    by_name = {parameter.name: parameter for parameter in Parameters(FULL).all}
    labels = [
        "uid=TEXT", "sent_at_from=TIME", "is_open=true|false", "ratio=NUMBER", "level=1|2", "tags=LIST",
        "text_or_json=TEXT|JSON", "parts=JSON", "page_number=N",
    ]  # fmt: skip
    assert [by_name[label.partition("=")[0]].label for label in labels] == labels
    assert by_name["parts"].rule.description == "a list of parts; members: partName, size"


@loop_over("value", [{"a": 1}, [1], "text", 5])
def test_a_body_without_a_struct_is_any_json(value: object) -> None:
    assert call(f"body={json.dumps(value)}", endpoint=PLAIN).body == value


def test_all_wrong_and_missing_names_are_in_one_error() -> None:
    with pytest.raises(RequestInvalidError) as caught:
        call("api_kye=k", "colour=red", "bob", "ISOPEN=1")
    assert str(caught.value) == (
        "things.change: no parameter 'api_kye' (did you mean 'api_key'?); no parameter 'colour'; "
        "'bob' is not KEY=VALUE; no parameter 'ISOPEN' (did you mean 'is_open'?); "
        "missing uid, api_key, body.uid, on_behalf_of; "
        f"expected {words_of([parameter.name for parameter in Parameters(FULL).all])}"
    )
    assert caught.value.__notes__ == ["see 'chatrest call things.change --help'"]


@loop_over("name", OPERATIONS)
def test_no_two_parameters_of_an_operation_share_an_option_name(name: str) -> None:
    endpoint, parameters = OPERATIONS[name], Parameters(OPERATIONS[name])
    assert len({parameter.name for parameter in parameters.all}) == len(parameters.all)
    for kind, place in ((endpoint.query, "query"), (endpoint.body, "body")):
        fields = kind.__struct_encode_fields__ if kind is not None else ()
        for wire_name in fields:
            parameter = parameters.get(f"{place}.{wire_name}")
            assert parameter is not None
            assert parameters.get(parameter.name) is parameter
    for path_name in endpoint.parameters:
        parameter = parameters.get(path_name)
        assert parameter is not None
        assert parameter.place == "path"


class Terms(Body, frozen=True, kw_only=True, rename="camel"):
    category: Text
    file: Upload | UnsetType = UNSET


class Version(Filter, frozen=True, kw_only=True):
    x_version: Level | None = field(default=2, name="X-Version")


UPLOAD: Endpoint[Any] = Endpoint(
    "terms.create", "POST", "/terms", JSON, "never", body=Terms, media="multipart", headers=Version
)


def test_a_file_is_given_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_bytes(b"a,b")
    file = call("category=word", f"file=@{path}", endpoint=UPLOAD).body.file
    assert (file.content, file.name) == (b"a,b", "terms.csv")
    made = call("category=word", "X-Version=1", endpoint=UPLOAD)
    assert made.headers == Version(x_version=1)


@loop_over("text", ["terms.csv", "", "@", "@-"])
def test_a_file_without_a_path_is_refused(text: str) -> None:
    with pytest.raises(RequestInvalidError, match=r"^file = '.*': expected @ and the path of a file$"):
        call("category=word", f"file={text}", endpoint=UPLOAD)
    with pytest.raises(RequestInvalidError, match=r"^file: given 2 times, expected once$"):
        call("category=word", "file=@a", "file=@b", endpoint=UPLOAD)


@loop_over("option", ["limit", "cursor"])
def test_an_option_of_a_list_that_is_given_as_a_parameter(option: str) -> None:
    with pytest.raises(RequestInvalidError, match=rf"'{option}' \(did you mean '--{option}'\?\)"):
        call(f"{option}=5", endpoint=OPERATIONS["users.list"])
