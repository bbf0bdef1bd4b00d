"""Notifications by push, e-mail and text message."""

from typing import final

from .channel_providers import ChannelProviders
from .custom_providers import CustomProviders
from .notification_settings import NotificationSettingsOperations
from .push_providers import PushProviderOperations
from .push_tokens import PushTokenOperations


@final
class Notifications(
    NotificationSettingsOperations,
    PushProviderOperations,
    PushTokenOperations,
    ChannelProviders,
    CustomProviders,
):
    """Settings, preferences, providers, push tokens and the log: `session.notifications`."""
