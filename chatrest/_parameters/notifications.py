"""Filters and bodies of notifications and of their providers."""

from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from .checked import Body, Bool, CheckedStruct, Filter, Json, Millis, Text, Uid, struct_type
from .fields import AnyText, ListOf, Natural, StructOrMapping

_Trigger: TypeAlias = Literal[
        "after_message", "message_deleted", "message_edited", "message_reaction_added", "initiated",
        "rejected", "cancelled", "unanswered", "after_group_joined", "after_group_left",
        "after_group_members_added", "after_group_members_kicked", "after_group_members_banned",
        "after_group_members_unbanned", "after_scope_changed",
    ]  # fmt: skip
_Reason: TypeAlias = Literal[
        "MESSAGES_PREFERENCE", "REPLIES_PREFERENCE", "QUOTED_REPLIES_PREFERENCE",
        "MESSAGE_ACTIONS_PREFERENCE", "REACTIONS_PREFERENCE", "GROUP_ACTIONS_PREFERENCE", "DND_PREFERENCE",
        "MUTE_PREFERENCE", "SCHEDULE_PREFERENCE", "CALL_PREFERENCE", "QUOTA_PREFERENCE", "MISSING_EMAIL",
        "MISSING_PHNO", "INVALID_PUSH_PROVIDER_ID", "TIMED_OUT", "NOT_FOUND", "TWILIO_CREATE_ERROR",
    ]  # fmt: skip


UserFilter: Final = struct_type("UserFilter", Filter, uid=Uid)


class SettingsChanges(Body):
    """Changes of the notification settings of the app; what is not given stays."""

    preferences: Json | UnsetType = UNSET
    """The app's preferences, by kind."""
    sound: Json | UnsetType = UNSET
    """The sounds of chats and calls."""
    templates: Json | UnsetType = UNSET
    """The texts of notifications, by kind."""


class MutePreferences(CheckedStruct):
    """Do not disturb (`dnd`: 1 off, 2 on), and the hours of each day."""

    dnd: Literal[1, 2] | UnsetType = UNSET
    """Do not disturb: 1 is off, 2 is on."""
    schedule: Json | UnsetType = UNSET
    """When notifications are sent, by day."""


_Mute: TypeAlias = Annotated[
    StructOrMapping[MutePreferences],
    Meta(description="a MutePreferences, or a mapping with dnd and schedule"),
]


class PreferencesChanges(Body):
    """Changes of a user's notification preferences; what is not given stays."""

    group_preferences: Json | UnsetType = UNSET
    """Preferences for groups: a whole number for each event."""
    one_on_one_preferences: Json | UnsetType = UNSET
    """Preferences for chats of two: a whole number for each event."""
    mute_preferences: _Mute | UnsetType = UNSET
    """When nothing is sent."""
    use_privacy_template: Bool | UnsetType = UNSET
    """Hide the message's content in notifications."""


class ConversationToUnmute(CheckedStruct):
    """A conversation that is muted no longer."""

    id: Uid | UnsetType = UNSET
    """The uid of the other user, or the guid."""
    type: Literal["oneOnOne", "group"] | UnsetType = UNSET
    """With a user or a group."""


class ConversationToMute(ConversationToUnmute):
    """A conversation to mute, by the other's uid or the group's guid; `until` is in epoch milliseconds."""

    until: Millis | UnsetType = UNSET
    """When it ends."""


_ToMute: TypeAlias = Annotated[
    ListOf[StructOrMapping[ConversationToMute]],
    Meta(description="a list of ConversationToMute, or of mappings with its members"),
]
_ToUnmute: TypeAlias = Annotated[
    ListOf[StructOrMapping[ConversationToUnmute]],
    Meta(description="a list of ConversationToUnmute, or of mappings with its members"),
]


class ConversationsToMute(Body):
    """The conversations that a user mutes."""

    conversations: _ToMute


class ConversationsToUnmute(Body):
    """The conversations that a user mutes no longer."""

    conversations: _ToUnmute


TimezoneChanges: Final = struct_type("TimezoneChanges", Body, timezone=Text | UnsetType)


class ContactDetailsChanges(Body):
    """The e-mail address and the phone number (with + and the country's code) of a user."""

    email: Text | UnsetType = UNSET
    phno: Text | UnsetType = UNSET
    """The user's phone number, with + and the country's code."""


PushTokenQuery: Final = struct_type("PushTokenQuery", Filter, all=Bool | None, auth_token=Text)
AllPushTokens: Final = struct_type("AllPushTokens", Filter, all=Bool | None)
PushTokenOwner: Final = struct_type("PushTokenOwner", Body, auth_token=Text)


class NewPushToken(Body):
    """The push token of a device: one of three, by the platform (fcm_*, apns_*_device, apns_*_voip)."""

    auth_token: Text | UnsetType = UNSET
    platform: Text | UnsetType = UNSET
    provider_id: Text | UnsetType = UNSET
    timezone: Text | UnsetType = UNSET
    fcm_token: Text | UnsetType = UNSET
    """The device's token for pushes of Firebase."""
    device_token: Text | UnsetType = UNSET
    """The device's token for pushes of Apple."""
    voip_token: Text | UnsetType = UNSET
    """The device's token for calls of Apple."""


class NotificationLogQuery(Filter):
    """The filter of the log, which starts at `log_id`; `reason` is of those that were not sent."""

    windows: ClassVar[tuple[tuple[str, str], ...]] = (("from_", "to"),)

    message_id: Natural | None = None
    """Only notifications about this message."""
    reaction_id: Natural | None = None
    """Only notifications about this reaction."""
    from_: Millis | None = field(default=None, name="from")
    """From this time on."""
    to: Millis | None = None
    """Until this time."""
    message_category: Literal["message", "interactive"] | None = None
    message_type: Text | None = None
    trigger: _Trigger | None = None
    """Only notifications of this cause."""
    sender: Uid | None = None
    """Only messages of this user."""
    reaction_sender: Uid | None = None
    """Only notifications about reactions of this user."""
    receiver: Uid | None = None
    receiver_type: Literal["user", "group"] | None = None
    reaction_receiver: Uid | None = None
    """Only notifications about reactions to messages of this user."""
    member: Uid | None = None
    """Only notifications for this user."""
    channel: Literal["push", "email", "sms"] | None = None
    """Only notifications of this channel."""
    provider: Literal["fcm", "apns", "sendgrid", "twilio", "custom"] | None = None
    """Only notifications of this provider."""
    notification_triggered: Bool | None = None
    """Only notifications that were sent, or that were not."""
    reason: _Reason | None = None
    """Only notifications that were not sent for this reason."""
    success: Bool | None = None
    """Only notifications that succeeded, or that failed."""
    affix: Literal["prepend", "append"] | None = None
    log_id: Text | None = None
    """The entry after or before which the list continues."""


# ── providers ──


class FcmProvider(Body):
    """A provider for Android, iOS and the web, by its id.

    `service_account_creds` has `project_id`, `client_email`, `private_key` and `private_key_id`;
    `notification_in_payload` has `ios`, `android` and `web`, each `{"chat": true, "call": true}`.
    """

    provider_id: Text | UnsetType = UNSET
    service_account_filename: Text | UnsetType = UNSET
    service_account_creds: Json | UnsetType = UNSET
    """The service account, the JSON of its file."""
    notification_in_payload: Json | UnsetType = UNSET
    """Send the notification inside the payload, by platform."""


class ApnsProvider(Body):
    """A provider for Apple's devices, by its id; `p8_key` is the text of the key's file."""

    provider_id: Text | UnsetType = UNSET
    key_id: Text | UnsetType = UNSET
    """The id of the signing key."""
    team_id: Text | UnsetType = UNSET
    """The id of the Apple developer team."""
    bundle_id: Text | UnsetType = UNSET
    p8_key_filename: Text | UnsetType = UNSET
    p8_key: Text | UnsetType = UNSET
    """The signing key, the text of its .p8 file."""
    include_content_available: Bool | UnsetType = UNSET
    """Wake the application in the background."""
    include_mutable_content: Bool | UnsetType = UNSET
    """Let the application change the notification."""
    production_mode: Bool | UnsetType = UNSET
    """Send by Apple's production servers."""


class TwilioProviderChanges(Body):
    """Changes of the account that sends text messages; what is not given stays."""

    twilio_account_sid: Text | UnsetType = field(default=UNSET, name="twilioAccountSID")
    twilio_auth_token: Text | UnsetType = UNSET
    twilio_sender_phone_number: Text | UnsetType = UNSET
    """The phone number that sends."""
    is_enabled: Bool | UnsetType = UNSET


class NewTwilioProvider(TwilioProviderChanges):
    """The account that sends text messages."""

    twilio_account_sid: Text = field(name="twilioAccountSID")
    twilio_auth_token: Text
    twilio_sender_phone_number: Text


class SendgridProviderChanges(Body):
    """Changes of the account that sends e-mails; None for `sender_email_for_replies` is sent as null."""

    send_grid_api_key: Text | UnsetType = UNSET
    """The key of the SendGrid account."""
    send_grid_template_id: Text | UnsetType = field(default=UNSET, name="sendGridTemplateID")
    """The id of the e-mail template."""
    send_grid_unsubscribe_group_id: Text | UnsetType = field(default=UNSET, name="sendGridUnsubscribeGroupID")
    """The id of the unsubscribe group, digits."""
    sender_name: Text | UnsetType = UNSET
    sender_email: Text | UnsetType = UNSET
    allow_email_replies: Bool | UnsetType = UNSET
    """Let users answer by e-mail."""
    sender_email_for_replies: Text | UnsetType | None = UNSET
    """The address for answers."""
    is_enabled: Bool | UnsetType = UNSET


class NewSendgridProvider(SendgridProviderChanges):
    """The account that sends e-mails; `sender_email_for_replies` may be None, which is sent as null."""

    send_grid_api_key: Text
    send_grid_template_id: Text = field(name="sendGridTemplateID")
    send_grid_unsubscribe_group_id: Text = field(name="sendGridUnsubscribeGroupID")
    sender_name: Text
    sender_email: Text
    allow_email_replies: Bool = False


class _NewCustomProvider(Body):
    is_enabled: Bool
    webhook_url: Text = field(name="webhookURL")
    use_basic_auth: Bool
    basic_auth_username: AnyText
    basic_auth_password: AnyText


class _CustomProviderChanges(Body):
    is_enabled: Bool | UnsetType = UNSET
    webhook_url: Text | UnsetType = field(default=UNSET, name="webhookURL")
    use_basic_auth: Bool | UnsetType = UNSET
    basic_auth_username: Text | UnsetType = UNSET
    basic_auth_password: Text | UnsetType = UNSET


class NewCustomPushProvider(_NewCustomProvider):
    """The app's webhook for push notifications."""


class CustomPushProviderChanges(_CustomProviderChanges):
    """Changes of the webhook for push notifications; what is not given stays."""


class NewCustomSmsProvider(_NewCustomProvider):
    """The app's webhook for text messages; `use_stored_ph_no`: to the numbers in contact details."""

    use_stored_ph_no: Bool = False


class CustomSmsProviderChanges(_CustomProviderChanges):
    """Changes of the webhook for text messages; what is not given stays."""

    use_stored_ph_no: Bool | UnsetType = UNSET


class NewCustomEmailProvider(_NewCustomProvider):
    """The app's webhook for e-mails; `use_stored_email_id`: to the addresses in contact details."""

    use_stored_email_id: Bool = field(name="useStoredEmailID")


class CustomEmailProviderChanges(_CustomProviderChanges):
    """Changes of the webhook for e-mails; what is not given stays."""

    use_stored_email_id: Bool | UnsetType = field(default=UNSET, name="useStoredEmailID")
