"""Notifications by push, e-mail and text message."""

from collections.abc import Awaitable
from typing import Final, Generic, NamedTuple, TypeVar, final

from .._core.replies.decode import ACK, Ack, many, one
from .._core.requests.arguments import hides_arguments
from .._core.requests.dialects import Paging
from .._core.requests.endpoint import Endpoint, Reader
from .._models.notifications import (
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
from .._parameters.checked import Body
from .._parameters.notifications import (
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
from .._walk.walk import Walk
from .collection import Collection, WalkStart

T = TypeVar("T")

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


class _PushProviderEndpoints(NamedTuple, Generic[T]):
    list: Endpoint[PushProviders]
    add: Endpoint[T]
    update: Endpoint[Ack]
    delete: Endpoint[Ack]
    set_default: Endpoint[Ack]


def _push_provider_endpoints(name: str, body: type[Body], add_reply: Reader[T]) -> _PushProviderEndpoints[T]:
    path = f"/notifications/push/v1/providers/{name}"
    prefix, default = "notifications.", f"{path}/default/{{providerId}}"
    return _PushProviderEndpoints(
        Endpoint(f"{prefix}list_{name}_providers", "GET", path, one(PushProviders)),
        Endpoint(f"{prefix}add_{name}_provider", "POST", path, add_reply, "never", body=body),
        Endpoint(f"{prefix}update_{name}_provider", "PUT", path, ACK, "idempotent", body=body),
        Endpoint(f"{prefix}delete_{name}_provider", "DELETE", f"{path}/{{providerId}}", ACK, "idempotent"),
        Endpoint(f"{prefix}set_default_{name}_provider", "PUT", default, ACK, "idempotent"),
    )


FCM: Final = _push_provider_endpoints("fcm", FcmProvider, ACK)
APNS: Final = _push_provider_endpoints("apns", ApnsProvider, one(PushProviders))

_TOKENS: Final = "/notifications/push/v1/tokens"
_LOG_PAGING: Final = Paging(size="", renames=(("messageId", "logId"),))
"""The log has positions in `messageId`, and takes them as `logId`."""

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
    query=NotificationLogQuery, paging=_LOG_PAGING,
)  # fmt: skip


class _ProviderEndpoints(NamedTuple, Generic[T]):
    get: Endpoint[T]
    create: Endpoint[T]
    update: Endpoint[T]
    delete: Endpoint[Ack]


def _provider_endpoints(
    name: str, path: str, record: type[T], new: type[Body], changes: type[Body], get: str = "get_{}"
) -> _ProviderEndpoints[T]:
    prefix, path = "notifications.", f"/notifications/{path}"
    return _ProviderEndpoints(
        Endpoint(f"{prefix}{get.format(name)}", "GET", path, one(record)),
        Endpoint(f"{prefix}create_{name}", "POST", path, one(record), "never", body=new),
        Endpoint(f"{prefix}update_{name}", "PUT", path, one(record), "idempotent", body=changes),
        Endpoint(f"{prefix}delete_{name}", "DELETE", path, ACK, "idempotent"),
    )


TWILIO: Final = _provider_endpoints(
    "twilio_provider", "sms/v1/providers/twilio", TwilioProvider, NewTwilioProvider, TwilioProviderChanges
)
SENDGRID: Final = _provider_endpoints(
    "sendgrid_provider", "email/v1/providers/sendgrid",
    SendgridProvider, NewSendgridProvider, SendgridProviderChanges,
)  # fmt: skip
CUSTOM_PUSH: Final = _provider_endpoints(
    "custom_push_provider", "push/v1/providers/custom",
    CustomPushProviders, NewCustomPushProvider, CustomPushProviderChanges, "list_{}s",
)  # fmt: skip
CUSTOM_SMS: Final = _provider_endpoints(
    "custom_sms_provider", "sms/v1/providers/custom",
    CustomProvider, NewCustomSmsProvider, CustomSmsProviderChanges,
)  # fmt: skip
CUSTOM_EMAIL: Final = _provider_endpoints(
    "custom_email_provider", "email/v1/providers/custom",
    CustomProvider, NewCustomEmailProvider, CustomEmailProviderChanges,
)  # fmt: skip


@final
class Notifications(Collection):
    """Settings, preferences, providers, push tokens and the log: `session.notifications`.

    Contact details are the acting user's: `RequestInvalidError` without one.
    """

    # ── settings and preferences ──

    async def get_settings(self) -> NotificationSettings:
        """The notification settings of the app."""
        return await self._call(GET_SETTINGS)

    async def update_settings(self, changes: SettingsChanges) -> Ack:
        """Change any part of the notification settings of the app."""
        return await self._call(UPDATE_SETTINGS, changes)

    async def reset_settings(self) -> Ack:
        """Reset the notification settings of the app to their defaults."""
        return await self._call(RESET_SETTINGS)

    async def get_preferences(self, uid: str) -> NotificationPreferences:
        """The notification preferences of a user."""
        return await self._call(GET_PREFERENCES, query=UserFilter(uid=uid))

    async def update_preferences(self, uid: str, changes: PreferencesChanges) -> NotificationPreferences:
        """Change any part of a user's preferences, and return all, whose names differ from those given."""
        return await self._call(UPDATE_PREFERENCES, changes, query=UserFilter(uid=uid))

    async def reset_preferences(self, uid: str) -> UserNotificationPreferences:
        """Reset a user's preferences to their defaults, and return them as `changes` are written."""
        return await self._call(RESET_PREFERENCES, query=UserFilter(uid=uid))

    async def list_muted(self, uid: str) -> MutedConversations:
        """The conversations that a user has muted. One request."""
        return await self._call(LIST_MUTED, query=UserFilter(uid=uid))

    async def mute(self, uid: str, mute: ConversationsToMute) -> Ack:
        """Mute conversations for a user."""
        return await self._call(MUTE, mute, query=UserFilter(uid=uid))

    async def unmute(self, uid: str, unmute: ConversationsToUnmute) -> Ack:
        """Unmute conversations for a user."""
        return await self._call(UNMUTE, unmute, query=UserFilter(uid=uid))

    async def get_timezone(self, uid: str) -> Timezone:
        """The time zone of a user."""
        return await self._call(GET_TIMEZONE, query=UserFilter(uid=uid))

    async def update_timezone(self, uid: str, timezone: str) -> Timezone:
        """Set the time zone of a user, an IANA name such as Europe/Berlin, and return it."""
        body = TimezoneChanges(timezone=timezone)
        return await self._call(UPDATE_TIMEZONE, body, query=UserFilter(uid=uid))

    async def get_contact_details(self, *, on_behalf_of: str | None = None) -> ContactDetails:
        """The acting user's e-mail address and phone number. Needs an acting user."""
        return await self._call(GET_CONTACT_DETAILS, on_behalf_of=on_behalf_of)

    async def update_contact_details(
        self, changes: ContactDetailsChanges, *, on_behalf_of: str | None = None
    ) -> ContactDetails:
        """Change the acting user's e-mail address or phone number, and return both. Needs an acting user."""
        return await self._call(UPDATE_CONTACT_DETAILS, changes, on_behalf_of=on_behalf_of)

    async def delete_contact_details(self, *, on_behalf_of: str | None = None) -> Ack:
        """Delete the acting user's e-mail address and phone number. Needs an acting user."""
        return await self._call(DELETE_CONTACT_DETAILS, on_behalf_of=on_behalf_of)

    # ── push providers ──

    async def list_fcm_providers(self) -> PushProviders:
        """The FCM providers. One request."""
        return await self._call(FCM.list)

    async def add_fcm_provider(self, provider: FcmProvider) -> Ack:
        """Add an FCM provider. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(FCM.add, provider)

    async def update_fcm_provider(self, provider: FcmProvider) -> Ack:
        """Change the FCM provider whose id is `provider.provider_id`."""
        return await self._call(FCM.update, provider)

    async def delete_fcm_provider(self, provider_id: str) -> Ack:
        """Delete an FCM provider; `NotFoundError` if there is none."""
        return await self._call(FCM.delete, providerId=provider_id)

    async def set_default_fcm_provider(self, provider_id: str) -> Ack:
        """Use an FCM provider for devices without one; `NotFoundError` if there is none."""
        return await self._call(FCM.set_default, providerId=provider_id)

    async def list_apns_providers(self) -> PushProviders:
        """The APNs providers. One request."""
        return await self._call(APNS.list)

    async def add_apns_provider(self, provider: ApnsProvider) -> PushProviders:
        """Add an APNs provider, and return all. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(APNS.add, provider)

    async def update_apns_provider(self, provider: ApnsProvider) -> Ack:
        """Change the APNs provider whose id is `provider.provider_id`."""
        return await self._call(APNS.update, provider)

    async def delete_apns_provider(self, provider_id: str) -> Ack:
        """Delete an APNs provider; `NotFoundError` if there is none."""
        return await self._call(APNS.delete, providerId=provider_id)

    async def set_default_apns_provider(self, provider_id: str) -> Ack:
        """Use an APNs provider for devices without one; `NotFoundError` if there is none."""
        return await self._call(APNS.set_default, providerId=provider_id)

    # ── push tokens and the log ──

    @hides_arguments
    def list_push_tokens(self, auth_token: str, *, all: bool | None = None) -> Awaitable[PushTokens]:
        """The push tokens of a login; with `all=True`, of all logins of its user. One request.

        The auth token is in the request's address: a proxy may log it.
        """
        return self._call(LIST_PUSH_TOKENS, query=PushTokenQuery(all=all, auth_token=auth_token))

    async def register_push_token(self, token: NewPushToken) -> Ack:
        """Register a device's push token for a login. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(REGISTER_PUSH_TOKEN, token)

    @hides_arguments
    def unregister_push_tokens(self, auth_token: str, *, all: bool | None = None) -> Awaitable[PushTokens]:
        """Remove the push tokens of a login, and return them; `all=True`: of all logins of its user."""
        owner, query = PushTokenOwner(auth_token=auth_token), AllPushTokens(all=all)
        return self._call(UNREGISTER_PUSH_TOKENS, owner, query=query)

    @hides_arguments
    def delete_push_token(self, push_token: str, auth_token: str) -> Awaitable[PushTokens]:
        """Remove one push token of a login, and return it; `NotFoundError` if there is none."""
        owner = PushTokenOwner(auth_token=auth_token)
        return self._call(DELETE_PUSH_TOKEN, owner, pushToken=push_token)

    def list_logs(
        self, query: NotificationLogQuery | None = None, *, cursor: WalkStart = None
    ) -> Walk[NotificationLog]:
        """The log of notifications that were sent or held back. One request per page."""
        return self._walk(LIST_LOGS, query, cursor)

    # ── providers of SMS and e-mail ──

    async def get_twilio_provider(self) -> TwilioProvider:
        """The account that sends text messages."""
        return await self._call(TWILIO.get)

    async def create_twilio_provider(self, provider: NewTwilioProvider) -> TwilioProvider:
        """Set the account for texts, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(TWILIO.create, provider)

    async def update_twilio_provider(self, changes: TwilioProviderChanges) -> TwilioProvider:
        """Change any part of the account that sends text messages, and return it."""
        return await self._call(TWILIO.update, changes)

    async def delete_twilio_provider(self) -> Ack:
        """Delete the account that sends text messages."""
        return await self._call(TWILIO.delete)

    async def get_sendgrid_provider(self) -> SendgridProvider:
        """The account that sends e-mails, without its members about replies."""
        return await self._call(SENDGRID.get)

    async def create_sendgrid_provider(self, provider: NewSendgridProvider) -> SendgridProvider:
        """Set the account for e-mails, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(SENDGRID.create, provider)

    async def update_sendgrid_provider(self, changes: SendgridProviderChanges) -> SendgridProvider:
        """Change any part of the account that sends e-mails, and return it."""
        return await self._call(SENDGRID.update, changes)

    async def delete_sendgrid_provider(self) -> Ack:
        """Delete the account that sends e-mails."""
        return await self._call(SENDGRID.delete)

    # ── custom providers ──

    async def list_custom_push_providers(self) -> CustomPushProviders:
        """The webhooks for push notifications. One request."""
        return await self._call(CUSTOM_PUSH.get)

    async def create_custom_push_provider(self, provider: NewCustomPushProvider) -> CustomPushProviders:
        """Set the webhook for push, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(CUSTOM_PUSH.create, provider)

    async def update_custom_push_provider(self, changes: CustomPushProviderChanges) -> CustomPushProviders:
        """Change any part of the webhook for push notifications, and return it."""
        return await self._call(CUSTOM_PUSH.update, changes)

    async def delete_custom_push_provider(self) -> Ack:
        """Delete the webhook for push notifications."""
        return await self._call(CUSTOM_PUSH.delete)

    async def get_custom_sms_provider(self) -> CustomProvider:
        """The webhook for text messages."""
        return await self._call(CUSTOM_SMS.get)

    async def create_custom_sms_provider(self, provider: NewCustomSmsProvider) -> CustomProvider:
        """Set the webhook for texts, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(CUSTOM_SMS.create, provider)

    async def update_custom_sms_provider(self, changes: CustomSmsProviderChanges) -> CustomProvider:
        """Change any part of the webhook for text messages, and return it."""
        return await self._call(CUSTOM_SMS.update, changes)

    async def delete_custom_sms_provider(self) -> Ack:
        """Delete the webhook for text messages."""
        return await self._call(CUSTOM_SMS.delete)

    async def get_custom_email_provider(self) -> CustomProvider:
        """The webhook for e-mails."""
        return await self._call(CUSTOM_EMAIL.get)

    async def create_custom_email_provider(self, provider: NewCustomEmailProvider) -> CustomProvider:
        """Set the webhook for e-mails, and return it. Sent once: `OutcomeUnknownError` if no reply came."""
        return await self._call(CUSTOM_EMAIL.create, provider)

    async def update_custom_email_provider(self, changes: CustomEmailProviderChanges) -> CustomProvider:
        """Change any part of the webhook for e-mails, and return it."""
        return await self._call(CUSTOM_EMAIL.update, changes)

    async def delete_custom_email_provider(self) -> Ack:
        """Delete the webhook for e-mails."""
        return await self._call(CUSTOM_EMAIL.delete)
