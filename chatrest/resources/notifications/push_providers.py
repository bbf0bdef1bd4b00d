"""Notifications: the providers of push notifications, FCM and APNs, several of each by their ids."""

from typing import Final

from ...core.replies.decode import ACK, Ack, one
from ...core.requests.endpoint import Endpoint
from ...models.notification_provider import PushProviders
from ...queries.notification_providers import ApnsProvider, FcmProvider
from ..collection import Collection

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


class PushProviderOperations(Collection):
    """The operations of FCM and APNs providers."""

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
