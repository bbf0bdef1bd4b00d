"""Usage figures: of a window of time, and of the messages of the last hour."""

from typing import ClassVar, final

from msgspec import UNSET

from .record import Maybe, Record


@final
class UsageFigures(Record, rename={}):
    """The usage of an app. Minutes are those of calls; users are counted."""

    audio_minutes: Maybe[int] = UNSET
    video_minutes: Maybe[int] = UNSET
    recorded_minutes: Maybe[int] = UNSET
    active_users: Maybe[int] = UNSET
    concurrent_users: Maybe[int] = UNSET


@final
class TimeRange(Record):
    """A window of time, in epoch milliseconds."""

    from_date: Maybe[int] = UNSET
    to_date: Maybe[int] = UNSET


@final
class UsageMetrics(Record, rename={}):
    """The usage of an app in a window of time."""

    metrics: Maybe[UsageFigures] = UNSET
    time_range: Maybe[TimeRange] = UNSET


@final
class MessageDataPoint(Record):
    """The messages and receipts of one bucket of time; its ends are texts of epoch milliseconds."""

    messages_sent: Maybe[int] = UNSET
    read_receipts: Maybe[int] = UNSET
    delivery_receipts: Maybe[int] = UNSET
    start_time: Maybe[str] = UNSET
    end_time: Maybe[str] = UNSET


@final
class MessageMetrics(Record):
    """The messages and receipts of an app in buckets of five minutes, the oldest first."""

    identified_by: ClassVar[str] = "app_id"

    app_id: str
    start_time: Maybe[str] = UNSET
    end_time: Maybe[str] = UNSET
    data_points: Maybe[tuple[MessageDataPoint, ...]] = UNSET
