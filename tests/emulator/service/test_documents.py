"""The shapes: a collection of documents, settings, and lists that go on by a position."""

import json
from typing import Any

import pytest
from msgspec import UNSET, Struct, UnsetType

from chatrest.core.decode import read_json
from chatrest.core.endpoint import Endpoint
from chatrest.emulator.service.arguments import Arguments
from chatrest.emulator.service.context import Call, Context, PageFormat
from chatrest.emulator.service.documents import (
    DocumentCollection,
    Settings,
    as_iso_text,
    in_milliseconds,
    merged,
    serve,
)
from chatrest.emulator.service.envelopes import current_reply, member_reply, root_reply, success_reply
from chatrest.emulator.service.pages import PositionedPages
from chatrest.emulator.service.refusals import Refusal
from chatrest.emulator.store import Store
from chatrest.queries.checked import Body, Text
from tests.emulator.conftest import NOW


class NewNote(Body, frozen=True, kw_only=True, rename="camel"):
    short_title: Text
    colour: Text | UnsetType = UNSET


class NoteChange(Body, frozen=True, kw_only=True, rename="camel"):
    short_title: Text | UnsetType = UNSET


class Theme(Body, frozen=True, kw_only=True):
    colour: dict[str, int]


NOTES = DocumentCollection(kind="notes", missing="ERR_RULE_NOT_FOUND")
THEME = Settings(kind="theme", defaults={"colour": {"light": 1, "dark": 2}, "size": 3})
PROVIDER = Settings(kind="provider", missing="ERR_RULE_NOT_FOUND")


@pytest.fixture
def context(store: Store) -> Context:
    return Context(store, {}, PageFormat("cursor"), PageFormat("next"), lambda: NOW + 0.9)


def call(body: Any = None, kind: type[Struct] | None = None, **path: str) -> Call:
    """A call whose endpoint has a body of this kind: by default a new note, or a change of the one named."""
    body_kind = kind or (NoteChange if path else NewNote)
    endpoint: Endpoint[Any] = Endpoint("notes.do", "PUT", "/notes", read_json, "idempotent", body=body_kind)
    return Call(endpoint, path, Arguments(()), None, b"" if body is None else json.dumps(body).encode())


def test_a_document_is_created_got_changed_listed_and_deleted(context: Context) -> None:
    note = NOTES.create(context, call({"id": "a", "shortTitle": "A", "more": {"x": 1}}))
    assert note == {
        "id": "a", "shortTitle": "A", "more": {"x": 1}, "createdAt": NOW, "updatedAt": NOW,
    }  # fmt: skip
    assert NOTES.get(context, call(id="a")) == note
    changed = NOTES.update(context, call({"shortTitle": "B", "more": {"y": 2}, "id": "z"}, id="a"))
    assert (changed["id"], changed["shortTitle"], changed["more"]) == ("a", "B", {"x": 1, "y": 2})
    assert NOTES.list(context, call()) == [changed]
    assert NOTES.delete(context, call(id="a")) == changed
    assert NOTES.list(context, call()) == []


def test_a_document_without_an_id_gets_one_of_its_own(context: Context) -> None:
    ids = {NOTES.create(context, call({"shortTitle": "A"}))["id"] for _ in range(3)}
    assert len(ids) == 3


@pytest.mark.parametrize("operation", [NOTES.get, NOTES.update, NOTES.delete])
def test_an_unknown_id_is_refused(context: Context, operation: Any) -> None:
    with pytest.raises(Refusal) as caught:
        operation(context, call({}, id="none"))
    assert (caught.value.status, caught.value.code) == (404, "ERR_RULE_NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "shortTitle"), ({"shortTitle": 5}, "shortTitle"), ({"shortTitle": ""}, "shortTitle"), ([], "body"),
     ({"id": "a", "shortTitle": "A"}, "id")],
)  # fmt: skip
def test_a_wrong_body_and_a_used_id_are_refused_by_their_field(
    context: Context, body: Any, field: str
) -> None:
    NOTES.create(context, call({"id": "a", "shortTitle": "A"}))
    with pytest.raises(Refusal) as caught:
        NOTES.create(context, call(body))
    assert (caught.value.status, list(caught.value.error["details"])) == (400, [field])
    assert len(NOTES.list(context, call())) == 1


def test_settings_hold_their_defaults_until_they_are_changed(context: Context) -> None:
    assert THEME.get(context, call()) == {"colour": {"light": 1, "dark": 2}, "size": 3}
    changed = THEME.merge(context, call({"colour": {"dark": 9}}, Theme))
    assert changed == {"colour": {"light": 1, "dark": 9}, "size": 3} == THEME.get(context, call())
    assert THEME.reset(context, call())["colour"] == {"light": 1, "dark": 2}
    assert THEME.get(context, call())["colour"] == {"light": 1, "dark": 2}


def test_settings_without_defaults_are_missing_until_they_are_put(context: Context) -> None:
    for operation in (PROVIDER.get, PROVIDER.merge, PROVIDER.reset):
        with pytest.raises(Refusal, match="The rule"):
            operation(context, call({}, NoteChange))
    PROVIDER.put(context, call({"shortTitle": "A", "colour": "red"}))
    assert PROVIDER.merge(context, call({"shortTitle": "B"}, NoteChange)) == {
        "shortTitle": "B",
        "colour": "red",
    }
    assert PROVIDER.put(context, call({"shortTitle": "C"})) == {"shortTitle": "C"}
    assert PROVIDER.reset(context, call()) == {}
    with pytest.raises(Refusal):
        PROVIDER.get(context, call())


def test_objects_are_merged_and_lists_are_replaced() -> None:
    old = {"a": {"x": 1, "y": {"z": 1}}, "b": [1, 2], "c": {"d": 1}}
    new = {"a": {"y": {"w": 2}}, "b": [3], "c": None}
    assert merged(old, new) == {"a": {"x": 1, "y": {"z": 1, "w": 2}}, "b": [3], "c": None}
    assert old["a"] == {"x": 1, "y": {"z": 1}}


def test_envelopes(context: Context) -> None:
    NOTES.create(context, call({"id": "a", "shortTitle": "A"}))
    notes = NOTES.list(context, call())
    expected = {
        root_reply: notes,
        success_reply: {"data": {"success": True}},
        current_reply: {"data": notes, "meta": {"current": {"limit": 100, "count": 1}}},
        member_reply("notes"): {"data": {"notes": notes}},
    }
    for envelope, reply in expected.items():
        assert json.loads(serve(NOTES.list, envelope)(context, call())) == reply


def test_times(context: Context) -> None:
    assert in_milliseconds(context) == NOW * 1000 + 900
    assert as_iso_text(context) == "2033-05-18T03:33:20.900Z"


# ── lists that go on by a position ──

PAGES = PositionedPages(member="at", parameter="from", default_size=2)
ENTRIES = [{"id": name, "at": at} for name, at in zip("abcdef", (1, 2, 2, 3, 10, 11), strict=True)]


def page(**query: Any) -> tuple[str, Any]:
    arguments = Arguments((name.rstrip("_"), str(value)) for name, value in query.items())
    reply = json.loads(PAGES.reply(ENTRIES, arguments))
    return "".join(entry["id"] for entry in reply["data"]), reply["meta"]


def test_pages_go_on_from_a_position_and_never_part_those_of_one() -> None:
    ids, meta = page()
    assert (ids, meta["current"], meta["next"]) == (
        "abc", {"limit": 2, "count": 3}, {"affix": "append", "at": 2}
    )  # fmt: skip
    assert page(from_=2)[0] == "de"
    assert page(from_=10)[1]["next"] == {"affix": "append", "at": 11}
    ids, meta = page(from_=11)
    assert (ids, meta) == (
        "", {"current": {"limit": 2, "count": 0}, "next": {"affix": "append", "at": 11}}
    )  # fmt: skip


def test_pages_go_backwards_with_prepend() -> None:
    assert page(affix="prepend")[0] == "fe"
    ids, meta = page(affix="prepend", from_=10, limit=3)
    assert (sorted(ids), meta["next"], meta["previous"]["affix"]) == (
        ["b", "c", "d"], {"affix": "prepend", "at": 2}, "append"
    )  # fmt: skip


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 101}, {"affix": "up"}])
def test_wrong_parameters_of_a_page_are_refused(query: Any) -> None:
    with pytest.raises(Refusal):
        page(**query)
