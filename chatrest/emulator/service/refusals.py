"""The errors of the emulated service: status, code and body."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Final, NamedTuple, final

from msgspec.json import encode

SOURCE = "chat-api"


@final
class Refusal(Exception):  # noqa: N818
    """A reply that is an error."""

    def __init__(
        self, status: int, code: str, message: str, details: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.error: Mapping[str, Any] = {
            "message": message,
            "devMessage": message,
            "source": SOURCE,
            "details": details or {},
            "code": code,
        }
        """The error's members: they stand in the body of a reply, or in the outcome of one item."""
        self.is_at_root = False
        """True for the form of the agent operations: at the root of the reply, and without a code."""

    @property
    def body(self) -> bytes:
        if not self.is_at_root:
            return encode({"error": self.error})
        details: Mapping[str, Sequence[str]] = self.error["details"]
        texts = [
            text if name in text else f"{name}: {text}" for name, texts in details.items() for text in texts
        ]
        message = " ".join(texts) or self.error["message"]
        phrase = HTTPStatus(self.status).phrase
        return encode({"statusCode": self.status, "message": message, "error": phrase})


def bad_request(details: Mapping[str, Sequence[str]]) -> Refusal:
    """Return the 400 of a request that is not valid; `details` has the texts for each field."""
    return Refusal(400, "ERR_BAD_REQUEST", "Failed to validate the data sent with the request.", details)


def over_limit(code: str, what: str, most: int) -> Refusal:
    """Return the 400 of one pin or save too many; `code` lacks `_LIMIT_EXCEEDED`."""
    return Refusal(400, f"{code}_LIMIT_EXCEEDED", f"At most {most} {what} are allowed.")


class Row(NamedTuple):
    """A row of the table of errors."""

    status: int
    text: str
    """With `{}` for what is asked for."""


ERRORS: Final[Mapping[str, Row]] = {
    "ERR_APIKEY_NOT_FOUND": Row(404, "The API key does not exist."),
    "ERR_ROLE_NOT_FOUND": Row(404, "The role {} does not exist."),
    "ERR_TRIGGER_NOT_FOUND": Row(404, "The trigger {} does not exist."),
    "ERR_WEBHOOK_NOT_FOUND": Row(404, "The webhook {} does not exist."),
    "ERR_UID_NOT_FOUND": Row(404, "The user with UID {} does not exist."),
    "ERR_GUID_NOT_FOUND": Row(404, "The group with GUID {} does not exist."),
    "ERR_MESSAGE_ID_NOT_FOUND": Row(404, "The message with id {} does not exist."),
    "ERR_API_NOT_FOUND": Row(404, "The API {0} {1} does not exist."),
    "ERR_NOT_A_MEMBER": Row(404, "The user with UID {0} is not a member of the group {1}."),
    "ERR_ALREADY_JOINED": Row(417, "The user with UID {0} has joined the group {1} already."),
    "ERR_ALREADY_BANNED": Row(400, "The user with UID {0} is banned from the group {1} already."),
    "ERR_BANNED_GROUPMEMBER": Row(400, "The user with UID {0} is banned from the group {1}."),
    "ERR_SAME_SCOPE": Row(400, "The user with UID {0} has the scope {1} already."),
    "ERR_RULE_NOT_FOUND": Row(404, "The rule with id {} does not exist."),
    "ERR_KEYWORD_NOT_FOUND": Row(404, "The keyword list with id {} does not exist."),
    "ERR_REASON_NOT_FOUND": Row(404, "The reason with id {} does not exist."),
    "ERR_PROVIDER_NOT_FOUND": Row(404, "The provider {} does not exist."),
    "ERR_PUSH_TOKEN_NOT_FOUND": Row(404, "The push token does not exist."),
    "ERR_AGENT_NOT_FOUND": Row(404, "ERR_AGENT_NOT_FOUND: The agent {} does not exist."),
    "ERR_TOOL_NOT_FOUND": Row(404, "ERR_TOOL_NOT_FOUND: The tool {} does not exist."),
    "ERR_TOOL_ALREADY_ADDED": Row(409, "ERR_TOOL_ALREADY_ADDED: The agent has the tool {} already."),
    "ERR_KB_NOT_FOUND": Row(404, "ERR_KB_NOT_FOUND: The source {} does not exist."),
    "ERR_VARIABLE_NOT_FOUND": Row(404, "The variable {} does not exist."),
    "AUTH_ERR_AUTH_TOKEN_NOT_FOUND": Row(401, "The auth token is wrong."),
    "ERR_MESSAGE_NO_ACCESS": Row(403, "There is no access to the message with id {}."),
    "ERR_MESSAGE_NOT_A_SENDER": Row(403, "The user with UID {1} is not the sender of the message {0}."),
    "ERR_MESSAGE_ACTION_NOT_ALLOWED": Row(403, "The message with id {} is an action and cannot be changed."),
    "ERR_CONVERSATION_NOT_FOUND": Row(404, "The conversation with id {} does not exist."),
    "ERR_CONVERSATION_NOT_ACCESSIBLE": Row(
        403, "The conversation is empty, or the user with UID {} has no part in it."
    ),
    "ERR_SYSTEM_PINNED_CONVERSATION": Row(403, "The conversation is pinned by the app."),
    "ERR_BLOCKED_RECEIVER": Row(403, "The sender has blocked the user with UID {}."),
    "ERR_BLOCKED_SENDER": Row(403, "The user with UID {} has blocked the sender."),
    "ERR_CALL_SESSION_NOT_FOUND": Row(404, "The call with the session {} does not exist."),
    "ERR_BOT_NOT_FOUND": Row(404, "The bot with UID {} does not exist."),
}
"""The errors by their codes. Most statuses are not shown in any document."""


def refused(code: str, *values: object) -> Refusal:
    row = ERRORS[code]
    return Refusal(row.status, code, row.text.format(*values))


def item_acks(keys: Iterable[str], act: Callable[[str], str]) -> dict[str, dict[str, Any]]:
    """Do `act` for each of the keys, once; return the message that it gave, or the error, by key."""
    return {key: outcome(partial(act, key), "message") for key in dict.fromkeys(keys)}


def outcome(act: Callable[[], Any], member: str = "data") -> dict[str, Any]:
    """Do `act`; return what it gave, under the name of a member, or the error that it was refused with."""
    try:
        return {"success": True, member: act()}
    except Refusal as refusal:
        return {"success": False, "error": refusal.error}
