"""Entities of messages, which are users, groups and calls; and the log of calls."""

from typing import Generic, TypeVar

from msgspec import UNSET, field

from .record import NO_TEXT, Json, Maybe, Record

E = TypeVar("E")


class EntityWrapper(Record, Generic[E]):
    """An entity wrapper: `entity`, and its `entity_type` such as user or call."""

    entity: E
    entity_type: str = NO_TEXT


class Entity(Record):
    """A user or a group inside a message: a user has `uid`, a group has `guid`."""

    # In the order in which the service writes them, as msgspec decodes that order fastest: 3 % of a page.

    uid: Maybe[str] = UNSET
    name: Maybe[str] = UNSET
    role: Maybe[str] = UNSET
    status: Maybe[str] = UNSET
    avatar: Maybe[str] = UNSET
    conversation_id: Maybe[str] = UNSET
    link: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET
    updated_by: Maybe[str] = UNSET
    last_active_at: Maybe[int] = UNSET
    guid: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    owner: Maybe[str] = UNSET
    members_count: Maybe[int] = UNSET
    icon: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    scope: Maybe[str] = UNSET
    tags: Maybe[tuple[str, ...]] = UNSET
    metadata: Maybe[Json] = UNSET
    has_joined: Maybe[bool] = UNSET
    status_message: Maybe[str] = UNSET


class Parties(Record):
    """The sender and the receiver of a message or a call: `data.entities`."""

    sender: Maybe[EntityWrapper[Entity]] = UNSET
    receiver: Maybe[EntityWrapper[Entity]] = UNSET


class WsChannel(Record):
    """The call's socket channel. `secret` is a credential: the attribute shows it, the repr does not."""

    identity: Maybe[str] = UNSET
    service: Maybe[str] = UNSET
    secret: Maybe[str] = UNSET


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
