"""Hand-written msgspec models with the same fields as chatrest's, a class for each category of messages."""

from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct, field

E = TypeVar("E")
M = TypeVar("M")
Json: TypeAlias = dict[str, Any]


class EntityWrapper(Struct, Generic[E], rename="camel", gc=False):
    entity: E
    entity_type: str = ""


class Entity(Struct, rename="camel", gc=False):
    uid: str | None = None
    name: str | None = None
    role: str | None = None
    status: str | None = None
    avatar: str | None = None
    conversation_id: str | None = None
    link: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    updated_by: str | None = None
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
    has_joined: bool | None = None
    status_message: str | None = None


class Parties(Struct, gc=False):
    sender: EntityWrapper[Entity] | None = None
    receiver: EntityWrapper[Entity] | None = None


class Attachment(Struct, rename="camel", gc=False):
    url: str
    name: str | None = None
    mime_type: str | None = None
    extension: str | None = None
    size: int | None = None


class ReactionCount(Struct, rename="camel", gc=False):
    reaction: str
    count: int
    reacted_by_me: bool | None = None


class Content(Struct, rename="camel", gc=False):
    text: str = ""
    attachments: list[Attachment] | None = None
    url: str | None = None
    resource: str | None = None
    metadata: Json | None = None
    entities: Parties | None = None
    reactions: list[ReactionCount] | None = None
    mentions: Json | None = None
    moderation: Json | None = None
    caption: str | None = None


class CustomContent(Struct, rename="camel", gc=False):
    custom_data: Any = None
    text: str | None = None
    resource: str | None = None
    metadata: Json | None = None
    entities: Parties | None = None
    reactions: list[ReactionCount] | None = None


class ActionEntities(Struct, gc=False):
    by: EntityWrapper[Entity] | None = None
    on: EntityWrapper[Json] | None = None
    for_: EntityWrapper[Entity] | None = field(default=None, name="for")


class ActionContent(Struct, rename="camel", gc=False):
    action: str
    entities: ActionEntities | None = None
    metadata: Json | None = None
    resource: str | None = None


class WsChannel(Struct, gc=False):
    identity: str | None = None
    service: str | None = None
    secret: str | None = None


class CallData(Struct, gc=False):
    entities: Parties | None = None
    metadata: Json | None = None


class CallEntity(Struct, rename="camel", gc=False):
    session_id: str = field(name="sessionid")
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


class CallEntities(Struct, gc=False):
    by: EntityWrapper[Entity]
    on: EntityWrapper[CallEntity]
    for_: EntityWrapper[Entity] = field(name="for")


class CallContent(Struct, rename="camel", gc=False):
    action: str
    entities: CallEntities
    metadata: Json | None = None
    resource: str | None = None


class _Message(Struct, rename="camel", gc=False):
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
    app_id: str | None = None
    flagged_by: Json | None = None
    flagged_count: int | None = None
    last_reply: Json | None = None
    metadata: Json | None = None
    reply_count: int | None = None
    resource: str | None = None
    thread_subscribed: bool | None = None


class ContentMessage(_Message, tag_field="category", tag="message", gc=False):
    data: Content


class CustomMessage(_Message, tag_field="category", tag="custom", gc=False):
    data: CustomContent


class ActionMessage(_Message, tag_field="category", tag="action", gc=False):
    data: ActionContent


class CallMessage(_Message, tag_field="category", tag="call", gc=False):
    data: CallContent


TaggedMessage: TypeAlias = ContentMessage | CustomMessage | ActionMessage | CallMessage


class OneMessage(Struct, gc=False):
    data: TaggedMessage


class User(Struct, rename="camel", gc=False):
    uid: str
    name: str | None = None
    status: str | None = None
    role: str | None = None
    created_at: int | None = None
    avatar: str | None = None
    link: str | None = None
    status_message: str | None = None
    metadata: Json | None = None
    tags: list[str] | None = None
    updated_at: int | None = None
    last_active_at: int | None = None
    deactivated_at: int | None = None
    conversation_id: str | None = None
    auth_token: str | None = None
    blocked_by_me: bool | None = None
    blocked_by_me_at: int | None = None
    blocked_at: int | None = None
    has_blocked_me: bool | None = None


class OneUser(Struct, gc=False):
    data: User


class Pagination(Struct, gc=False):
    total: int | None = None
    count: int | None = None
    per_page: int | None = None
    current_page: int | None = None
    total_pages: int | None = None


class Position(Struct, gc=False):
    id: int | str | None = None
    affix: str | None = None


class Meta(Struct, gc=False):
    pagination: Pagination | None = None
    cursor: Position | None = None


class Page(Struct, Generic[M], gc=False):
    data: list[M]
    meta: Meta


TaggedPage: TypeAlias = Page[TaggedMessage]
