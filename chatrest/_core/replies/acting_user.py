"""The acting user that a single call's reply shows: is it the one asked for?

Services without acting users ignore the header `onBehalfOf`, and act as the app. What a record does not
say is no evidence.
"""

from typing import Any

from ..._models.conversations import Conversation
from ..._models.messages import ActionMessage, Message, UnknownMessage
from .expectation import APP_UIDS, Expectation


def is_of_others(record: Any, uid: str) -> bool:
    """Return True for a message or a conversation that the user `uid` has no part in."""
    if isinstance(record, Conversation):
        return Expectation.of_conversations(uid).mismatch(record) is not None
    return (
        isinstance(record, Message) and Expectation.of_messages(acting_user=uid).mismatch(record) is not None
    )


def is_sent_by_other(record: Any, uid: str) -> bool:
    return _is_other(getattr(record, "sender", None), uid)


def is_changed_by_other(record: Any, uid: str) -> bool:
    """Return True for an edit or a deletion by another user: the action, or the changed message."""
    return _is_other(_changer(record), uid) or is_of_others(record, uid)


def is_reaction_of_other(record: Any, uid: str) -> bool:
    """Return True for a message with a new reaction of another user, or the record of that reaction."""
    if isinstance(record, UnknownMessage):
        return isinstance(record.data, dict) and _is_other(record.data.get("uid"), uid)
    reactions = getattr(getattr(record, "data", None), "reactions", None)
    is_ours = [each.reacted_by_me for each in reactions] if isinstance(reactions, tuple) else []
    is_of_none = bool(is_ours) and all(each is False for each in is_ours)
    return is_of_none or is_of_others(record, uid)


def _changer(record: Any) -> object:
    """Return the uid of who edited or deleted a message; None if the record does not say it."""
    if isinstance(record, ActionMessage):
        by = getattr(record.data.entities or None, "by", None)
        changer = getattr(getattr(by, "entity", None), "uid", None) or record.sender
        # An action in a group may be sent in the name of another one than the user who acted.
        is_told = changer != record.sender or record.receiver_type == "user" or changer in APP_UIDS
        return changer if is_told else None
    for changer in (getattr(record, "deleted_by", None), getattr(record, "edited_by", None)):
        if isinstance(changer, str) and changer:
            return changer
    return getattr(record, "sender", None) if getattr(record, "receiver_type", None) == "user" else None


def _is_other(actor: object, uid: str) -> bool:
    return isinstance(actor, str) and bool(actor) and actor.casefold() != uid.casefold()
