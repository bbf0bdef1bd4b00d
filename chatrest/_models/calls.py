"""Calls: as the content of call messages, and in the history of calls."""

from msgspec import UNSET, field

from .record import NO_TEXT, Json, Maybe, Record
from .users import Entity, EntityWrapper, Parties, WsChannel


class CallData(Record):
    """`data` of a call: its two parties, and `metadata` as written by the app's clients."""

    entities: Maybe[Parties] = UNSET
    metadata: Maybe[Json] = UNSET


class CallEntity(Record):
    """A call: `status` is any text, such as initiated; `started_at` is set once it is ongoing."""

    session_id: str = field(default=NO_TEXT, name="sessionid")
    type: str = NO_TEXT
    status: str = NO_TEXT
    sender: str = NO_TEXT
    receiver: str = NO_TEXT
    receiver_type: str = NO_TEXT
    conversation_id: Maybe[str] = UNSET
    initiated_at: Maybe[int] = UNSET
    joined_at: Maybe[int] = UNSET
    started_at: Maybe[int] = UNSET
    ws_channel: Maybe[WsChannel] = UNSET
    data: Maybe[CallData] = UNSET

    @property
    def sessionid(self) -> str:
        """`session_id` under its name in JSON."""
        return self.session_id


class CallEntities(Record):
    """The entities of a call message: `by` acted, `on` is the call, `for_` is the other party."""

    by: EntityWrapper[Entity]
    on: EntityWrapper[CallEntity]
    for_: EntityWrapper[Entity] = field(name="for")


class CallContent(Record, kw_only=True):
    """`data` of a call message. `action` is any text: `initiated` and `ongoing` are known."""

    action: str = NO_TEXT
    entities: CallEntities
    metadata: Maybe[Json] = UNSET
    resource: Maybe[str] = UNSET


class CallParticipant(Record):
    """The part of one user in a call; durations are in minutes."""

    uid: str = NO_TEXT
    is_joined: Maybe[bool] = UNSET
    state: Maybe[str] = UNSET
    total_audio_minutes: Maybe[float] = UNSET
    total_video_minutes: Maybe[float] = UNSET
    total_duration: Maybe[float] = UNSET
    total_duration_in_minutes: Maybe[float] = UNSET
    device_id: Maybe[str] = UNSET
    joined_at: Maybe[int] = UNSET
    left_at: Maybe[int] = UNSET
    mid: Maybe[str] = UNSET


class Recording(Record):
    """A recording of a call; `recording_url` has this name in JSON too."""

    rid: str = NO_TEXT
    duration: Maybe[float] = UNSET
    start_time: Maybe[int] = UNSET
    end_time: Maybe[int] = UNSET
    recording_url: Maybe[str] = field(default=UNSET, name="recording_url")


class Transcription(Record):
    """A transcription of a call; `transcript_date` is in ISO 8601 with milliseconds."""

    tid: str
    room_name: Maybe[str] = UNSET
    start_time: Maybe[int] = UNSET
    end_time: Maybe[int] = UNSET
    transcript_date: Maybe[str] = UNSET
    transcript_url: Maybe[str] = UNSET
    mid: Maybe[str] = UNSET


class CallRecord(Record):
    """A call or a meeting in the history; `total_duration` is HH:MM:SS, `transcriptions` the newest five."""

    session_id: str
    type: Maybe[str] = UNSET
    mode: Maybe[str] = UNSET
    status: Maybe[str] = UNSET
    initiator: Maybe[str] = UNSET
    receiver: Maybe[str] = UNSET
    receiver_type: Maybe[str] = UNSET
    initiated_at: Maybe[int] = UNSET
    started_at: Maybe[int] = UNSET
    ended_at: Maybe[int] = UNSET
    total_participants: Maybe[int] = UNSET
    total_audio_minutes: Maybe[float] = UNSET
    total_video_minutes: Maybe[float] = UNSET
    total_duration: Maybe[str] = UNSET
    total_duration_in_minutes: Maybe[float] = UNSET
    has_recording: Maybe[bool] = UNSET
    has_transcription: Maybe[bool] = UNSET
    mid: Maybe[str] = UNSET
    participants: Maybe[tuple[CallParticipant, ...]] = UNSET
    recordings: Maybe[tuple[Recording, ...]] = UNSET
    transcriptions: Maybe[tuple[Transcription, ...]] = UNSET
    meta_data: Maybe[Json] = UNSET
    tags: Maybe[tuple[str, ...]] = UNSET
