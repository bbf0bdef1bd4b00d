"""Keyword lists: what is sent as a form, and what the emulator makes of forms, files and JSON."""

from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from chatrest import AsyncSession, File, NotFoundError
from chatrest.core.multipart import form
from chatrest.emulator import Emulator
from chatrest.models.outcomes import Ack
from chatrest.parameters.moderation import NewKeywordList, NewModeratedMessage, NewRule, RuleCondition
from chatrest.resources.moderation import Moderation
from tests.sending import Sender

LIST = (
    b'{"id":"l","name":"L","description":"d","category":"word","isCSV":true,"searchTerms":["x"],"active":true,'
    b'"createdAt":5,"updatedAt":6,"revisionId":"l-1","default":true,"_id":"i","appId":"app","__v":3}'
)


@pytest.fixture
async def session() -> AsyncIterator[AsyncSession]:
    async with Emulator(users=3, messages=0) as emulator, AsyncSession(emulator.app) as session:
        yield session


ONE = b'{"data":%b}' % LIST
NEW = NewKeywordList(id="l", category="word", search_terms=["x", "y"], disallowed_sentences=["one, two", "z"])
CALLS: dict[str, tuple[Any, bytes, str]] = {
    "get": (lambda each: each.get_keyword_list("a/b"), ONE, "GET /moderation/keywords/a%2Fb"),
    "create": (lambda each: each.create_keyword_list(NEW), ONE, "POST /moderation/keywords"),
    "update": (lambda each: each.update_keyword_list("l", NEW), ONE, "PUT /moderation/keywords/l"),
    "delete": (
        lambda each: each.delete_keyword_list("l"), b'{"data":{"success":true}}',
        "DELETE /moderation/keywords/l",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
async def test_what_is_sent(name: str) -> None:
    ask, reply, expected = CALLS[name]
    sender = Sender(reply)
    result = await ask(Moderation(sender))
    assert f"{sender.call.endpoint.method} {sender.call.path}" == expected
    assert isinstance(result, Ack) is (name == "delete")
    if name in ("create", "update"):
        assert sender.call.endpoint.media == "multipart"
        assert form(sender.call.body).parts == (
            ("id", "l"), ("category", "word"), ("searchTerms", "x,y"), ("disallowedSentences", "one, two"),
            ("disallowedSentences", "z"),
        )  # fmt: skip


async def test_a_list_has_what_the_service_leaks() -> None:
    [listed] = await Moderation(Sender(b'{"data":[%b]}' % LIST)).list_keyword_lists().collect()
    assert (listed.id, listed.name, listed.description, listed.category) == ("l", "L", "d", "word")
    assert (listed.is_csv, listed.search_terms, listed.active, listed.default) == (True, ("x",), True, True)
    assert (listed.created_at, listed.updated_at, listed.revision_id) == (5, 6, "l-1")
    assert (listed._id, listed.app_id, listed.document_version) == ("i", "app", 3)
    assert getattr(listed, "__v") == 3


async def test_a_list_of_terms_is_made_changed_listed_and_deleted(session: AsyncSession) -> None:
    moderation = session.moderation
    created = await moderation.create_keyword_list(
        NewKeywordList(id="l", name="L", category="word", search_terms=["darn", "heck"])
    )
    assert (created.search_terms, created.is_csv, created.active) == (("darn", "heck"), False, True)
    changed = await moderation.update_keyword_list(
        "l", NewKeywordList(category="pattern", search_terms="h.*")
    )
    assert (changed.name, changed.category, changed.search_terms) == ("L", "pattern", ("h.*",))
    assert changed.revision_id != created.revision_id
    [listed] = await moderation.list_keyword_lists().collect()
    assert (listed.id, listed.document_version, listed.revision_id) == ("l", 0, changed.revision_id)
    assert (await moderation.get_keyword_list("l")).document_version != 0
    assert (await moderation.delete_keyword_list("l")).success
    with pytest.raises(NotFoundError, match="ERR_KEYWORD_NOT_FOUND"):
        await moderation.get_keyword_list("l")


async def test_a_file_of_terms_is_uploaded(session: AsyncSession, tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text('darn,"heck"\nwow\n', encoding="utf-8")
    terms = ("darn", '"heck"', "wow")
    for number, file in enumerate((path, File(BytesIO(path.read_bytes()), name="terms.csv"))):
        new = NewKeywordList(id=f"l{number}", category="word", file=file)
        made = await session.moderation.create_keyword_list(new)
        assert (made.is_csv, made.search_terms) == (True, terms)


async def test_json_is_taken_in_the_place_of_a_form(session: AsyncSession) -> None:
    body = {"id": "l", "category": "word", "searchTerms": ["a", "b"]}
    await session.request("POST", "/moderation/keywords", json=body)
    assert (await session.moderation.get_keyword_list("l")).search_terms == ("a", "b")


async def test_a_rule_refers_to_a_keyword_list(session: AsyncSession) -> None:
    moderation = session.moderation
    await moderation.create_keyword_list(NewKeywordList(id="l", category="word", search_terms=["heck"]))
    condition = RuleCondition(operand="text", is_keyword_reference_present=True, value="l")
    await moderation.create_rule(NewRule(id="r", conditions=[condition]))
    message = NewModeratedMessage(
        sender="user-01", receiver="user-02", receiver_type="user", data={"text": "oh heck"}
    )
    made = await moderation.create_message(message)
    assert made.data.moderation["status"] == "disapproved"
