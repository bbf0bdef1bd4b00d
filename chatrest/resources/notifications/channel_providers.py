"""Notifications: the accounts that send text messages and e-mails, one of each."""

from typing import Final

from ...core.replies.decode import ACK, Ack, one
from ...core.requests.endpoint import Endpoint
from ...models.notification_provider import SendgridProvider, TwilioProvider
from ...queries.notification_providers import (
    NewSendgridProvider,
    NewTwilioProvider,
    SendgridProviderChanges,
    TwilioProviderChanges,
)
from ..collection import Collection

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


class ChannelProviders(Collection):
    """The operations of the accounts for text messages and e-mails."""

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
