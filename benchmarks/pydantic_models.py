"""Hand-written pydantic models with the same fields as chatrest's."""

from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

E = TypeVar("E")
Json: TypeAlias = dict[str, Any]


class Model(BaseModel):
    """Names as on the wire."""

    model_config = ConfigDict(alias_generator=to_camel)


class EntityWrapper(Model, Generic[E]):
    """An entity and its type."""

    entity: E
    entity_type: str = ""


class Entity(Model):
    """A user or a group."""

    uid: str | None = None
    name: str | None = None
    role: str | None = None
    avatar: str | None = None
    status: str | None = None
    conversation_id: str | None = None
    link: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    last_active_at: int | None = None
    guid: str | None = None
    type: str | None = None
    owner: str | None = None
    members_count: int | None = None
    icon: str | None = None
    description: str | None = None
    scope: str | None = None
    tags: list[str] | None = None
    metadata: Json | None = None


class Parties(Model):
    """The sender and the receiver."""

    sender: EntityWrapper[Entity] | None = None
    receiver: EntityWrapper[Entity] | None = None


class Attachment(Model):
    """A file."""

    url: str
    name: str | None = None
    mime_type: str | None = None
    extension: str | None = None
    size: int | None = None


class ReactionCount(Model):
    """The number of reactions of one kind."""

    reaction: str
    count: int
    reacted_by_me: bool | None = None


class Content(Model):
    """`data` of a text or media message."""

    text: str = ""
    attachments: list[Attachment] | None = None
    url: str | None = None
    resource: str | None = None
    metadata: Json | None = None
    entities: Parties | None = None
    reactions: list[ReactionCount] | None = None
    mentions: Json | None = None
    moderation: Json | None = None


class CustomContent(Model):
    """`data` of a custom message."""

    custom_data: Any = None
    text: str | None = None
    resource: str | None = None
    metadata: Json | None = None
    entities: Parties | None = None
    reactions: list[ReactionCount] | None = None


class ActionEntities(Model):
    """The entities of an action."""

    by: EntityWrapper[Entity] | None = None
    on: EntityWrapper[Json] | None = None
    for_: EntityWrapper[Entity] | None = Field(default=None, alias="for")


class ActionContent(Model):
    """`data` of an action."""

    action: str
    entities: ActionEntities | None = None
    metadata: Json | None = None
    resource: str | None = None


class WsChannel(Model):
    """A call's channel."""

    identity: str | None = None
    service: str | None = None
    secret: str | None = None


class CallData(Model):
    """A call's own data."""

    entities: Parties | None = None
    metadata: Json | None = None


class CallEntity(Model):
    """A call."""

    session_id: str = Field(alias="sessionid")
    type: str
    status: str
    sender: str
    receiver: str
    receiver_type: str
    conversation_id: str | None = None
    initiated_at: int | None = None
    joined_at: int | None = None
    started_at: int | None = None
    ws_channel: WsChannel | None = None
    data: CallData | None = None


class CallEntities(Model):
    """The entities of a call."""

    by: EntityWrapper[Entity]
    on: EntityWrapper[CallEntity]
    for_: EntityWrapper[Entity] = Field(alias="for")


class CallContent(Model):
    """`data` of a call message."""

    action: str
    entities: CallEntities
    metadata: Json | None = None
    resource: str | None = None


class _Message(Model):
    id: str
    conversation_id: str
    sender: str
    receiver_type: str
    receiver: str
    type: str
    data: Any
    sent_at: int
    updated_at: int
    muid: str | None = None
    parent_id: str | None = None
    edited_at: int | None = None
    edited_by: str | None = None
    deleted_at: int | None = None
    deleted_by: str | None = None
    delivered_at: int | None = None
    read_at: int | None = None
    tags: list[str] | None = None
    receipts: Json | None = None
    pinned_at: int | None = None
    pinned_by: str | None = None
    saved_at: int | None = None
    quoted_message: Json | None = None


class ContentMessage(_Message):
    """A text or a media message."""

    category: Literal["message"]
    data: Content


class CustomMessage(_Message):
    """A custom message."""

    category: Literal["custom"]
    data: CustomContent


class ActionMessage(_Message):
    """An action."""

    category: Literal["action"]
    data: ActionContent


class CallMessage(_Message):
    """A call message."""

    category: Literal["call"]
    data: CallContent


Message: TypeAlias = Annotated[
    ContentMessage | CustomMessage | ActionMessage | CallMessage, Field(discriminator="category")
]


class Pagination(BaseModel):
    """The position in a list, as numbers."""

    total: int | None = None
    count: int | None = None
    per_page: int | None = None
    current_page: int | None = None
    total_pages: int | None = None


class Position(BaseModel):
    """The position of the next page."""

    id: int | str | None = None
    affix: str | None = None


class Meta(BaseModel):
    """`meta` of a page."""

    pagination: Pagination | None = None
    cursor: Position | None = None


class Page(BaseModel):
    """A page."""

    data: list[Message]
    meta: Meta
