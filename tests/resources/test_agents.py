"""`session.agents`: wrong arguments, and the records that are returned."""

from typing import Any

import pytest

from chatrest._models.agents import Agent
from chatrest._parameters.agent_knowledge import NewUpload
from chatrest._parameters.agents import NewAgent
from chatrest._resources.agents import Agents
from chatrest.errors import RequestInvalidError
from tests.support.cases import loop_over
from tests.support.session_double import Sender

AGENT = b'{"uid":"a","metaData":[],"modelMetaData":{"maxTokens":5},"other":1}'
API_TOOL = b'{"slug":"s","headers":"Bearer x"}'
PREDEFINED = b'{"name":"a","category":"auth"}'
CUSTOM = (
    b'{"name":"a","category":"custom","usageCount":1,"usedByAgents":[{"uid":"x","name":"X"}],'
    b'"usedByTools":{"s":1}}'
)


def given(*replies: bytes) -> Agents:
    return Agents(Sender(*replies))


def assert_agent(agent: Agent) -> None:
    assert (agent.uid, agent.meta_data, agent.model_meta_data) == ("a", {}, {"maxTokens": 5})


async def test_an_agent_is_read_at_the_root_in_a_member_or_in_data() -> None:
    assert_agent(await given(AGENT).get("a"))
    assert_agent(await given(b'{"data":%b}' % AGENT).get("a"))
    assert_agent((await given(b'{"agent":%b}' % AGENT).create(NewAgent(name="n"))).agent)
    assert_agent(await given(b'{"success":true,"data":%b}' % AGENT).add_tools("a", ["t"]))
    [agent] = await given(b'{"data":[%b]}' % AGENT).list().collect()
    assert_agent(agent)


async def test_agents_are_all_given_where_the_last_page_names_the_way_back_alone() -> None:
    first = b'{"data":[{"uid":"a","createdAt":5}],"meta":{"next":{"affix":"append","createdAt":5}}}'
    last = b'{"data":[{"uid":"b","createdAt":6}],"meta":{"previous":{"affix":"prepend","createdAt":6}}}'
    sender = Sender(first, last, b'{"data":[],"meta":{"previous":{"affix":"prepend","createdAt":7}}}')
    assert [agent.uid async for agent in Agents(sender).list()] == ["a", "b"]
    assert [dict(call.position).get("createdAt") for call in sender.calls] == [None, "5", "6"]


async def test_no_repr_of_a_reply_shows_a_possible_credential() -> None:
    search = await given(b'{"results":[%b]}' % API_TOOL).search_tools("a")
    upload = b'{"uploads":[{"uploadId":"1","s3Key":"k","presignedUrl":"https://h/?sig=Bearer"}]}'
    uploads = await given(upload).initiate_uploads([NewUpload(file_name="f", mime_type="m", file_size=1)])
    for record in (search, uploads):
        assert "Bearer" not in repr(record)
        assert "Bearer" in record.to_json().decode()
    assert uploads.uploads
    assert uploads.uploads[0].presigned_url == "https://h/?sig=Bearer"


@pytest.mark.parametrize(
    "reply",
    [
        b"[%b,%b]" % (PREDEFINED, CUSTOM),
        b'{"auth":[%b],"custom":[%b]}' % (PREDEFINED, CUSTOM),
        b'{"data":[%b,%b]}' % (PREDEFINED, CUSTOM),
    ],
    ids=["array", "by category", "in data"],
)
async def test_variables_come_as_an_array_or_by_category(reply: bytes) -> None:
    predefined, custom = await given(reply).list_all_variables().collect()
    assert (predefined.category, custom.category, custom.usage_count) == ("auth", "custom", 1)
    assert custom.used_by_agents
    assert (custom.used_by_agents[0].uid, custom.used_by_tools) == ("x", {"s": 1})


@pytest.mark.parametrize(
    "form", [b'{"data":%b,"meta":{}}', b'{"data":{"sourceDetails":{"a":1},"pageContent":%b}}']
)
async def test_pages_of_a_source_come_in_both_forms_with_all_their_members(form: bytes) -> None:
    rows = b'[{"content":"x","pageNumber":1,"charCount":1},{"content":"x","other":2}]'
    first, second = await given(form % rows, form % b"[]").list_source_pages("text", "k").collect()
    assert (first.content, first.page_number, first.char_count) == ("x", 1, 1)
    assert second.members == {"content": "x", "other": 2}


async def test_knowledge_ends_where_no_next_page_is_named() -> None:
    def reply(first: int, **meta: Any) -> bytes:
        rows = b",".join(b'{"uniqueId":"k%d"}' % number for number in range(first, first + 100))
        members = b",".join(b'"%b":{"affix":"%b","cursor":"%b"}' % each for each in meta.values())
        return b'{"data":[%b],"meta":{"current":{"limit":100,"count":100},%b}}' % (rows, members)

    sender = Sender(
        reply(0, next=(b"next", b"append", b"c")), reply(100, previous=(b"previous", b"prepend", b"d"))
    )
    records = await Agents(sender).list_knowledge().collect()
    assert [record.unique_id for record in records] == [f"k{number}" for number in range(200)]
    assert [dict(call.position).get("cursor") for call in sender.calls] == [None, "c"]


@loop_over("ask", [
    lambda agents: agents.list_source_pages("texts", "k"), lambda agents: agents.sync_knowledge("texts", "k"),
    lambda agents: agents.add_knowledge("a", "texts", ["k"]),
    lambda agents: agents.remove_knowledge("a", "texts", ["k"]),
])  # fmt: skip
async def test_a_kind_of_sources_that_is_not_known_is_refused(ask: Any) -> None:
    sender = Sender()
    with pytest.raises(RequestInvalidError, match=r"^source_type = 'texts': expected 'uploads', 'text' or"):
        await ask(Agents(sender))
    assert sender.calls == []
