"""Apps of an account: their API keys, usage figures, and webhooks with their triggers."""

from msgspec import UNSET, field

from .record import NO_TEXT, Json, Maybe, Record, digest


class AppInfo(Record):
    """An application. `api_keys` holds credentials: the attribute shows them, the repr does not."""

    id: str
    name: str = NO_TEXT
    region: Maybe[str] = UNSET
    plan: Maybe[str] = UNSET
    state: Maybe[str] = UNSET
    owner: Maybe[int | str] = UNSET
    created_at: Maybe[int] = UNSET
    trial_ends_at: Maybe[int] = UNSET
    app_owner: Maybe[Json] = UNSET
    app_region: Maybe[Json] = UNSET
    api_keys: Maybe[Json] = UNSET
    access_key: Maybe[Json | str] = UNSET


class ApiKey(Record):
    """A key of the app, which no repr shows. `scope` is any text: authOnly and fullAccess are known."""

    api_key: str
    name: str = NO_TEXT
    scope: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET

    @property
    def identity(self) -> str:
        """The digest of the key, which represents it in a cursor."""
        return digest(self.api_key)


class UsageFigures(Record, rename={}):
    """The usage of an app: minutes of calls, and numbers of users."""

    audio_minutes: Maybe[int] = UNSET
    video_minutes: Maybe[int] = UNSET
    recorded_minutes: Maybe[int] = UNSET
    active_users: Maybe[int] = UNSET
    concurrent_users: Maybe[int] = UNSET


class TimeRange(Record):
    """A window of time, in epoch milliseconds."""

    from_date: Maybe[int] = UNSET
    to_date: Maybe[int] = UNSET


class UsageMetrics(Record, rename={}):
    """The usage of an app in a window of time."""

    metrics: Maybe[UsageFigures] = UNSET
    time_range: Maybe[TimeRange] = UNSET


class MessageDataPoint(Record):
    """The messages and receipts of one bucket of time; its ends are texts of epoch milliseconds."""

    messages_sent: Maybe[int] = UNSET
    read_receipts: Maybe[int] = UNSET
    delivery_receipts: Maybe[int] = UNSET
    start_time: Maybe[str] = UNSET
    end_time: Maybe[str] = UNSET


class MessageMetrics(Record):
    """The messages and receipts of an app in buckets of five minutes, the oldest first."""

    app_id: str
    start_time: Maybe[str] = UNSET
    end_time: Maybe[str] = UNSET
    data_points: Maybe[tuple[MessageDataPoint, ...]] = UNSET


class Webhook(Record):
    """An address that events are sent to. `password` is a credential: the repr does not show it."""

    id: str
    name: str = NO_TEXT
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
