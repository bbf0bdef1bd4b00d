"""`session.moderation`, through a double of the session: what operations give, and what they refuse."""

from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import pytest

from chatrest import AsyncSession, File
from chatrest._parameters.moderation import (
    ModerationQuery,
    NewKeywordList,
)
from chatrest._resources.moderation import Moderation
from chatrest.emulator import Emulator
from chatrest.errors import CursorError
from tests.session_double import Sender

RULE = b"""{"id":"r","name":"R","description":"d","enabled":true,"active":true,"revisionId":"r-1",
"action":["blockMessage"],"createdAt":5,"updatedAt":6,"default":true,
"filters":[{"type":"sender","entity":"user","operand":"uid","operator":"equals","value":"bob"}],
"conditions":[{"id":1,"entity":"message","operand":"text","category":"word","operator":"contains",
"value":["x"],"message":"m","isKeywordsReferencePresent":false,"isMediaPresent":true,"weight":2}]}"""
REASON = b'{"id":"spam","name":"Spam","description":"d","createdAt":5,"updatedAt":6,"default":true}'
MESSAGE = b"""{"id":"7","conversationId":"a_user_b","sender":"a","receiverType":"user","receiver":"b",
"category":"message","type":"text","sentAt":5,"updatedAt":5,"appId":"app","flaggedCount":1,
"data":{"text":"hi","moderation":{"status":"pending"}},"flaggedBy":[{"uid":"c",
"name":"C","role":"default","avatar":"a","reasonId":"spam","reasonName":"Spam","description":"d","remark":"r",
"flaggedAt":5}]}"""
HELD = (
    b"""{"ruleId":"r","ruleName":"R","revisionId":"r-1","condition":{"id":1,"message":"m","weight":3},
"message":%b,"action":["blockMessage"],"createdAt":5,"updatedAt":6,"blockedAt":"5.25","appId":"app"}"""
    % MESSAGE
)


def rows(record: bytes) -> bytes:
    return b'{"data":[%b],"meta":{"current":{"limit":100,"count":1}}}' % record


@pytest.mark.parametrize("name", ["list_rules", "list_flagged_messages", "list_reviewed_messages"])
async def test_only_a_limit_of_the_caller_ends_a_list_whose_reply_is_full(name: str) -> None:
    record = {"list_rules": RULE, "list_flagged_messages": MESSAGE}.get(name, HELD)
    wire_name = b'"ruleId":"r"' if record is HELD else b'"id":"r"' if record is RULE else b'"id":"7"'
    changed = [record.replace(wire_name, wire_name[:-1] + b'%d"' % number) for number in range(10)]
    full = rows(b",".join(changed)).replace(b'"limit":100', b'"limit":10')
    with pytest.raises(CursorError, match="is full"):
        await getattr(Moderation(Sender(full)), name)().collect()
    assert len(await getattr(Moderation(Sender(full)), name)(limit=10).collect()) == 10
    with pytest.raises(CursorError, match="is full"):
        await getattr(Moderation(Sender(full)), name)(limit=11).collect()


async def test_the_times_of_listed_reasons_may_be_texts() -> None:
    sender = Sender(rows(REASON.replace(b":5", b':"5"').replace(b":6", b':"6"')))
    [reason] = await Moderation(sender).list_reasons().collect()
    assert (reason.id, reason.name, reason.created_at, reason.updated_at) == ("spam", "Spam", 5, 6)
    assert (reason.description, reason.default) == ("d", True)


async def test_messages_that_were_handed_in_go_on_by_positions_without_a_size() -> None:
    page = b'{"data":[%b],"meta":{"next":{"affix":"append","sentAt":5,"id":"7"}}}' % MESSAGE
    sender = Sender(page, b'{"data":[],"meta":{"next":{"affix":"append","sentAt":5,"id":"7"}}}')
    query = ModerationQuery(sender="a", moderation_status="pending")
    [message] = await Moderation(sender).list_messages(query).collect()
    assert message.data.moderation == {"status": "pending"}
    assert [call.position for call in sender.calls] == [
        (),
        (("affix", "append"), ("id", "7"), ("sentAt", "5")),
    ]
    assert sender.asked() == {
        "sender": "a", "moderationStatus": "pending", "affix": "append", "id": "7", "sentAt": "5"
    }  # fmt: skip


# ── keyword lists ──


@pytest.fixture
async def session() -> AsyncIterator[AsyncSession]:
    async with Emulator(users=3, messages=0) as emulator, AsyncSession(emulator.app) as session:
        yield session


async def test_the_version_that_the_service_leaks_has_a_name() -> None:
    lists = Moderation(Sender(b'{"data":[{"id":"l","__v":3}]}')).list_keyword_lists()
    assert [listed.document_version for listed in await lists.collect()] == [3]


async def test_a_file_of_terms_is_uploaded(session: AsyncSession, tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text('darn,"heck"\nwow\n', encoding="utf-8")
    terms = ("darn", '"heck"', "wow")
    for number, file in enumerate((path, File(BytesIO(path.read_bytes()), name="terms.csv"))):
        new = NewKeywordList(id=f"l{number}", category="word", file=file)
        made = await session.moderation.create_keyword_list(new)
        assert made.search_terms == terms


async def test_json_is_taken_in_the_place_of_a_form(session: AsyncSession) -> None:
    body = {"id": "l", "category": "word", "searchTerms": ["a", "b"]}
    await session.request("POST", "/moderation/keywords", json=body)
    assert (await session.moderation.get_keyword_list("l")).search_terms == ("a", "b")
