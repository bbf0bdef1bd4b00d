"""The filters and bodies of moderation."""

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field, structs

from ..errors import RequestInvalidError
from .checked import (
    Body,
    Bool,
    CheckedStruct,
    Filter,
    Json,
    PageSize,
    Stamp,
    Text,
    TextOrTexts,
    Texts,
    Uid,
    struct_type,
)
from .fields import Integer, ListOf, ReceiverType, StructOrMapping, Tags
from .files import Upload

_FilterOperator: TypeAlias = Annotated[
    Literal[
        "equals",
        "not equals",
        "in",
        "not in",
        "startsWith",
        "notEquals",
        "notIn",
        "endsWith",
        "lessThan",
        "greaterThan",
    ],
    Meta(
        description="'equals', 'not equals', 'in', 'not in' or 'startsWith' for users; 'equals', "
        "'notEquals', 'in', 'notIn', 'startsWith', 'endsWith', 'lessThan' or 'greaterThan' for groups"
    ),
]
FlagStatus: TypeAlias = Literal["approved", "disapproved"]
BlockStatus: TypeAlias = Literal["approved", "rejected"]


class RuleFilter(CheckedStruct):
    """The users or groups that a rule is for, by their uid, role, tags and so on."""

    type: Literal["sender", "receiver"]
    """Whose side is looked at."""
    entity: ReceiverType
    operand: Literal["uid", "guid", "name", "role", "type", "tags", "createdAt"]
    operator: _FilterOperator
    value: Text


class RuleCondition(CheckedStruct):
    """A condition of a rule; `value` is a text, or a list as in the service's examples."""

    id: Integer | UnsetType = UNSET
    """The condition's number."""
    entity: Text | UnsetType = UNSET
    operand: Literal["text", "image", "video", "custom"] | UnsetType = UNSET
    operator: Literal["contains", "equals"] | UnsetType = UNSET
    category: Literal["word", "pattern", "toxicity"] | UnsetType = UNSET
    """What the value holds: words or patterns."""
    is_keyword_reference_present: Bool | UnsetType = UNSET
    """`value` is the id of a keyword list."""
    is_media_present: Bool | UnsetType = UNSET
    """`value` is a formula about media, such as violence_greaterThan_30."""
    value: TextOrTexts | UnsetType = UNSET


_Filters: TypeAlias = Annotated[
    ListOf[StructOrMapping[RuleFilter]],
    Meta(description="a list of RuleFilter, or of mappings with its members"),
]
_Conditions: TypeAlias = Annotated[
    ListOf[StructOrMapping[RuleCondition]],
    Meta(description="a list of RuleCondition, or of mappings with its members"),
]


LimitQuery: Final = struct_type("LimitQuery", Filter, limit=PageSize | None)
RuleQuery: Final = struct_type("RuleQuery", Filter, limit=PageSize | Text | None)


class ModerationQuery(Filter):
    """The filter of GET /moderation/messages."""

    sender: Uid | None = None
    """Only messages of this user."""
    receiver_uid: Uid | None = field(default=None, name="receiverUID")
    """Only messages to this user."""
    receiver_guid: Uid | None = field(default=None, name="receiverGUID")
    """Only messages to this group."""
    category: Literal["message", "custom"] | None = None
    """Only this category: message, custom, action, call or interactive."""
    type: Text | None = None
    moderation_status: Literal["disapproved", "pending"] | None = None
    """Only messages with this decision."""


class NewRule(Body):
    """A rule: the body of a creation, and of an update, which needs the whole rule on some services."""

    id: Text | UnsetType = UNSET
    name: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    enabled: Bool | UnsetType = UNSET
    action: Texts | UnsetType = UNSET
    """What is done with a message that meets the conditions, such as blockMessage."""
    filters: _Filters | UnsetType = UNSET
    """The senders and receivers that the rule is for."""
    conditions: _Conditions | UnsetType = UNSET
    """What a message must meet."""


class NewKeywordList(Body):
    """A keyword list, for a creation and for an update: words, patterns or sentences, or a file of them.

    The service wants `search_terms` for words and patterns, `disallowed_sentences` for sentences, or a CSV
    `file` in their place. A list of terms travels as one comma list: a comma in a term is refused.
    """

    id: Text | UnsetType = UNSET
    name: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    category: Literal["word", "pattern", "sentence-similarity"]
    """What the list holds."""
    search_terms: TextOrTexts | UnsetType = UNSET
    """The words or patterns of the list."""
    disallowed_sentences: Texts | UnsetType = UNSET
    """The sentences of the list."""
    file: Upload | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        terms = self.search_terms
        if isinstance(terms, tuple):
            if with_comma := [term for term in terms if "," in term]:
                raise RequestInvalidError(f"search_terms = {with_comma[0]!r}: expected terms without a comma")
            structs.force_setattr(self, "search_terms", ",".join(terms))


class NewReason(Body):
    """A reason for flagging a message."""

    id: Text
    name: Text
    description: Text | UnsetType = UNSET


ReasonName: Final = struct_type("ReasonName", Body, name=Text)


class NewFlag(Body):
    """A user's flag on a message."""

    id: Text
    """The id of the reason."""
    remark: Text | UnsetType = UNSET
    """Words of the user who flags."""


FlagReview: Final = struct_type("FlagReview", Body, status=FlagStatus)
BlockReview: Final = struct_type("BlockReview", Body, status=BlockStatus, reviewed=Bool)


class NewModeratedMessage(Body):
    """A message that is handed in for moderation, with the users and groups that the app lacks."""

    sender: Uid
    """The uid of the sender."""
    receiver: Uid
    receiver_type: ReceiverType
    category: Literal["message"] | UnsetType = UNSET
    type: Literal["text", "image", "file", "audio", "video"] | UnsetType = UNSET
    """The message's type."""
    data: Json | UnsetType = UNSET
    muid: Text | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    sent_at: Stamp | UnsetType = UNSET
    sender_user_details: Json | UnsetType = UNSET
    receiver_user_details: Json | UnsetType = UNSET
    receiver_group_details: Json | UnsetType = UNSET


MessageContent: Final = struct_type("MessageContent", Body, data=Json | UnsetType)
