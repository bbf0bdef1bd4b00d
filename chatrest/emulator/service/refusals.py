"""The errors of the emulated service: status, code and body, by one table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from msgspec.json import encode


class ServiceRefusal(Exception):  # noqa: N818
    def __init__(
        self, status: int, code: str, message: str, details: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.error: Mapping[str, Any] = {
            "message": message,
            "devMessage": message,
            "source": "chat-api",
            "details": details or {},
            "code": code,
        }
        """The error's members: they are in the body of a reply, or in the outcome of one item."""
        self.is_at_root = False
        """True for the form of the agent operations: at the root of the reply, and without a code."""

    @property
    def body(self) -> bytes:
        if not self.is_at_root:
            return encode({"error": self.error})
        lines = [f"{name}: {text}" for name, texts in self.error["details"].items() for text in texts]
        message, phrase = " ".join(lines) or f"{self.code}: {self}", HTTPStatus(self.status).phrase
        return encode({"statusCode": self.status, "message": message, "error": phrase})


def bad_request(details: Mapping[str, Sequence[str]]) -> ServiceRefusal:
    return ServiceRefusal(
        400, "ERR_BAD_REQUEST", "Failed to validate the data sent with the request.", details
    )


ERRORS: Final[Mapping[str, tuple[int, str]]] = {
    "AUTH_ERR_APIKEY_NOT_FOUND": (401, "The {} is wrong."),
    "AUTH_ERR_EMPTY_APIKEY": (401, "The header apikey is missing."),
    "AUTH_ERR_EMPTY_AUTH_HEADER": (401, "The headers key and secret are missing."),
    "AUTH_ERR_INVALID_APPID": (401, "The app {} does not exist here."),
    "AUTH_ERR_NO_ACCESS": (403, "The scope of this API key does not allow this."),
    "ERR_ALREADY_BANNED": (400, "The user with UID {} is banned from the group {} already."),
    "ERR_ALREADY_FRIEND": (400, "The user with UID {} is a friend of {} already."),
    "ERR_ALREADY_JOINED": (417, "The user with UID {} has joined the group {} already."),
    "ERR_API_NOT_FOUND": (404, "The API {} {} does not exist."),
    "ERR_BANNED_GROUPMEMBER": (400, "The user with UID {} is banned from the group {}."),
    "ERR_BLOCKED_RECEIVER": (403, "The sender has blocked the user with UID {}."),
    "ERR_BLOCKED_SENDER": (403, "The user with UID {} has blocked the sender."),
    "ERR_BOT_NOT_FOUND": (404, "The bot with UID {} does not exist."),
    "ERR_CANNOT_BLOCK_SELF": (400, "The user with UID {} cannot block itself."),
    "ERR_CANNOT_FORM_SELF_RELATION": (400, "The user with UID {} cannot be its own friend."),
    "ERR_CONVERSATION_NOT_ACCESSIBLE": (
        403, "The conversation is empty, or the user with UID {} has no part in it."
    ),
    "ERR_CONVERSATION_NOT_FOUND": (404, "The conversation with id {} does not exist."),
    "ERR_EMPTY_CUSTOM_DATA": (400, "The customData is empty, or no JSON object."),
    "ERR_EMPTY_GROUP_PASS": (400, "The password of the group is missing."),
    "ERR_EMPTY_MESSAGE_FILE": (400, "The attachments are empty, or no list of objects."),
    "ERR_EMPTY_MESSAGE_TEXT": (400, "The text is empty, or no string."),
    "ERR_EMPTY_RECEIVER": (400, "The receiver is empty."),
    "ERR_GUID_NOT_FOUND": (404, "The group with GUID {} does not exist."),
    "ERR_IMPORT_INVALID_JOINEDAT": (400, "joinedAt must be from the group's createdAt to now."),
    "ERR_IMPORT_MUID_ALREADY_EXISTS": (400, "The muid {} has been imported already."),
    "ERR_INVALID_MESSAGE_DATA": (400, "The interactiveData must be a JSON object."),
    "ERR_INVALID_MESSAGE_TYPE": (400, "The type must be one of {}."),
    "ERR_MESSAGE_ACTION_NOT_ALLOWED": (403, "The message with id {} is an action and cannot be changed."),
    "ERR_MESSAGE_ID_NOT_FOUND": (404, "The message with id {} does not exist."),
    "ERR_MESSAGE_NOT_A_SENDER": (403, "The message {} is not one of the user with UID {}."),
    "ERR_MESSAGE_NO_ACCESS": (403, "There is no access to the message with id {}."),
    "ERR_MESSAGE_THREAD_NESTING": (400, "The parent message is a reply itself."),
    "ERR_NOT_A_BANNED_USER": (404, "The user with UID {} is not banned from the group {}."),
    "ERR_NOT_A_FRIEND": (404, "The user with UID {} is not a friend of {}."),
    "ERR_NOT_A_MEMBER": (404, "The user with UID {} is not a member of the group {}."),
    "ERR_ROLE_NOT_FOUND": (404, "The role {} does not exist."),
    "ERR_SAME_SCOPE": (400, "The user with UID {} has the scope {} already."),
    "ERR_SYSTEM_PINNED_CONVERSATION": (403, "The conversation is pinned by the app."),
    "ERR_UID_NOT_FOUND": (404, "The user with UID {} does not exist; known: {}."),
    "ERR_WRONG_MESSAGE_THREAD": (400, "The parent message is in another conversation."),
    "ERR_WRONG_MESSAGE_THREAD_CATEGORY": (400, "The parent message is an action or a call."),
}  # fmt: skip
"""The status and the text of each code, with `{}` for what is asked for. Most statuses are not documented."""


def refusal(code: str, *values: object) -> ServiceRefusal:
    status, text = ERRORS[code]
    return ServiceRefusal(status, code, text.format(*values))


def act_on_each(
    keys: Iterable[str], act: Callable[[str], Any], member: str = "message"
) -> dict[str, dict[str, Any]]:
    """Do `act` for each of the keys, once; return the outcomes, with the result as a member, or the error."""
    outcomes = {}
    for key in keys:
        if key not in outcomes:
            try:
                outcomes[key] = {"success": True, member: act(key)}
            except ServiceRefusal as error:
                outcomes[key] = {"success": False, "error": error.error}
    return outcomes
