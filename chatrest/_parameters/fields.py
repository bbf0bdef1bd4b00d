"""The types of fields that filters and bodies share, with the documented lengths and counts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Meta

T = TypeVar("T")

if TYPE_CHECKING:  # the types of arguments: a checked struct makes tuples of lists, and structs of mappings
    ListOf: TypeAlias = Sequence[T]
    StructOrMapping: TypeAlias = T | Mapping[str, Any]
else:

    class ListOf:
        """`ListOf[T]`: a list of T, stored as a tuple."""

        def __class_getitem__(cls, kind: Any) -> Any:
            return tuple[kind, ...]

    class StructOrMapping:
        """`StructOrMapping[T]`: a struct, or a mapping with its members."""

        def __class_getitem__(cls, kind: Any) -> Any:
            return kind


MEANINGS: Final[Mapping[str, str]] = {
    "accepted": "Uids of the users who become friends.",
    "actions": "Slugs of the actions.",
    "add_to_conversations": "Make a conversation with each new friend.",
    "affix": "The direction: append gives what comes after the position, prepend what comes before it.",
    "allow_all": "Allow all features.",
    "api_tools": "API tools of the agent, by their slugs.",
    "avatar": "The address of the user's picture.",
    "chat_api_version": "The version of the agents' interface.",
    "conversation_with": "The uid of the other user, as in the path.",
    "conversations": "The conversations, each with its id and type.",
    "data": "The content: text, attachments, customData, metadata.",
    "delete_messages_permanently": "Remove the messages for both users.",
    "entity": "The kind of record that is compared.",
    "features_to_allow": "Keys of the features to allow again, such as u.listUsers.",
    "features_to_restrict": "Keys of the features to switch off, such as u.listUsers.",
    "force": "Make a new token even if the user has one.",
    "frontend_actions": "Frontend actions of the agent, by their ids.",
    "headers": "HTTP headers of the request; they may hold credentials.",
    "icon": "The address of a picture.",
    "interactions": "Ids of the elements that the user used.",
    "limit": "Records of a page.",
    "link": "The address of the user's profile.",
    "mcps": "MCP servers, by their slugs.",
    "meta_data": "Data of the app, which the service only stores.",
    "metadata": "Data of the app, which the service only stores.",
    "mime_type": "The file's type, such as image/png.",
    "muid": "An id that the sender chooses for the message; `find_sent` finds it by this id.",
    "operand": "The part that is compared.",
    "operator": "The comparison.",
    "owner": "The uid of the group's owner.",
    "page": "The number of the first page, from 1.",
    "parameters": "The parameters that the agent fills in.",
    "per_page": "Records of a page.",
    "permanent": "Remove the record too; it cannot be restored.",
    "pinned_conversations": "The conversations, in their order.",
    "preserve_order": "Keep the conversation's place in the list.",
    "provider_id": "The id of the provider.",
    "receiver": "The uid of the other user, or the guid.",
    "receiver_group_details": "The receiving group, if it does not exist yet.",
    "receiver_type": "user or group: the kind of the receiver.",
    "receiver_user_details": "The receiving user, if it does not exist yet.",
    "sender_user_details": "The sender, if the user does not exist yet.",
    "sent_at": "Time of sending.",
    "source_type": "The kind of the source.",
    "tools": "Tools of the agent, by their slugs.",
    "trigger_ids": "The ids of the triggers, such as message_sent.",
    "unique_id": "Ids of the sources.",
    "unique_ids": "Ids of the sources.",
    "unset": "Fields to remove.",
    "updated_at_from": "Changed at this time or later.",
    "updated_at_to": "Changed at this time or earlier.",
    "use_stored_email_id": "Send the e-mail address that the service has.",
    "use_stored_ph_no": "Send the phone number that the service has.",
    "value": "The words or patterns of the comparison.",
    "with_tags": "Show tags.",
}
"""The meanings of fields that several structs have, or structs of `struct_type`, by name."""


VALID: Final = r"\A[^\ud800-\udfff]*\Z"


def length_rule(least: int, most: int, kind: str = "a text") -> Meta:
    """Return the rule of a text with so many characters."""
    count = f"{least} to {most}" if least else f"at most {most}"
    return Meta(
        min_length=least or None,
        max_length=most,
        pattern=VALID,
        description=f"{kind} of {count} characters (valid Unicode)",
    )


def words_of(values: Iterable[object], *, is_list: bool = False) -> str:
    """Return values in words: `'a', 'b' or 'c'`, or `a list of 'a', 'b' or 'c'`; empty for none."""
    *others, last = [*map(repr, values)] or [""]
    words = f"{', '.join(others)} or {last}" if others else last
    return f"a list of {words}" if is_list and words else words


NewId: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9_-]{1,100}\Z",
        description="a text of 1 to 100 letters a to z, digits, '-' and '_' (the service lower-cases it)",
    ),
]
"""An id to make: 1 to 100 letters a to z, digits, `-` and `_`. The service lower-cases it."""
ShortText: TypeAlias = Annotated[str, length_rule(1, 100)]
"""A text of 1 to 100 characters."""
Description: TypeAlias = Annotated[str, length_rule(0, 255)]
"""A text of at most 255 characters."""
AnyText: TypeAlias = Annotated[
    str, Meta(pattern=VALID, description="a text, which may be empty (valid Unicode)")
]
"""A text, which may be empty."""
Url: TypeAlias = Annotated[str, length_rule(1, 3000, "a URL")]
"""A URL of 1 to 3000 characters."""
Natural: TypeAlias = Annotated[int, Meta(ge=0, description="a whole number, 0 or more")]
"""A whole number, 0 or more."""
Integer: TypeAlias = Annotated[int, Meta(description="a whole number")]

_Tag: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100, pattern=VALID)]
_OF_TAGS: Final = "25 tags of 1 to 100 characters each (valid Unicode)"
Tags: TypeAlias = Annotated[ListOf[_Tag], Meta(max_length=25, description=f"a list of at most {_OF_TAGS}")]
"""A list of at most 25 tags of 1 to 100 characters."""
MessageTags: TypeAlias = Annotated[
    ListOf[_Tag], Meta(min_length=1, max_length=25, description=f"a list of 1 to {_OF_TAGS}")
]
"""A list of 1 to 25 tags of 1 to 100 characters."""


ReceiverType: TypeAlias = Literal["user", "group"]

if TYPE_CHECKING:  # the types of arguments
    _Switch: TypeAlias = bool | Literal[0, 1]
    _MessageNumber: TypeAlias = int | str
else:
    _Switch = Annotated[Literal[0, 1], Meta(description="True or False, or the number 0 or 1")]
    _MessageNumber = Annotated[
        int, Meta(ge=1, description="the id of a message: digits, or a whole number from 1")
    ]
Switch: TypeAlias = _Switch
"""True or False; it is sent as 1 or 0."""
MessageNumber: TypeAlias = _MessageNumber
"""The id of a message: its digits, or a number."""


HttpMethod: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
SourceType: TypeAlias = Literal["uploads", "text", "website"]
Instruction: TypeAlias = Annotated[str, length_rule(0, 32_000)]
Uri: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z][A-Za-z0-9+.-]*:[^\s\ud800-\udfff]+\Z",
        description="an absolute URL without white space, such as https://host/path",
    ),
]
SmallPageSize: TypeAlias = Annotated[int, Meta(ge=1, le=100, description="a whole number from 1 to 100")]

AuthMeta: TypeAlias = Annotated[
    dict[str, Any] | ListOf[str],
    Meta(description="a JSON object, as a mapping with text keys, or a list of texts"),
]
AnyTexts: TypeAlias = Annotated[
    ListOf[Annotated[str, Meta(min_length=1, pattern=r"\A[^\ud800-\udfff]+\Z")]],
    Meta(description="a list of texts, none of them empty (valid Unicode); the list may be empty"),
]
