"""The accounts of the providers that deliver notifications.

A creation needs what the documents mark as required; an update changes what it holds. No repr and no error
shows a key, a token or a password of them.
"""

from typing import final

from msgspec import UNSET, UnsetType, field

from .checked import Body, Flag, Json, Text
from .limits import AnyText


@final
class FcmProvider(Body, frozen=True, kw_only=True, rename="camel"):
    """A provider for Android, iOS and the web, by its id.

    `service_account_creds` has `project_id`, `client_email`, `private_key` and `private_key_id`;
    `notification_in_payload` has `ios`, `android` and `web`, each `{"chat": true, "call": true}`.
    """

    provider_id: Text | UnsetType = UNSET
    service_account_filename: Text | UnsetType = UNSET
    service_account_creds: Json | UnsetType = UNSET
    notification_in_payload: Json | UnsetType = UNSET


@final
class ApnsProvider(Body, frozen=True, kw_only=True, rename="camel"):
    """A provider for Apple's devices, by its id; `p8_key` is the text of the key's file."""

    provider_id: Text | UnsetType = UNSET
    key_id: Text | UnsetType = UNSET
    team_id: Text | UnsetType = UNSET
    bundle_id: Text | UnsetType = UNSET
    p8_key_filename: Text | UnsetType = UNSET
    p8_key: Text | UnsetType = UNSET
    include_content_available: Flag | UnsetType = UNSET
    include_mutable_content: Flag | UnsetType = UNSET
    production_mode: Flag | UnsetType = UNSET


@final
class NewTwilioProvider(Body, frozen=True, kw_only=True, rename="camel"):
    """The account that sends text messages."""

    twilio_account_sid: Text = field(name="twilioAccountSID")
    twilio_auth_token: Text
    twilio_sender_phone_number: Text
    is_enabled: Flag | UnsetType = UNSET


@final
class TwilioProviderChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """Any part of the account that sends text messages."""

    twilio_account_sid: Text | UnsetType = field(default=UNSET, name="twilioAccountSID")
    twilio_auth_token: Text | UnsetType = UNSET
    twilio_sender_phone_number: Text | UnsetType = UNSET
    is_enabled: Flag | UnsetType = UNSET


@final
class NewSendgridProvider(Body, frozen=True, kw_only=True, rename="camel"):
    """The account that sends e-mails; `sender_email_for_replies` may be None, which is sent as null."""

    send_grid_api_key: Text
    send_grid_template_id: Text = field(name="sendGridTemplateID")
    send_grid_unsubscribe_group_id: Text = field(name="sendGridUnsubscribeGroupID")
    sender_name: Text
    sender_email: Text
    allow_email_replies: Flag = False
    sender_email_for_replies: Text | UnsetType | None = UNSET
    is_enabled: Flag | UnsetType = UNSET


@final
class SendgridProviderChanges(Body, frozen=True, kw_only=True, rename="camel"):
    """Any part of the account that sends e-mails."""

    send_grid_api_key: Text | UnsetType = UNSET
    send_grid_template_id: Text | UnsetType = field(default=UNSET, name="sendGridTemplateID")
    send_grid_unsubscribe_group_id: Text | UnsetType = field(default=UNSET, name="sendGridUnsubscribeGroupID")
    sender_name: Text | UnsetType = UNSET
    sender_email: Text | UnsetType = UNSET
    allow_email_replies: Flag | UnsetType = UNSET
    sender_email_for_replies: Text | UnsetType | None = UNSET
    is_enabled: Flag | UnsetType = UNSET


class _NewCustomProvider(Body, frozen=True, kw_only=True, rename="camel"):
    is_enabled: Flag
    webhook_url: Text = field(name="webhookURL")
    use_basic_auth: Flag
    basic_auth_username: AnyText
    basic_auth_password: AnyText


class _CustomProviderChanges(Body, frozen=True, kw_only=True, rename="camel"):
    is_enabled: Flag | UnsetType = UNSET
    webhook_url: Text | UnsetType = field(default=UNSET, name="webhookURL")
    use_basic_auth: Flag | UnsetType = UNSET
    basic_auth_username: Text | UnsetType = UNSET
    basic_auth_password: Text | UnsetType = UNSET


@final
class NewCustomPushProvider(_NewCustomProvider, frozen=True, kw_only=True, rename="camel"):
    """A webhook of one's own for push notifications."""


@final
class CustomPushProviderChanges(_CustomProviderChanges, frozen=True, kw_only=True, rename="camel"):
    """Any part of the webhook for push notifications."""


@final
class NewCustomSmsProvider(_NewCustomProvider, frozen=True, kw_only=True, rename="camel"):
    """A webhook of one's own for text messages; `use_stored_ph_no`: to the numbers in contact details."""

    use_stored_ph_no: Flag = False


@final
class CustomSmsProviderChanges(_CustomProviderChanges, frozen=True, kw_only=True, rename="camel"):
    """Any part of the webhook for text messages."""

    use_stored_ph_no: Flag | UnsetType = UNSET


@final
class NewCustomEmailProvider(_NewCustomProvider, frozen=True, kw_only=True, rename="camel"):
    """A webhook of one's own for e-mails; `use_stored_email_id`: to the addresses in contact details."""

    use_stored_email_id: Flag = field(name="useStoredEmailID")


@final
class CustomEmailProviderChanges(_CustomProviderChanges, frozen=True, kw_only=True, rename="camel"):
    """Any part of the webhook for e-mails."""

    use_stored_email_id: Flag | UnsetType = field(default=UNSET, name="useStoredEmailID")
