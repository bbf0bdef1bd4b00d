"""How the emulated service says no: status, code and body (operations table, `errors`)."""

from collections.abc import Mapping, Sequence
from typing import final

from msgspec.json import encode

SOURCE = "chat-api"


@final
class Refusal(Exception):  # noqa: N818
    """An answer that is an error; its `body` is the JSON that is served."""

    def __init__(
        self, status: int, code: str, message: str, details: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.body = encode(
            {
                "error": {
                    "message": message,
                    "devMessage": message,
                    "source": SOURCE,
                    "details": details or {},
                    "code": code,
                }
            }
        )


def bad_request(details: Mapping[str, Sequence[str]]) -> Refusal:
    """400: `details` says what is wrong with each field."""
    return Refusal(400, "ERR_BAD_REQUEST", "Failed to validate the data sent with the request.", details)


def no_user(uid: str) -> Refusal:
    """404: no such user, or switched off."""
    return Refusal(404, "ERR_UID_NOT_FOUND", f"The user with UID {uid} does not exist.")


def no_group(guid: str) -> Refusal:
    """404: no such group."""
    return Refusal(404, "ERR_GUID_NOT_FOUND", f"The group with GUID {guid} does not exist.")


def no_message(id: str) -> Refusal:
    """404: no such message."""
    return Refusal(404, "ERR_MESSAGE_ID_NOT_FOUND", f"The message with id {id} does not exist.")


def no_operation(method: str, path: str) -> Refusal:
    """404: no such path, or not with this method."""
    return Refusal(404, "ERR_API_NOT_FOUND", f"The API {method} {path} does not exist.")
