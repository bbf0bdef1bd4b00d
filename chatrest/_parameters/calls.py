"""The filters of the calls interface.

A file of its own, as the noun has one in `models` and `resources`, too.
"""

from typing import Literal, TypeAlias

from .checked import Filter, Flag, Ordinal, Size, Stamp, Uid
from .fields import Count, ReceiverType

CallType: TypeAlias = Literal["audio", "video"]
CallMode: TypeAlias = Literal["call", "meet", "presenter"]
CallStatus: TypeAlias = Literal["initiated", "ongoing", "ended", "unanswered", "rejected", "canceled"]


class CallQuery(Filter):
    """The filter of GET /calls; `participants_count` is exact, `uid` a user who takes part; a walk starts at
    `page`.

    Timestamps are in the service's unit (`chatrest guide service`, "Filters and times").
    """

    type: CallType | None = None
    mode: CallMode | None = None
    status: CallStatus | None = None
    participants_count: Count | None = None
    started_at: Stamp | None = None
    ended_at: Stamp | None = None
    receiver_type: ReceiverType | None = None
    has_recording: Flag | None = None
    has_transcription: Flag | None = None
    uid: Uid | None = None
    per_page: Size | None = None
    page: Ordinal | None = None


class TranscriptionQuery(Filter):
    """The filter of GET /calls/{sessionId}/transcriptions; a walk starts at `page`."""

    per_page: Size | None = None
    page: Ordinal | None = None
