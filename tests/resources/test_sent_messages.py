"""The replies to messages with several receivers, where one message is read."""

import json
from typing import Any

import pytest

from chatrest._models.messages import TextMessage
from chatrest._resources.messages import SEND
from chatrest.errors import ReplyUnreadableError
from tests.cases import loop_over
from tests.resources.operation_calls import MESSAGE

SENT = {"success": True, "data": MESSAGE}


def body(data: Any) -> bytes:
    return json.dumps({"data": data}).encode()


@loop_over(
    "data", [MESSAGE, [MESSAGE], [MESSAGE, MESSAGE | {"id": "6"}], {"uids": {"bob": SENT}}, {"bob": SENT}]
)
def test_every_form_of_a_success_gives_the_first_message(data: Any) -> None:
    message = SEND.reply(body(data))
    assert isinstance(message, TextMessage)
    assert message.to_dict() == MESSAGE


@loop_over(
    ("data", "words"),
    [
        ({"uids": {"bob": SENT, "eve": {"success": False}}}, "1 of 2 receivers failed: eve"),
        ({"uids": {"bob": {"success": True}}}, "expected one record"),
        ({"uids": {}}, "1 of 1 receivers failed: uids"),
        ([], "expected an outcome per item"),
        ("x", "expected an outcome per item"),
    ],
)
def test_a_failure_and_a_reply_without_a_message_are_errors(data: Any, words: str) -> None:
    with pytest.raises(ReplyUnreadableError, match=words):
        SEND.reply(body(data))
