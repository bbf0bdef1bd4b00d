"""Notifications: webhooks of one's own that deliver them, one a channel."""

from typing import Final

from ...core.replies.decode import ACK, Ack, one
from ...core.requests.endpoint import Endpoint
from ...models.notification_provider import CustomProvider, CustomPushProviders
from ...queries.notification_providers import (
    CustomEmailProviderChanges,
    CustomPushProviderChanges,
    CustomSmsProviderChanges,
    NewCustomEmailProvider,
    NewCustomPushProvider,
    NewCustomSmsProvider,
)
from ..collection import Collection

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


class CustomProviders(Collection):
    """The operations of webhooks that deliver notifications."""

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
