"""The errors of operations on messages and conversations."""

from .refusals import Refusal


def no_access(id: str) -> Refusal:
    """Return the 403 of a user who has no part in the message's conversation (its status: not shown)."""
    return Refusal(403, "ERR_MESSAGE_NO_ACCESS", f"There is no access to the message with id {id}.")


def not_a_sender(id: str, uid: str) -> Refusal:
    """Return the 403 of a user who has not sent the message (its status: not shown)."""
    return Refusal(
        403, "ERR_MESSAGE_NOT_A_SENDER", f"The user with UID {uid} is not the sender of the message {id}."
    )


def not_allowed(id: str) -> Refusal:
    """Return the 403 of a change of an action message (its status: not shown)."""
    return Refusal(
        403, "ERR_MESSAGE_ACTION_NOT_ALLOWED", f"The message with id {id} is an action and cannot be changed."
    )


def over_limit(code: str, what: str, most: int) -> Refusal:
    """Return the 400 of one pin or save too many; `code` lacks `_LIMIT_EXCEEDED`."""
    return Refusal(400, f"{code}_LIMIT_EXCEEDED", f"At most {most} {what} are allowed.")


def no_conversation(id: str) -> Refusal:
    """Return the 404 of a conversation that does not exist (its status: not shown)."""
    return Refusal(404, "ERR_CONVERSATION_NOT_FOUND", f"The conversation with id {id} does not exist.")


def conversation_not_accessible(uid: str) -> Refusal:
    """Return the 403 of a conversation that is not the user's own or still empty (its status: not shown)."""
    return Refusal(
        403,
        "ERR_CONVERSATION_NOT_ACCESSIBLE",
        f"The conversation is empty, or the user with UID {uid} has no part in it.",
    )


def app_pinned() -> Refusal:
    """Return the 403 of a conversation that the app has pinned for everybody."""
    return Refusal(403, "ERR_SYSTEM_PINNED_CONVERSATION", "The conversation is pinned by the app.")


def blocked_receiver(uid: str) -> Refusal:
    """Return the 403 of a message to a user whom its sender has blocked (its status: not shown)."""
    return Refusal(403, "ERR_BLOCKED_RECEIVER", f"The sender has blocked the user with UID {uid}.")


def blocked_sender(uid: str) -> Refusal:
    """Return the 403 of a message to a user who has blocked its sender (its status: not shown)."""
    return Refusal(403, "ERR_BLOCKED_SENDER", f"The user with UID {uid} has blocked the sender.")


def no_call(session: str) -> Refusal:
    """Return the 404 of a call that does not exist (its status: not shown)."""
    return Refusal(404, "ERR_CALL_SESSION_NOT_FOUND", f"The call with the session {session} does not exist.")


def no_bot(uid: str) -> Refusal:
    """Return the 404 of a bot that does not exist (its status: not shown)."""
    return Refusal(404, "ERR_BOT_NOT_FOUND", f"The bot with UID {uid} does not exist.")
