"""Notifications: the settings of an app, and the preferences, time zone and addresses of a user."""

from typing import Final

from ...core.replies.decode import ACK, Ack, one
from ...core.requests.endpoint import Endpoint
from ...models.notification import (
    ContactDetails,
    MutedConversations,
    NotificationPreferences,
    NotificationSettings,
    Timezone,
    UserNotificationPreferences,
)
from ...queries.notifications import (
    ContactDetailsChanges,
    ConversationsToMute,
    ConversationsToUnmute,
    PreferencesChanges,
    SettingsChanges,
    TimezoneChanges,
    UserFilter,
)
from ..collection import Collection

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


class NotificationSettingsOperations(Collection):
    """The operations of settings and preferences."""

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
