"""The errors of the emulated service: status, code and body."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, final

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
        """The JSON that is served."""
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


def no_user(uid: str) -> Refusal:
    """Return the 404 of a user that does not exist, or is switched off."""
    return Refusal(404, "ERR_UID_NOT_FOUND", f"The user with UID {uid} does not exist.")


def no_group(guid: str) -> Refusal:
    """Return the 404 of a group that does not exist."""
    return Refusal(404, "ERR_GUID_NOT_FOUND", f"The group with GUID {guid} does not exist.")


def no_message(id: str) -> Refusal:
    """Return the 404 of a message that does not exist."""
    return Refusal(404, "ERR_MESSAGE_ID_NOT_FOUND", f"The message with id {id} does not exist.")


def no_operation(method: str, path: str) -> Refusal:
    """Return the 404 of a path that leads to no operation, or not with this method."""
    return Refusal(404, "ERR_API_NOT_FOUND", f"The API {method} {path} does not exist.")


def not_a_member(uid: str, guid: str) -> Refusal:
    """Return the 404 of a user that is no member of the group."""
    return Refusal(404, "ERR_NOT_A_MEMBER", f"The user with UID {uid} is not a member of the group {guid}.")


def already_joined(uid: str, guid: str) -> Refusal:
    """Return the 417 of a user that is a member of the group already."""
    return Refusal(417, "ERR_ALREADY_JOINED", f"The user with UID {uid} has joined the group {guid} already.")


def already_banned(uid: str, guid: str) -> Refusal:
    """Return the 400 of a user that is banned from the group already (its status: not shown)."""
    return Refusal(
        400, "ERR_ALREADY_BANNED", f"The user with UID {uid} is banned from the group {guid} already."
    )


def banned_member(uid: str, guid: str) -> Refusal:
    """Return the 400 of a user that is banned from the group (its status: not shown)."""
    return Refusal(400, "ERR_BANNED_GROUPMEMBER", f"The user with UID {uid} is banned from the group {guid}.")


def same_scope(uid: str, scope: str) -> Refusal:
    """Return the 400 of a member that has the scope already (its status: not shown)."""
    return Refusal(400, "ERR_SAME_SCOPE", f"The user with UID {uid} has the scope {scope} already.")


def no_rule(id: str) -> Refusal:
    """Return the 404 of a moderation rule that does not exist (its status: not shown)."""
    return Refusal(404, "ERR_RULE_NOT_FOUND", f"The rule with id {id} does not exist.")


def no_keyword_list(id: str) -> Refusal:
    """Return the 404 of a keyword list that does not exist (its status: not shown)."""
    return Refusal(404, "ERR_KEYWORD_NOT_FOUND", f"The keyword list with id {id} does not exist.")


def no_reason(id: str) -> Refusal:
    """Return the 404 of a reason that does not exist (its status: not shown)."""
    return Refusal(404, "ERR_REASON_NOT_FOUND", f"The reason with id {id} does not exist.")


def no_provider(id: str) -> Refusal:
    """Return the 404 of a provider of notifications that does not exist (code and status: not shown)."""
    name = f"The provider {id}" if id else "The provider"
    return Refusal(404, "ERR_PROVIDER_NOT_FOUND", f"{name} does not exist.")


def no_push_token() -> Refusal:
    """Return the 404 of a push token that does not exist (code and status: not shown)."""
    return Refusal(404, "ERR_PUSH_TOKEN_NOT_FOUND", "The push token does not exist.")


def no_agent(uid: str) -> Refusal:
    """Return the 404 of an agent that does not exist (its status: not shown).

    The errors of agents have no code, so it stands in their message where one is known.
    """
    return Refusal(404, "ERR_AGENT_NOT_FOUND", f"ERR_AGENT_NOT_FOUND: The agent {uid} does not exist.")


def no_tool(name: str) -> Refusal:
    """Return the 404 of a tool, an action or a server that does not exist (its status: not shown)."""
    return Refusal(404, "ERR_TOOL_NOT_FOUND", f"ERR_TOOL_NOT_FOUND: The tool {name} does not exist.")


def tool_already_added(slug: str) -> Refusal:
    """Return the 409 of a tool that the agent has already (its status: not shown)."""
    words = f"ERR_TOOL_ALREADY_ADDED: The agent has the tool {slug} already."
    return Refusal(409, "ERR_TOOL_ALREADY_ADDED", words)


def no_knowledge(id: str) -> Refusal:
    """Return the 404 of a source of knowledge that does not exist (its status: not shown)."""
    return Refusal(404, "ERR_KB_NOT_FOUND", f"ERR_KB_NOT_FOUND: The source {id} does not exist.")


def no_variable(id: str) -> Refusal:
    """Return the 404 of a variable that does not exist (code and status: not shown)."""
    return Refusal(404, "ERR_VARIABLE_NOT_FOUND", f"The variable {id} does not exist.")


def wrong_auth_token() -> Refusal:
    """Return the 401 of an auth token that is nobody's (its status: not shown)."""
    return Refusal(401, "AUTH_ERR_AUTH_TOKEN_NOT_FOUND", "The auth token is wrong.")
