"""Webhooks of an app, and the triggers that send to them.

A separate file, as the noun has one in `parameters` and `resources`, too.
"""

from msgspec import UNSET, field

from .record import Maybe, Record
from .views import ABSENT, Filled, texts


@texts("name")
class Webhook(Record):
    """An address that events are sent to. `password` is a credential: the repr does not show it."""

    id: str
    name: Filled = ABSENT
    webhook_url: Maybe[str] = field(default=UNSET, name="webhookURL")
    use_basic_auth: Maybe[bool] = UNSET
    username: Maybe[str] = UNSET
    password: Maybe[str] = UNSET
    enabled: Maybe[bool] = UNSET
    retry_on_failure: Maybe[bool] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class Trigger(Record):
    """A kind of event that a webhook is sent, such as `message_sent`."""

    id: str
    description: Maybe[str] = UNSET
    category: Maybe[str] = UNSET
