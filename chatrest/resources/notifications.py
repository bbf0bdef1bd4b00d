"""Notifications by push, e-mail and text message."""

from collections.abc import Awaitable
from typing import Final, final

from ..core.paging.paging import Paging
from ..core.replies.decode import ACK, Ack, many, one
from ..core.requests.arguments import hides_arguments
from ..core.requests.endpoint import Endpoint
from ..models.notifications import (
    ContactDetails,
    CustomProvider,
    CustomPushProviders,
    MutedConversations,
    NotificationLog,
    NotificationPreferences,
    NotificationSettings,
    PushProviders,
    PushTokens,
    SendgridProvider,
    Timezone,
    TwilioProvider,
    UserNotificationPreferences,
)
from ..parameters.notifications import (
    AllPushTokens,
    ApnsProvider,
    ContactDetailsChanges,
    ConversationsToMute,
    ConversationsToUnmute,
    CustomEmailProviderChanges,
    CustomPushProviderChanges,
    CustomSmsProviderChanges,
    FcmProvider,
    NewCustomEmailProvider,
    NewCustomPushProvider,
    NewCustomSmsProvider,
    NewPushToken,
    NewSendgridProvider,
    NewTwilioProvider,
    NotificationLogQuery,
    PreferencesChanges,
    PushTokenOwner,
    PushTokenQuery,
    SendgridProviderChanges,
    SettingsChanges,
    TimezoneChanges,
    TwilioProviderChanges,
    UserFilter,
)
from ..walk.walk import Walk
from .collection import Collection, Start

_SETTINGS: Final = "/notifications/v1/settings"
_PREFERENCES: Final = "/notifications/v1/preferences"
_MUTE: Final = "/notifications/v1/preferences/mute"
_TIMEZONE: Final = "/notifications/v1/preferences/timezone"
_CONTACT: Final = "/notifications/v1/contact-details"

GET_SETTINGS: Final = Endpoint("notifications.get_settings", "GET", _SETTINGS, one(NotificationSettings))
UPDATE_SETTINGS: Final = Endpoint(
    "notifications.update_settings", "PATCH", _SETTINGS, ACK, "idempotent", body=SettingsChanges
)
RESET_SETTINGS: Final = Endpoint("notifications.reset_settings", "DELETE", _SETTINGS, ACK, "idempotent")
GET_PREFERENCES: Final = Endpoint(
    "notifications.get_preferences", "GET", _PREFERENCES, one(NotificationPreferences), query=UserFilter
)
UPDATE_PREFERENCES: Final = Endpoint(
    "notifications.update_preferences", "PATCH", _PREFERENCES, one(NotificationPreferences), "idempotent",
    query=UserFilter, body=PreferencesChanges,
)  # fmt: skip
RESET_PREFERENCES: Final = Endpoint(
    "notifications.reset_preferences", "DELETE", _PREFERENCES, one(UserNotificationPreferences),
    "idempotent", query=UserFilter,
)  # fmt: skip
LIST_MUTED: Final = Endpoint(
    "notifications.list_muted", "GET", _MUTE, one(MutedConversations), query=UserFilter
)
MUTE: Final = Endpoint(
    "notifications.mute", "PUT", _MUTE, ACK, "idempotent", query=UserFilter, body=ConversationsToMute
)
UNMUTE: Final = Endpoint(
    "notifications.unmute", "DELETE", _MUTE, ACK, "idempotent", query=UserFilter, body=ConversationsToUnmute
)
GET_TIMEZONE: Final = Endpoint(
    "notifications.get_timezone", "GET", _TIMEZONE, one(Timezone), query=UserFilter
)
UPDATE_TIMEZONE: Final = Endpoint(
    "notifications.update_timezone", "PATCH", _TIMEZONE, one(Timezone), "idempotent",
    query=UserFilter, body=TimezoneChanges,
)  # fmt: skip
GET_CONTACT_DETAILS: Final = Endpoint(
    "notifications.get_contact_details", "GET", _CONTACT, one(ContactDetails), acting="required"
)
UPDATE_CONTACT_DETAILS: Final = Endpoint(
    "notifications.update_contact_details", "PATCH", _CONTACT, one(ContactDetails), "idempotent",
    body=ContactDetailsChanges, acting="required",
)  # fmt: skip
DELETE_CONTACT_DETAILS: Final = Endpoint(
    "notifications.delete_contact_details", "DELETE", _CONTACT, ACK, "idempotent", acting="required"
)

_FCM: Final = "/notifications/push/v1/providers/fcm"
_APNS: Final = "/notifications/push/v1/providers/apns"

LIST_FCM_PROVIDERS: Final = Endpoint("notifications.list_fcm_providers", "GET", _FCM, one(PushProviders))
ADD_FCM_PROVIDER: Final = Endpoint(
    "notifications.add_fcm_provider", "POST", _FCM, ACK, "never", body=FcmProvider
)
UPDATE_FCM_PROVIDER: Final = Endpoint(
    "notifications.update_fcm_provider", "PUT", _FCM, ACK, "idempotent", body=FcmProvider
)
DELETE_FCM_PROVIDER: Final = Endpoint(
    "notifications.delete_fcm_provider", "DELETE", f"{_FCM}/{{providerId}}", ACK, "idempotent"
)
SET_DEFAULT_FCM_PROVIDER: Final = Endpoint(
    "notifications.set_default_fcm_provider", "PUT", f"{_FCM}/default/{{providerId}}", ACK, "idempotent"
)
LIST_APNS_PROVIDERS: Final = Endpoint("notifications.list_apns_providers", "GET", _APNS, one(PushProviders))
ADD_APNS_PROVIDER: Final = Endpoint(
    "notifications.add_apns_provider", "POST", _APNS, one(PushProviders), "never", body=ApnsProvider
)
UPDATE_APNS_PROVIDER: Final = Endpoint(
    "notifications.update_apns_provider", "PUT", _APNS, ACK, "idempotent", body=ApnsProvider
)
DELETE_APNS_PROVIDER: Final = Endpoint(
    "notifications.delete_apns_provider", "DELETE", f"{_APNS}/{{providerId}}", ACK, "idempotent"
)
SET_DEFAULT_APNS_PROVIDER: Final = Endpoint(
    "notifications.set_default_apns_provider", "PUT", f"{_APNS}/default/{{providerId}}", ACK, "idempotent"
)

_TOKENS: Final = "/notifications/push/v1/tokens"
_BY_LOG: Final = Paging(size="", renames=(("messageId", "logId"),))
"""The log asks for `logId` and answers `messageId`."""

LIST_PUSH_TOKENS: Final = Endpoint(
    "notifications.list_push_tokens", "GET", _TOKENS, one(PushTokens), query=PushTokenQuery
)
REGISTER_PUSH_TOKEN: Final = Endpoint(
    "notifications.register_push_token", "POST", _TOKENS, ACK, "never", body=NewPushToken
)
UNREGISTER_PUSH_TOKENS: Final = Endpoint(
    "notifications.unregister_push_tokens", "DELETE", _TOKENS, one(PushTokens), "idempotent",
    query=AllPushTokens, body=PushTokenOwner,
)  # fmt: skip
DELETE_PUSH_TOKEN: Final = Endpoint(
    "notifications.delete_push_token", "DELETE", f"{_TOKENS}/{{pushToken}}", one(PushTokens), "idempotent",
    body=PushTokenOwner,
)  # fmt: skip
LIST_LOGS: Final = Endpoint(
    "notifications.list_logs", "GET", "/notifications/v1/logs", many(NotificationLog),
    query=NotificationLogQuery, paging=_BY_LOG,
)  # fmt: skip

_TWILIO: Final = "/notifications/sms/v1/providers/twilio"
_SENDGRID: Final = "/notifications/email/v1/providers/sendgrid"

GET_TWILIO_PROVIDER: Final = Endpoint(
    "notifications.get_twilio_provider", "GET", _TWILIO, one(TwilioProvider)
)
CREATE_TWILIO_PROVIDER: Final = Endpoint(
    "notifications.create_twilio_provider", "POST", _TWILIO, one(TwilioProvider), "never",
    body=NewTwilioProvider,
)  # fmt: skip
UPDATE_TWILIO_PROVIDER: Final = Endpoint(
    "notifications.update_twilio_provider", "PUT", _TWILIO, one(TwilioProvider), "idempotent",
    body=TwilioProviderChanges,
)  # fmt: skip
DELETE_TWILIO_PROVIDER: Final = Endpoint(
    "notifications.delete_twilio_provider", "DELETE", _TWILIO, ACK, "idempotent"
)
GET_SENDGRID_PROVIDER: Final = Endpoint(
    "notifications.get_sendgrid_provider", "GET", _SENDGRID, one(SendgridProvider)
)
CREATE_SENDGRID_PROVIDER: Final = Endpoint(
    "notifications.create_sendgrid_provider", "POST", _SENDGRID, one(SendgridProvider), "never",
    body=NewSendgridProvider,
)  # fmt: skip
UPDATE_SENDGRID_PROVIDER: Final = Endpoint(
    "notifications.update_sendgrid_provider", "PUT", _SENDGRID, one(SendgridProvider), "idempotent",
    body=SendgridProviderChanges,
)  # fmt: skip
DELETE_SENDGRID_PROVIDER: Final = Endpoint(
    "notifications.delete_sendgrid_provider", "DELETE", _SENDGRID, ACK, "idempotent"
)

_PUSH: Final = "/notifications/push/v1/providers/custom"
_SMS: Final = "/notifications/sms/v1/providers/custom"
_EMAIL: Final = "/notifications/email/v1/providers/custom"

LIST_CUSTOM_PUSH_PROVIDERS: Final = Endpoint(
    "notifications.list_custom_push_providers", "GET", _PUSH, one(CustomPushProviders)
)
CREATE_CUSTOM_PUSH_PROVIDER: Final = Endpoint(
    "notifications.create_custom_push_provider", "POST", _PUSH, one(CustomPushProviders), "never",
    body=NewCustomPushProvider,
)  # fmt: skip
UPDATE_CUSTOM_PUSH_PROVIDER: Final = Endpoint(
    "notifications.update_custom_push_provider", "PUT", _PUSH, one(CustomPushProviders), "idempotent",
    body=CustomPushProviderChanges,
)  # fmt: skip
DELETE_CUSTOM_PUSH_PROVIDER: Final = Endpoint(
    "notifications.delete_custom_push_provider", "DELETE", _PUSH, ACK, "idempotent"
)
GET_CUSTOM_SMS_PROVIDER: Final = Endpoint(
    "notifications.get_custom_sms_provider", "GET", _SMS, one(CustomProvider)
)
CREATE_CUSTOM_SMS_PROVIDER: Final = Endpoint(
    "notifications.create_custom_sms_provider", "POST", _SMS, one(CustomProvider), "never",
    body=NewCustomSmsProvider,
)  # fmt: skip
UPDATE_CUSTOM_SMS_PROVIDER: Final = Endpoint(
    "notifications.update_custom_sms_provider", "PUT", _SMS, one(CustomProvider), "idempotent",
    body=CustomSmsProviderChanges,
)  # fmt: skip
DELETE_CUSTOM_SMS_PROVIDER: Final = Endpoint(
    "notifications.delete_custom_sms_provider", "DELETE", _SMS, ACK, "idempotent"
)
GET_CUSTOM_EMAIL_PROVIDER: Final = Endpoint(
    "notifications.get_custom_email_provider", "GET", _EMAIL, one(CustomProvider)
)
CREATE_CUSTOM_EMAIL_PROVIDER: Final = Endpoint(
    "notifications.create_custom_email_provider", "POST", _EMAIL, one(CustomProvider), "never",
    body=NewCustomEmailProvider,
)  # fmt: skip
UPDATE_CUSTOM_EMAIL_PROVIDER: Final = Endpoint(
    "notifications.update_custom_email_provider", "PUT", _EMAIL, one(CustomProvider), "idempotent",
    body=CustomEmailProviderChanges,
)  # fmt: skip
DELETE_CUSTOM_EMAIL_PROVIDER: Final = Endpoint(
    "notifications.delete_custom_email_provider", "DELETE", _EMAIL, ACK, "idempotent"
)


@final
class Notifications(Collection):
    """Settings, preferences, providers, push tokens and the log: `session.notifications`."""

    # ── settings and preferences ──

    async def get_settings(self) -> NotificationSettings:
        """The notification settings of the app."""
        return await self._call(GET_SETTINGS)

    async def update_settings(self, changes: SettingsChanges) -> Ack:
        """Change any part of the settings."""
        return await self._call(UPDATE_SETTINGS, changes)

    async def reset_settings(self) -> Ack:
        """Set the settings back to what they are at first."""
        return await self._call(RESET_SETTINGS)

    async def get_preferences(self, uid: str) -> NotificationPreferences:
        """The notification preferences of a user."""
        return await self._call(GET_PREFERENCES, query=UserFilter(uid=uid))

    async def update_preferences(self, uid: str, changes: PreferencesChanges) -> NotificationPreferences:
        """Change any part of a user's preferences; the body's members have other names than the reply's."""
        return await self._call(UPDATE_PREFERENCES, changes, query=UserFilter(uid=uid))

    async def reset_preferences(self, uid: str) -> UserNotificationPreferences:
        """Set a user's preferences back to what they are at first, and give them."""
        return await self._call(RESET_PREFERENCES, query=UserFilter(uid=uid))

    async def list_muted(self, uid: str) -> MutedConversations:
        """The conversations that a user has muted."""
        return await self._call(LIST_MUTED, query=UserFilter(uid=uid))

    async def mute(self, uid: str, mute: ConversationsToMute) -> Ack:
        """Mute conversations for a user."""
        return await self._call(MUTE, mute, query=UserFilter(uid=uid))

    async def unmute(self, uid: str, unmute: ConversationsToUnmute) -> Ack:
        """Let a user be notified of conversations again."""
        return await self._call(UNMUTE, unmute, query=UserFilter(uid=uid))

    async def get_timezone(self, uid: str) -> Timezone:
        """The time zone of a user."""
        return await self._call(GET_TIMEZONE, query=UserFilter(uid=uid))

    async def update_timezone(self, uid: str, timezone: str) -> Timezone:
        """Set the time zone of a user: an IANA name such as Europe/Berlin."""
        return await self._call(
            UPDATE_TIMEZONE, TimezoneChanges(timezone=timezone), query=UserFilter(uid=uid)
        )

    async def get_contact_details(self, *, on_behalf_of: str | None = None) -> ContactDetails:
        """The e-mail address and the phone number of the acting user."""
        return await self._call(GET_CONTACT_DETAILS, on_behalf_of=on_behalf_of)

    async def update_contact_details(
        self, changes: ContactDetailsChanges, *, on_behalf_of: str | None = None
    ) -> ContactDetails:
        """Change the e-mail address or the phone number of the acting user."""
        return await self._call(UPDATE_CONTACT_DETAILS, changes, on_behalf_of=on_behalf_of)

    async def delete_contact_details(self, *, on_behalf_of: str | None = None) -> Ack:
        """Remove the e-mail address and the phone number of the acting user."""
        return await self._call(DELETE_CONTACT_DETAILS, on_behalf_of=on_behalf_of)

    # ── push providers ──

    async def list_fcm_providers(self) -> PushProviders:
        """The FCM providers."""
        return await self._call(LIST_FCM_PROVIDERS)

    async def add_fcm_provider(self, provider: FcmProvider) -> Ack:
        """Add an FCM provider. Sent once."""
        return await self._call(ADD_FCM_PROVIDER, provider)

    async def update_fcm_provider(self, provider: FcmProvider) -> Ack:
        """Change the FCM provider of `provider.provider_id`."""
        return await self._call(UPDATE_FCM_PROVIDER, provider)

    async def delete_fcm_provider(self, provider_id: str) -> Ack:
        """Remove an FCM provider."""
        return await self._call(DELETE_FCM_PROVIDER, providerId=provider_id)

    async def set_default_fcm_provider(self, provider_id: str) -> Ack:
        """Let an FCM provider be the one for devices that name none."""
        return await self._call(SET_DEFAULT_FCM_PROVIDER, providerId=provider_id)

    async def list_apns_providers(self) -> PushProviders:
        """The APNs providers."""
        return await self._call(LIST_APNS_PROVIDERS)

    async def add_apns_provider(self, provider: ApnsProvider) -> PushProviders:
        """Add an APNs provider, and give the providers. Sent once."""
        return await self._call(ADD_APNS_PROVIDER, provider)

    async def update_apns_provider(self, provider: ApnsProvider) -> Ack:
        """Change the APNs provider of `provider.provider_id`."""
        return await self._call(UPDATE_APNS_PROVIDER, provider)

    async def delete_apns_provider(self, provider_id: str) -> Ack:
        """Remove an APNs provider."""
        return await self._call(DELETE_APNS_PROVIDER, providerId=provider_id)

    async def set_default_apns_provider(self, provider_id: str) -> Ack:
        """Let an APNs provider be the one for devices that name none."""
        return await self._call(SET_DEFAULT_APNS_PROVIDER, providerId=provider_id)

    # ── push tokens and the log ──

    @hides_arguments
    def list_push_tokens(self, auth_token: str, *, all: bool | None = None) -> Awaitable[PushTokens]:
        """The push tokens of a login; `all`: of all logins of its user. The auth token is in the address."""
        return self._call(LIST_PUSH_TOKENS, query=PushTokenQuery(all=all, auth_token=auth_token))

    async def register_push_token(self, token: NewPushToken) -> Ack:
        """Register the push token of a device for the user of `token.auth_token`. Sent once."""
        return await self._call(REGISTER_PUSH_TOKEN, token)

    @hides_arguments
    def unregister_push_tokens(self, auth_token: str, *, all: bool | None = None) -> Awaitable[PushTokens]:
        """Remove the push tokens of a login, or of all logins of its user (`all`), and give them."""
        owner, query = PushTokenOwner(auth_token=auth_token), AllPushTokens(all=all)
        return self._call(UNREGISTER_PUSH_TOKENS, owner, query=query)

    @hides_arguments
    def delete_push_token(self, push_token: str, auth_token: str) -> Awaitable[PushTokens]:
        """Remove one push token of a login, and give it."""
        owner = PushTokenOwner(auth_token=auth_token)
        return self._call(DELETE_PUSH_TOKEN, owner, pushToken=push_token)

    def list_logs(
        self, query: NotificationLogQuery | None = None, *, cursor: Start = None
    ) -> Walk[NotificationLog]:
        """The log of notifications, sent or held back, in the service's order. One request a page."""
        return self._walk(LIST_LOGS, query, cursor)

    # ── providers of SMS and e-mail ──

    async def get_twilio_provider(self) -> TwilioProvider:
        """The account that sends text messages."""
        return await self._call(GET_TWILIO_PROVIDER)

    async def create_twilio_provider(self, provider: NewTwilioProvider) -> TwilioProvider:
        """Set the account that sends text messages. Sent once."""
        return await self._call(CREATE_TWILIO_PROVIDER, provider)

    async def update_twilio_provider(self, changes: TwilioProviderChanges) -> TwilioProvider:
        """Change any part of the account that sends text messages."""
        return await self._call(UPDATE_TWILIO_PROVIDER, changes)

    async def delete_twilio_provider(self) -> Ack:
        """Remove the account that sends text messages."""
        return await self._call(DELETE_TWILIO_PROVIDER)

    async def get_sendgrid_provider(self) -> SendgridProvider:
        """The account that sends e-mails, without its members about replies."""
        return await self._call(GET_SENDGRID_PROVIDER)

    async def create_sendgrid_provider(self, provider: NewSendgridProvider) -> SendgridProvider:
        """Set the account that sends e-mails. Sent once."""
        return await self._call(CREATE_SENDGRID_PROVIDER, provider)

    async def update_sendgrid_provider(self, changes: SendgridProviderChanges) -> SendgridProvider:
        """Change any part of the account that sends e-mails."""
        return await self._call(UPDATE_SENDGRID_PROVIDER, changes)

    async def delete_sendgrid_provider(self) -> Ack:
        """Remove the account that sends e-mails."""
        return await self._call(DELETE_SENDGRID_PROVIDER)

    # ── custom providers ──

    async def list_custom_push_providers(self) -> CustomPushProviders:
        """The webhooks for push notifications."""
        return await self._call(LIST_CUSTOM_PUSH_PROVIDERS)

    async def create_custom_push_provider(self, provider: NewCustomPushProvider) -> CustomPushProviders:
        """Set the webhook for push notifications. Sent once."""
        return await self._call(CREATE_CUSTOM_PUSH_PROVIDER, provider)

    async def update_custom_push_provider(self, changes: CustomPushProviderChanges) -> CustomPushProviders:
        """Change any part of the webhook for push notifications."""
        return await self._call(UPDATE_CUSTOM_PUSH_PROVIDER, changes)

    async def delete_custom_push_provider(self) -> Ack:
        """Remove the webhook for push notifications."""
        return await self._call(DELETE_CUSTOM_PUSH_PROVIDER)

    async def get_custom_sms_provider(self) -> CustomProvider:
        """The webhook for text messages."""
        return await self._call(GET_CUSTOM_SMS_PROVIDER)

    async def create_custom_sms_provider(self, provider: NewCustomSmsProvider) -> CustomProvider:
        """Set the webhook for text messages. Sent once."""
        return await self._call(CREATE_CUSTOM_SMS_PROVIDER, provider)

    async def update_custom_sms_provider(self, changes: CustomSmsProviderChanges) -> CustomProvider:
        """Change any part of the webhook for text messages."""
        return await self._call(UPDATE_CUSTOM_SMS_PROVIDER, changes)

    async def delete_custom_sms_provider(self) -> Ack:
        """Remove the webhook for text messages."""
        return await self._call(DELETE_CUSTOM_SMS_PROVIDER)

    async def get_custom_email_provider(self) -> CustomProvider:
        """The webhook for e-mails."""
        return await self._call(GET_CUSTOM_EMAIL_PROVIDER)

    async def create_custom_email_provider(self, provider: NewCustomEmailProvider) -> CustomProvider:
        """Set the webhook for e-mails. Sent once."""
        return await self._call(CREATE_CUSTOM_EMAIL_PROVIDER, provider)

    async def update_custom_email_provider(self, changes: CustomEmailProviderChanges) -> CustomProvider:
        """Change any part of the webhook for e-mails."""
        return await self._call(UPDATE_CUSTOM_EMAIL_PROVIDER, changes)

    async def delete_custom_email_provider(self) -> Ack:
        """Remove the webhook for e-mails."""
        return await self._call(DELETE_CUSTOM_EMAIL_PROVIDER)
