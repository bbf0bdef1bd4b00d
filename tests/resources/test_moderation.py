"""`session.moderation`, through a double of the session: what operations give, and what they refuse."""

from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import pytest

from chatrest import AsyncSession, File
from chatrest._parameters.moderation import ModerationQuery, NewKeywordList
from chatrest._resources.moderation import Moderation
from chatrest.emulator import Emulator
from tests.support.session_double import Sender

MESSAGE = b"""{"id":"7","conversationId":"a_user_b","sender":"a","receiverType":"user","receiver":"b",
"category":"message","type":"text","sentAt":5,"updatedAt":5,"appId":"app","flaggedCount":1,
"data":{"text":"hi","moderation":{"status":"pending"}},"flaggedBy":[{"uid":"c",
"name":"C","role":"default","avatar":"a","reasonId":"spam","reasonName":"Spam","description":"d","remark":"r",
"flaggedAt":5}]}"""


async def test_submitted_messages_are_paged_by_positions_without_a_size() -> None:
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


async def test_the_limit_of_rules_may_be_a_text() -> None:
    sender = Sender(b'{"data":[{"id":"r"}]}', b'{"data":[{"id":"r"}]}')
    for limit in ("20", "all"):
        assert len(await Moderation(sender).list_rules(limit=limit).collect()) == 1
    assert [sent for call in sender.calls for sent in call.query.values()] == ["20", "all"]


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
