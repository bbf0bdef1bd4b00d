"""`session.agents`: what is refused before anything is sent."""

from typing import Any

import pytest

from chatrest.errors import RequestInvalidError
from chatrest.parameters.agents import (
    AgentChanges,
    NewAgent,
)
from chatrest.resources.agents import Agents
from tests.sending import Sender

DONE = b'{"success":true}'


@pytest.mark.parametrize(
    "ask",
    [
        lambda each: each.get(""),
        lambda each: each.create(AgentChanges()),
        lambda each: each.update("a", NewAgent(name="n")),
        lambda each: each.add_tools("a", "t"),
        lambda each: each.add_api_tools("a", [""]),
        lambda each: each.sync_knowledge("file", "k"),
        lambda each: each.list_source_pages("texts", "k"),
        lambda each: each.add_knowledge("a", None, ["k"]),
        lambda each: each.list_external_tools(type="agent"),
        lambda each: each.create(NewAgent(name="n"), chat_api_version=""),
        lambda each: each.initiate_uploads([{"fileName": "f", "mimeType": "m", "fileSize": 52_428_801}]),
    ],
)
async def test_a_wrong_argument_is_refused_before_anything_is_sent(ask: Any) -> None:
    sender = Sender(DONE)
    with pytest.raises(RequestInvalidError):
        await ask(Agents(sender))
    assert sender.calls == []
