"""The refusals of operations, and their codes."""

from typing import Any, Final

from chatrest.emulator.service.refusals import ERRORS
from tests.support.cases import loop_over

from ..conftest import ServiceClient

TEXT: Final = {"receiver": "bob", "receiverType": "user", "type": "text", "data": {"text": "hi"}}
CARD: Final = {"receiver": "ann", "category": "interactive", "type": "form", "data": {"interactiveData": {}}}
REPLY: Final = {"type": "text", "receiver": "bob", "receiverType": "user", "data": {"text": "re"}}
TALK: Final = "users/bob/conversation"


def data(type: str = "text", category: str = "message", **members: Any) -> dict[str, Any]:
    return TEXT | {"type": type, "category": category, "data": members}


@loop_over(
    ("method", "path", "user", "body", "code"),
    [
        ("GET", "users/nobody", None, b"", "ERR_UID_NOT_FOUND"),
        ("GET", "users/nobody/messages", None, b"", "ERR_UID_NOT_FOUND"),
        ("GET", "users/ann/messages", "nobody", b"", "ERR_UID_NOT_FOUND"),
        ("GET", "users/ann/messages", "\udcff", b"", "ERR_UID_NOT_FOUND"),
        ("GET", "users/../messages", None, b"", "ERR_UID_NOT_FOUND"),
        ("GET", "users/%FF%00", None, b"", "ERR_UID_NOT_FOUND"),
        ("GET", "groups/none/messages", None, b"", "ERR_GUID_NOT_FOUND"),
        ("GET", "messages/x", None, b"", "ERR_MESSAGE_ID_NOT_FOUND"),
        ("GET", f"messages/{'9' * 23}", None, b"", "ERR_MESSAGE_ID_NOT_FOUND"),
        ("GET", "messages/9/thread", None, b"", "ERR_MESSAGE_ID_NOT_FOUND"),

        ("POST", "messages", "ann", TEXT | {"receiver": "x", "receiverType": "group"}, "ERR_GUID_NOT_FOUND"),
        ("POST", "messages", "ann", TEXT | {"receiver": 7}, "ERR_BAD_REQUEST"),
        ("POST", "messages", "ann", TEXT | {"multipleReceivers": {"uids": "ann"}}, "ERR_BAD_REQUEST"),
        ("POST", "messages", "ann", TEXT | {"quotedMessageId": "77"}, "ERR_MESSAGE_ID_NOT_FOUND"),
        ("POST", "messages", "ann", TEXT | {"tags": ["x"] * 26}, "ERR_BAD_REQUEST"),
        ("POST", "messages", "ann", TEXT | {"data": "x"}, "ERR_BAD_REQUEST"),
        ("POST", "messages", "ann", TEXT | {"type": "poem"}, "ERR_INVALID_MESSAGE_TYPE"),
        ("POST", "messages", "ann", data(text=" \n"), "ERR_EMPTY_MESSAGE_TEXT"),
        ("POST", "messages", "ann", data(), "ERR_EMPTY_MESSAGE_TEXT"),
        ("POST", "messages", "ann", data(text=5), "ERR_EMPTY_MESSAGE_TEXT"),
        ("POST", "messages", "ann", data(text="x" * 70_000), "ERR_BAD_REQUEST"),
        ("POST", "messages", "ann", data("image"), "ERR_EMPTY_MESSAGE_FILE"),
        ("POST", "messages", "ann", data("file", attachments={"a": 1}), "ERR_EMPTY_MESSAGE_FILE"),
        ("POST", "messages", "ann", data("x", "custom"), "ERR_EMPTY_CUSTOM_DATA"),
        ("POST", "messages", "ann", data("x", "custom", customData="x"), "ERR_EMPTY_CUSTOM_DATA"),
        ("POST", "bots/bob/messages", None, CARD | {"data": {}}, "ERR_INVALID_MESSAGE_DATA"),
        ("POST", "bots/bob/messages", None, CARD | {"quotedMessageId": "1"}, "ERR_BAD_REQUEST"),
        ("POST", "bots/robot/messages", None, CARD, "ERR_BOT_NOT_FOUND"),

        ("PUT", "messages/1", "ann", {"data": {"text": " "}}, "ERR_EMPTY_MESSAGE_TEXT"),
        ("PUT", "messages/1", "ann", {"tags": [""]}, "ERR_BAD_REQUEST"),
        ("PUT", "messages/1", "bob", {"tags": ["y"]}, "ERR_MESSAGE_NOT_A_SENDER"),
        ("PUT", "messages/1", "cat", {"tags": ["y"]}, "ERR_MESSAGE_NO_ACCESS"),
        ("DELETE", "messages/1", "bob", b"", "ERR_MESSAGE_NOT_A_SENDER"),
        ("DELETE", "messages/3", "ann", b"", "ERR_MESSAGE_ACTION_NOT_ALLOWED"),
        ("DELETE", "messages/9", "ann", b"", "ERR_MESSAGE_ID_NOT_FOUND"),

        ("POST", "messages/9/thread", "ann", REPLY, "ERR_MESSAGE_ID_NOT_FOUND"),
        ("POST", "messages/1/thread", "ann", REPLY | {"receiver": "cat"}, "ERR_WRONG_MESSAGE_THREAD"),
        ("POST", "messages/1/thread", "cat", REPLY | {"receiver": "ann"}, "ERR_MESSAGE_NO_ACCESS"),
        ("POST", "messages/2/thread", "ann", REPLY, "ERR_MESSAGE_THREAD_NESTING"),
        ("POST", "messages/3/thread", "ann", REPLY, "ERR_WRONG_MESSAGE_THREAD_CATEGORY"),

        ("POST", "data_import/users", None, {"members": {}}, "ERR_BAD_REQUEST"),
        ("POST", "notifications/push/v1/tokens", None, {"authToken": "a"}, "ERR_BAD_REQUEST"),

        ("POST", f"{TALK}/read", "ann", {"messageId": 4}, "ERR_MESSAGE_ID_NOT_FOUND"),
        ("DELETE", f"{TALK}/read", "ann", {"messageId": 4}, "ERR_MESSAGE_ID_NOT_FOUND"),
        ("POST", f"{TALK}/delivered", "ann", {"messageId": "1"}, "ERR_BAD_REQUEST"),
        ("DELETE", TALK, "ann", {"conversationWith": "cat"}, "ERR_BAD_REQUEST"),
        ("PUT", "conversations/pinned", None, {"pinnedConversations": [{"uid": "eve"}]}, "ERR_UID_NOT_FOUND"),
        ("GET", "users/cat/conversation", "ann", b"", "ERR_CONVERSATION_NOT_ACCESSIBLE"),
        ("POST", "users/cat/conversation/read", "ann", b"", "ERR_CONVERSATION_NOT_ACCESSIBLE"),
        ("PUT", "groups/den/conversation", "cat", {"tags": ["x"]}, "ERR_CONVERSATION_NOT_ACCESSIBLE"),
    ],
)  # fmt: skip
def test_a_refused_request_changes_nothing(
    ask: ServiceClient, method: str, path: str, user: str | None, body: Any, code: str
) -> None:
    """Message 1 is ann's to bob, 2 a reply to it, 3 its edit, and 4 is bob's to the group of the two."""
    if not ask.store.messages:
        ask.store.add_message("ann", "bob", "one")
        ask.store.add_message("bob", "ann", "two", parentId="1")
        ask("/v3/messages/1", method="PUT", body={"tags": ["x"]})
        ask.store.add_message("bob", "den", "four", receiver_type="group")
        ask.store.members.add("den", "ann")
    records = ask.store.records(ask.store.ids())
    answer = ask(f"/v3/{path}", method=method, body=body, acting_user=user)
    assert (answer.code, answer.status) == (code, ERRORS[code][0] if code in ERRORS else 400)
    assert ask.store.records(ask.store.ids()) == records
