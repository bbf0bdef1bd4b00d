"""The contents of messages: `data` by category (only that of calls is documented)."""

from typing import TYPE_CHECKING, Any, TypeAlias, final

from msgspec import UNSET, field

from .entity import Entity, EntityWrapper, Parties
from .record import Count, Json, Maybe, OfCount, Record
from .views import ABSENT, Filled, texts


@final
class Attachment(Record, OfCount, frozen=True, gc=False, rename="camel"):
    """A file of a media message. `size` is in bytes."""

    url: str
    name: Maybe[str] = UNSET
    mime_type: Maybe[str] = UNSET
    extension: Maybe[str] = UNSET
    size: Maybe[Count] = UNSET


if TYPE_CHECKING:
    _Attachment: TypeAlias = Attachment
else:
    _Attachment = Attachment[Count]


@final
class ReactionCount(Record, frozen=True, gc=False, rename="camel"):
    """The number of users who reacted to a message in one way."""

    reaction: str
    count: int
    reacted_by_me: Maybe[bool] = UNSET


@final
@texts("text")
class Content(Record, OfCount, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """`data` of a text or media message: the text or caption ("" for none), and attachments."""

    text: Filled = ABSENT
    attachments: Maybe[tuple[_Attachment, ...]] = UNSET
    url: Maybe[str] = UNSET
    resource: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    entities: Maybe[Parties] = UNSET
    reactions: Maybe[tuple[ReactionCount, ...]] = UNSET
    mentions: Maybe[Json] = UNSET
    moderation: Maybe[Json] = UNSET
    caption: Maybe[str] = UNSET


@final
class CustomContent(Record, frozen=True, gc=False, rename="camel"):
    """`data` of a custom message: `custom_data` is any JSON that the app wrote."""

    custom_data: Any = UNSET
    text: Maybe[str] = UNSET
    resource: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    entities: Maybe[Parties] = UNSET
    reactions: Maybe[tuple[ReactionCount, ...]] = UNSET


@final
class Goal(Record, frozen=True, gc=False, rename="camel"):
    """The interactions that complete an interactive message.

    `type` is any text: anyAction, anyOf, allOf, oneOf and none are known.
    """

    type: str
    element_ids: Maybe[tuple[str, ...]] = UNSET


@final
class InteractiveContent(Record, frozen=True, gc=False, rename="camel"):
    """`data` of an interactive message: the shape of `interactive_data` depends on the message's type."""

    interactive_data: Maybe[Json] = UNSET
    interaction_goal: Maybe[Goal] = UNSET
    allow_sender_interaction: Maybe[bool] = UNSET
    entities: Maybe[Parties] = UNSET
    text: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    resource: Maybe[str] = UNSET
    reactions: Maybe[tuple[ReactionCount, ...]] = UNSET


@final
class ActionEntities(Record, frozen=True, gc=False, rename="camel"):
    """The parties of an action: `by`, `on` and `for_`.

    `on` is a message (edited, deleted) or a user, so it is not typed but JSON.
    """

    by: Maybe[EntityWrapper[Entity]] = UNSET
    on: Maybe[EntityWrapper[Json]] = UNSET
    for_: Maybe[EntityWrapper[Entity]] = field(default=UNSET, name="for")


@final
class ActionContent(Record, frozen=True, gc=False, rename="camel"):
    """`data` of an action message. `action` is any text, such as edited, deleted, added, joined or kicked."""

    action: str
    entities: Maybe[ActionEntities] = UNSET
    metadata: Maybe[Json] = UNSET
    resource: Maybe[str] = UNSET
