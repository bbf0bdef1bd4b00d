"""The filters of the calls interface.

A separate file, as the noun has one in `models` and `resources`, too.
"""

from typing import Literal, TypeAlias

from .checked import Flag, PageQuery, Stamp, Uid
from .fields import Count, ReceiverType

CallType: TypeAlias = Literal["audio", "video"]
CallMode: TypeAlias = Literal["call", "meet", "presenter"]
CallStatus: TypeAlias = Literal["initiated", "ongoing", "ended", "unanswered", "rejected", "canceled"]


class CallQuery(PageQuery):
    """The filter of GET /calls; a walk starts at `page`.

    Timestamps are in the service's unit (`chatrest guide service`, "Filters and times").
    """

    type: CallType | None = None
    mode: CallMode | None = None
    status: CallStatus | None = None
    participants_count: Count | None = None
    """Only calls with exactly so many participants."""
    started_at: Stamp | None = None
    """Only calls that started at this time."""
    ended_at: Stamp | None = None
    """Only calls that ended at this time."""
    receiver_type: ReceiverType | None = None
    """Whether the receiver is a user or a group."""
    has_recording: Flag | None = None
    has_transcription: Flag | None = None
    uid: Uid | None = None
    """Only calls in which this user takes part."""


class TranscriptionQuery(PageQuery):
    """The filter of GET /calls/{sessionId}/transcriptions; a walk starts at `page`."""
