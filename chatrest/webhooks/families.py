"""The triggers and the class of their events."""

from typing import Any, Final

from .event import (
    CallEvent,
    CallSessionEvent,
    CampaignEvent,
    ConversationEvent,
    GroupEvent,
    MessageEvent,
    ModerationEvent,
    NotificationEvent,
    ReactionEvent,
    ReceiptEvent,
    RecordingEvent,
    TranscriptionEvent,
    UserBlockEvent,
    UserConnectionEvent,
)

_NAMES: Final[dict[type[Any], str]] = {
    MessageEvent: (
        "message_sent message_edited message_deleted user_mentioned message_pinned message_unpinned "
        "before_message after_message"
    ),
    ReceiptEvent: (
        "message_delivery_receipt message_read_receipt message_delivered_to_all message_read_by_all"
    ),
    ReactionEvent: "message_reaction_added message_reaction_removed",
    ConversationEvent: "conversation_pinned conversation_unpinned",
    UserBlockEvent: "user_blocked user_unblocked",
    UserConnectionEvent: (
        "user_connection_status_changed user_connection_status_change after_connection_status_changed"
    ),
    GroupEvent: (
        "group_created group_updated group_deleted group_member_joined group_member_left group_member_added "
        "group_member_kicked group_member_banned group_member_unbanned group_member_scope_changed "
        "group_owner_transferred group_member_removed"
    ),
    CallEvent: "call_initiated call_busy call_cancelled call_rejected call_unanswered",
    CallSessionEvent: (
        "call_started call_participant_joined call_participant_left call_ended "
        "meeting_started meeting_participant_joined meeting_participant_left meeting_ended"
    ),
    RecordingEvent: "recording_generated",
    TranscriptionEvent: "transcription_generated",
    CampaignEvent: (
        "after_campaign_completed after_campaign_failed after_notification_created after_feed_item_sent "
        "after_feed_item_delivered after_feed_item_read after_feed_item_interacted "
        "after_push_notification_sent after_push_notification_delivered after_push_notification_clicked"
    ),
    ModerationEvent: (
        "moderation_engine_approved moderation_engine_blocked moderation_manual_approved "
        "moderation_engine_failed"
    ),
    NotificationEvent: (
        "email-notification-payload-generated sms-notification-payload-generated "
        "push-notification-payload-generated"
    ),
}
FAMILIES: Final[dict[str, type[Any]]] = {
    trigger: kind for kind, triggers in _NAMES.items() for trigger in triggers.split()
}
"""The class of event by trigger, of current and legacy webhooks."""
