"""The lenient scanner: any JSON that can be read, with each record's exact bytes."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chatrest._core.replies.scanner import TooDeep, elements, members, read_body, read_record
from chatrest._models.raw_json import bytes_of, text_of_bytes
from chatrest.errors import ReplyUnreadableError
from tests.support.cases import TOO_DEEP, loop_over

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def envelope(body: bytes) -> tuple[dict[str, Any], list[tuple[Any, bytes]]]:
    """Return a reply's members, and the records of its `data`, each with its bytes."""
    parts = members(body)
    data = parts.get("data", b"")
    records = elements(data) if data.startswith(b"[") else [data] if data.startswith(b"{") else []
    return (
        {name: read_record(raw) for name, raw in parts.items()},
        [(read_record(raw), raw) for raw in records],
    )


@given(st.binary())
def test_bytes_become_text_and_the_same_bytes_again(body: bytes) -> None:
    text = text_of_bytes(body)
    assert bytes_of(text) == body.removeprefix(b"\xef\xbb\xbf")


@given(st.lists(values, max_size=4), st.sampled_from([None, 1, "\t"]), st.booleans())
def test_every_record_has_the_served_bytes(records: list[Any], indent: Any, ascii_only: bool) -> None:
    parts = [
        json.dumps(each, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogateescape")
        for each in records
    ]
    body = b' {"a":[{}], "data" : [ ' + b" ,\n".join(parts) + b' ]\n, "meta":{} }\n'
    members, with_bytes = envelope(body)
    assert members == {"a": [{}], "data": records, "meta": {}}
    assert with_bytes == list(zip(records, parts, strict=True))


BROKEN = [
    b"", b" ", b"{", b'{"data"', b'{"data":', b'{"data":[', b'{"data":[1', b'{"data":[1,',
    b'{"data":[1,]}', b'{"data":[]', b'{"data":[],}', b"{,}", b'{"a":1 "b":2}', b'{"data":[1 2]}', b"[]",
    b"null", b"5", b'"x"', b"{}x", b"{} {}", b"<html></html>", b"\x00", b'{"a"}', b"{a:1}", b"{'a':1}",
    b'{"data":[}', b'{"data":{]}', b'{"a":tru}', b"{1:2}", b"{[]:1}", b"{{}:1}", b"{null:1}",
    b'{"data":[],[]:1}',
]  # fmt: skip


@loop_over("body", BROKEN)
def test_a_body_that_is_not_a_json_object_is_unreadable(body: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        envelope(body)


@given(st.binary() | st.text('{}[]:,"\\ 019.-eEdatnulrfsNIy', max_size=24).map(str.encode))
def test_any_bytes_are_an_envelope_or_unreadable_and_nothing_else(body: bytes) -> None:
    for read in (envelope, read_body):
        with suppress(ReplyUnreadableError):
            read(body)


@pytest.mark.parametrize("body", [b"", b" \n\t", b"\xef\xbb\xbf"])
def test_an_empty_body_is_nothing(body: bytes) -> None:
    assert read_body(body) is None


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"data":' + b"[" * 100_000])
def test_deep_nesting_is_unreadable(body: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        read_body(body)
    with pytest.raises(ReplyUnreadableError):
        envelope(body)


def test_an_error_names_the_fault_of_the_body() -> None:
    with pytest.raises(ReplyUnreadableError, match="cut off"):
        envelope(b'{"data":[]')
    with pytest.raises(ReplyUnreadableError, match="not JSON"):
        envelope(b"<html>")
    with pytest.raises(ReplyUnreadableError, match="text after the end"):
        envelope(b"{}x")


texts = st.text(st.sampled_from('[]{}",:\\\\ a'), max_size=5)


@st.composite
def deep_values(draw: st.DrawFn) -> bytes:
    """Something nested deeper than any recursive reader goes, with brackets in its texts."""
    value = draw(values)
    levels = draw(st.lists(st.one_of(texts, values), min_size=1, max_size=4))
    before, after = "", ""
    for level in levels:
        side = json.dumps(level)
        before += f"[{side}, " if not isinstance(level, str) else "{" + f"{side} : "
        after = ("]" if not isinstance(level, str) else f', "z": {side}' + "}") + after
    depth = draw(st.sampled_from([1, 600]))
    return (before * depth + json.dumps(value) + after * depth).encode("utf-8", "surrogatepass")


@given(st.lists(deep_values(), max_size=4), st.sampled_from([b"", b" ", b"\n\t"]))
def test_records_are_separated_at_any_depth(parts: list[bytes], space: bytes) -> None:
    array = b"[" + space + (space + b"," + space).join(parts) + space + b"]"
    assert elements(array) == parts
    body = b'{"a":[1], "data":' + array + b',"z":"]"}'
    assert members(body) == {"a": b"[1]", "data": array, "z": b'"]"'}


def test_a_record_too_deep_is_read_one_level() -> None:
    deep = b"[" * TOO_DEEP + b"]" * TOO_DEEP
    record = read_record(b'{"id" : "5", "a":%b,"b":{"c":1}, "n":null,"t":"]"}' % deep)
    assert isinstance(record, TooDeep)
    assert record == {"id": "5", "n": None, "t": "]"}
    assert read_record(deep) == TooDeep()


@pytest.mark.parametrize("closing", [b"]" * 5000, b"]" * 100 + b"}" * 4900, b"]" * 4990 + b'"'])
def test_more_closing_brackets_than_were_opened_are_unreadable(closing: bytes) -> None:
    with pytest.raises(ReplyUnreadableError):
        members(b'{"data":' + b"[" * 2000 + closing)
