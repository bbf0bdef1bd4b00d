"""Notifications: settings, preferences, tokens, the log, and providers."""

from typing import Any, ClassVar

from msgspec import UNSET, field

from .record import Json, Maybe, Record


class NotificationPreferenceGroups(Record):
    """The preferences by kind: each an object with members such as `messagesSetting`.

    Known values: messages and replies 1 off, 2 all, 3 mentions; reactions 1 off, 2 own, 3 all; others 1 off,
    2 on. A boolean `<name>Override` says that users may choose differently.
    """

    group: Maybe[Json] = UNSET
    one_on_one: Maybe[Json] = UNSET
    call: Maybe[Json] = UNSET
    mute: Maybe[Json] = UNSET
    email: Maybe[Json] = UNSET
    sms: Maybe[Json] = UNSET
    push: Maybe[Json] = UNSET
    bypass_preferences_for_mentions: Maybe[bool] = UNSET
    bypass_preferences_for_group_mentions: Maybe[bool] = UNSET


class _Notifications(Record):
    preferences: Maybe[NotificationPreferenceGroups] = UNSET
    sound: Maybe[Json] = UNSET
    templates: Maybe[Json] = UNSET


class NotificationSettings(_Notifications):
    """The notification settings of an app: `sound` has `chat` and `call`, `templates` the texts by kind."""


class NotificationPreferences(_Notifications):
    """The notification preferences of a user, with `group`, `one_on_one` and `mute`."""


class UserNotificationPreferences(Record):
    """The preferences of a user under the names with which they are changed: the reply of a reset."""

    group_preferences: Maybe[Json] = UNSET
    one_on_one_preferences: Maybe[Json] = UNSET
    mute_preferences: Maybe[Json] = UNSET
    use_privacy_template: Maybe[bool] = UNSET


class MutedConversations(Record):
    """The conversations that a user has muted, as JSON: their members are not documented."""

    muted_conversations: Maybe[tuple[Json, ...]] = UNSET


class Timezone(Record):
    """The time zone of a user: an IANA name such as Europe/Berlin."""

    timezone: Maybe[str] = UNSET


class ContactDetails(Record):
    """The e-mail address and the phone number (`phno`, with + and the country's code) of a user."""

    email: Maybe[str] = UNSET
    phno: Maybe[str] = UNSET


class PushToken(Record):
    """A device's push token, and its login's auth token; no repr shows them. Times are ISO 8601 texts."""

    uid: Maybe[str] = UNSET
    auth_token: Maybe[str] = UNSET
    push_token: Maybe[str] = UNSET
    push_token_type: Maybe[str] = UNSET
    platform: Maybe[str] = UNSET
    provider_id: Maybe[str] = UNSET
    created_at: Maybe[str] = UNSET
    updated_at: Maybe[str] = UNSET


class PushTokens(Record):
    """The push tokens that a call is about."""

    push_tokens: Maybe[tuple[PushToken, ...]] = UNSET


class NotificationLog(Record):
    """A notification that was sent, or held back for a `reason`. Times are in epoch milliseconds."""

    identified_by: ClassVar[str] = "_id"

    _id: Maybe[str] = field(default=UNSET, name="_id")
    channel: Maybe[str] = UNSET
    provider: Maybe[str] = UNSET
    component: Maybe[str] = UNSET
    trigger: Maybe[str] = UNSET
    notification_triggered: Maybe[bool] = UNSET
    reason: Maybe[str] = UNSET
    message_id: Maybe[int] = UNSET
    reaction_id: Maybe[int] = UNSET
    message_sent_at_ms: Maybe[int] = field(default=UNSET, name="messageSentAtMS")
    processing_started_at_ms: Maybe[int] = field(default=UNSET, name="processingStartedAtMS")
    processing_ended_at_ms: Maybe[int] = field(default=UNSET, name="processingEndedAtMS")
    total_processing_time_in_ms: Maybe[int] = field(default=UNSET, name="totalProcessingTimeInMS")
    sender: Maybe[str] = UNSET
    receiver: Maybe[str] = UNSET
    receiver_type: Maybe[str] = UNSET
    reaction_sender: Maybe[str] = UNSET
    reaction_receiver: Maybe[str] = UNSET
    member: Maybe[str] = UNSET
    token_type: Maybe[str] = UNSET
    push_token: Maybe[str] = UNSET
    provider_id: Maybe[str] = UNSET
    payload: Maybe[Any] = UNSET

    @property
    def id(self) -> Maybe[str]:
        """`_id` under the name that other records have for theirs."""
        return self._id


class PushProviders(Record):
    """Push providers as JSON: their members are not documented."""

    push_providers: Maybe[tuple[Json, ...]] = UNSET


class TwilioProvider(Record):
    """The account that sends text messages."""

    twilio_account_sid: Maybe[str] = field(default=UNSET, name="twilioAccountSID")
    twilio_auth_token: Maybe[str] = UNSET
    twilio_sender_phone_number: Maybe[str] = UNSET


class SendgridProvider(Record):
    """The account that sends e-mails. `get_sendgrid_provider` answers without the members about replies."""

    send_grid_api_key: Maybe[str] = UNSET
    send_grid_template_id: Maybe[str] = field(default=UNSET, name="sendGridTemplateID")
    send_grid_unsubscribe_group_id: Maybe[str] = field(default=UNSET, name="sendGridUnsubscribeGroupID")
    sender_email: Maybe[str] = UNSET
    sender_name: Maybe[str] = UNSET
    allow_email_replies: Maybe[bool] = UNSET
    sender_email_for_replies: Maybe[str] = UNSET
    replies_webhook: Maybe[str] = UNSET


class CustomProvider(Record):
    """The app's provider: notifications are posted to `webhook_url`."""

    is_enabled: Maybe[bool] = UNSET
    webhook_url: Maybe[str] = field(default=UNSET, name="webhookURL")
    use_basic_auth: Maybe[bool] = UNSET
    basic_auth_username: Maybe[str] = UNSET
    basic_auth_password: Maybe[str] = UNSET
    use_stored_ph_no: Maybe[bool] = UNSET
    use_stored_email_id: Maybe[bool] = field(default=UNSET, name="useStoredEmailID")


class CustomPushProviders(Record):
    """The custom providers of push notifications."""

    push_providers: Maybe[tuple[CustomProvider, ...]] = UNSET
