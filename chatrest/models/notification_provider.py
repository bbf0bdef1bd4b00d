"""The providers that deliver notifications.

Their keys, tokens and passwords are credentials: the attributes show them, a repr does not.
"""

from typing import final

from msgspec import UNSET, field

from .record import Json, Maybe, Record


@final
class PushProviders(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Push providers as JSON: the documents show no members of them."""

    push_providers: Maybe[tuple[Json, ...]] = UNSET


@final
class TwilioProvider(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The account that sends text messages."""

    twilio_account_sid: Maybe[str] = field(default=UNSET, name="twilioAccountSID")
    twilio_auth_token: Maybe[str] = UNSET
    twilio_sender_phone_number: Maybe[str] = UNSET


@final
class SendgridProvider(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The account that sends e-mails. `get_sendgrid_provider` answers without the members about replies."""

    send_grid_api_key: Maybe[str] = UNSET
    send_grid_template_id: Maybe[str] = field(default=UNSET, name="sendGridTemplateID")
    send_grid_unsubscribe_group_id: Maybe[str] = field(default=UNSET, name="sendGridUnsubscribeGroupID")
    sender_email: Maybe[str] = UNSET
    sender_name: Maybe[str] = UNSET
    allow_email_replies: Maybe[bool] = UNSET
    sender_email_for_replies: Maybe[str] = UNSET
    replies_webhook: Maybe[str] = UNSET


@final
class CustomProvider(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A provider of one's own: notifications are posted to `webhook_url`.

    `use_stored_ph_no` is of providers of text messages, `use_stored_email_id` of those of e-mails.
    """

    is_enabled: Maybe[bool] = UNSET
    webhook_url: Maybe[str] = field(default=UNSET, name="webhookURL")
    use_basic_auth: Maybe[bool] = UNSET
    basic_auth_username: Maybe[str] = UNSET
    basic_auth_password: Maybe[str] = UNSET
    use_stored_ph_no: Maybe[bool] = UNSET
    use_stored_email_id: Maybe[bool] = field(default=UNSET, name="useStoredEmailID")


@final
class CustomPushProviders(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The custom providers of push notifications."""

    push_providers: Maybe[tuple[CustomProvider, ...]] = UNSET
