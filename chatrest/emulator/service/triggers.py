"""The operations of triggers: the kinds of events that a webhook is sent."""

from typing import Any, Final

from .context import Call, Context, Handler
from .documents import serve
from .envelopes import ack_reply, data_reply
from .numbered_pages import serve_pages
from .refusals import refused
from .webhooks import triggers_of

KIND: Final = "triggers"
_CATEGORIES: Final = {
    "message": (
        "message_sent message_edited message_deleted message_delivery_receipt message_read_receipt "
        "message_reaction_added message_reaction_removed user_mentioned message_delivered_to_all "
        "message_read_by_all message_pinned message_unpinned conversation_pinned conversation_unpinned"
    ),
    "user": "user_blocked user_unblocked user_connection_status_changed",
    "group": (
        "group_created group_updated group_deleted group_member_joined group_member_left group_member_added "
        "group_member_kicked group_member_banned group_member_unbanned group_member_scope_changed "
        "group_owner_transferred"
    ),
    "call": "call_initiated call_started call_participant_joined call_participant_left call_ended",
    "meeting": (
        "meeting_started meeting_participant_joined meeting_participant_left meeting_ended "
        "recording_generated transcription_generated"
    ),
    "moderation": (
        "moderation_engine_approved moderation_engine_blocked moderation_manual_approved "
        "moderation_engine_failed"
    ),
    "legacy": ("before_message after_message user_connection_status_change after_connection_status_changed"),
}
TRIGGERS: Final = {name: category for category, names in _CATEGORIES.items() for name in names.split()}
"""The category of every trigger, by its id."""


def list_triggers(context: Context, call: Call) -> list[dict[str, Any]]:
    """Return the triggers of a webhook, in the order in which they were added."""
    return context.store.documents.of(KIND, triggers_of(context, call)).list()


def add_triggers(context: Context, call: Call) -> dict[str, Any]:
    """Add triggers, and give an outcome for each: one that is there already is a success, too."""
    triggers = context.store.documents.of(KIND, triggers_of(context, call))
    outcomes: dict[str, Any] = {}
    for trigger_id in call.read()["triggerIds"]:
        if trigger_id not in TRIGGERS:
            outcomes[trigger_id] = {
                "success": False,
                "error": refused("ERR_TRIGGER_NOT_FOUND", trigger_id).error,
            }
            continue
        triggers.put(_record(trigger_id), trigger_id)
        outcomes[trigger_id] = {"success": True, "message": f"The trigger {trigger_id} has been added."}
    return outcomes


def _record(trigger_id: str) -> dict[str, str]:
    return {
        "id": trigger_id,
        "description": trigger_id.replace("_", " "),
        "category": TRIGGERS[trigger_id],
    }


def remove_triggers(context: Context, call: Call) -> bytes:
    """Remove triggers; 404 where the webhook does not have one of them, and then all stay."""
    triggers = context.store.documents.of(KIND, triggers_of(context, call))
    ids = call.read()["triggerIds"]
    for trigger_id in ids:
        if triggers.get(trigger_id) is None:
            raise refused("ERR_TRIGGER_NOT_FOUND", trigger_id)
    for trigger_id in ids:
        triggers.delete(trigger_id)
    return ack_reply("The triggers have been removed.")


HANDLERS: Final[dict[str, Handler]] = {
    "triggers.list": serve_pages(list_triggers),
    "triggers.add": serve(add_triggers, data_reply),
    "triggers.remove": remove_triggers,
}
