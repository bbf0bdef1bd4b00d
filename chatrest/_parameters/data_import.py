"""The records that are imported, and the bodies that hold up to 50 of them.

A body is a mapping by a key that each record repeats. The methods take the records as they are, in any order,
and the keys are made of them; a mapping by key is taken, too.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import force_setattr

from .._secrets import description, repr_of
from ..errors import RequestInvalidError
from ..times import is_relative
from .checked import Body, Bool, Json, Stamp, Text, Uid, struct_of
from .fields import AnyText, ReceiverType, StructOrMapping, Tags, Url
from .messages import SentCategory
from .users import GroupType

B = TypeVar("B", bound=Body)


MAX_ENTRIES: Final = 50
"""Records of one request."""


class UserImport(Body):
    """A user to import; `role` must exist. Times are epoch seconds, a date or an aware datetime."""

    uid: Uid
    name: Text
    avatar: Url | UnsetType = UNSET
    link: Url | UnsetType = UNSET
    role: Text | UnsetType = UNSET
    created_at: Stamp | UnsetType = UNSET
    """Time of creation."""
    last_active_at: Stamp | UnsetType = UNSET
    """Time of the last activity."""
    metadata: Json | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    deactivated_at: Stamp | UnsetType = UNSET
    """Time of deactivation; 0 for an active user."""


UserDetails: TypeAlias = Annotated[
    StructOrMapping[UserImport], Meta(description="a UserImport, or its JSON object")
]
if TYPE_CHECKING:
    UsersDetails: TypeAlias = Mapping[str, StructOrMapping[UserImport]]
else:
    UsersDetails: TypeAlias = Annotated[
        dict[str, UserImport], Meta(description="a mapping of uids to UserImport, or to its JSON object")
    ]


class GroupImport(Body):
    """A group to import, with its owner, whom the service creates if needed."""

    guid: Uid
    name: Text
    type: GroupType
    """Who may join: public, private, password."""
    icon: Url | UnsetType = UNSET
    password: AnyText | UnsetType = UNSET
    owner: Uid | UnsetType = UNSET
    created_at: Stamp | UnsetType = UNSET
    """Time of creation."""
    metadata: Json | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    group_owner_details: UserDetails | UnsetType = UNSET
    """The group's owner, if the user does not exist yet."""


GroupDetails: TypeAlias = Annotated[
    StructOrMapping[GroupImport], Meta(description="a GroupImport, or its JSON object")
]


class MemberImport(Body):
    """A member to import, or a user to ban (`is_banned`). `member_id` is made of the other two ids."""

    guid: Uid
    uid: Uid
    member_id: Text | UnsetType = UNSET
    """<guid>_member_<uid>, the key of the entry."""
    scope: Text | UnsetType = UNSET
    is_banned: Bool | UnsetType = UNSET
    """The user is banned from the group."""
    joined_at: Stamp | UnsetType = UNSET
    """Time of joining the group."""
    group_details: GroupDetails | UnsetType = UNSET
    """The group, if it does not exist yet."""
    user_details: UserDetails | UnsetType = UNSET
    """The user, if it does not exist yet."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.member_id is UNSET:
            force_setattr(self, "member_id", f"{self.guid}_member_{self.uid}")


class MessageImport(Body):
    """A message to import. `muid` is an id that the caller chooses; one that was used already is refused."""

    muid: Text
    sender: Uid
    """The uid of the sender."""
    receiver_type: ReceiverType
    receiver: Uid
    sent_at: Stamp
    category: SentCategory | UnsetType = UNSET
    type: Text | UnsetType = UNSET
    """The message's type, such as text or image."""
    data: Json | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    delivered_at: Stamp | UnsetType = UNSET
    """Time of delivery."""
    read_at: Stamp | UnsetType = UNSET
    """Time of reading."""
    sender_user_details: UserDetails | UnsetType = UNSET
    receiver_user_details: UserDetails | UnsetType = UNSET
    receiver_group_details: GroupDetails | UnsetType = UNSET
    receiver_group_owner_details: UserDetails | UnsetType = UNSET
    """The owner of the receiving group, if the user does not exist yet."""
    mentioned_user_details: UsersDetails | UnsetType = UNSET
    """Users whom the message mentions, if they do not exist yet."""


if TYPE_CHECKING:  # the type of arguments: a body makes a mapping by key of them
    _Imports: TypeAlias = Iterable[B] | Mapping[str, StructOrMapping[B]]
else:

    class _Imports:
        def __class_getitem__(cls, kind: Any) -> Any:
            return dict[str, kind]


UserImports: TypeAlias = Annotated[_Imports[UserImport], Meta(description="users by their uids, 1 to 50")]
GroupImports: TypeAlias = Annotated[_Imports[GroupImport], Meta(description="groups by their guids, 1 to 50")]
MemberImports: TypeAlias = Annotated[
    _Imports[MemberImport], Meta(description="members by 'GUID_member_UID', 1 to 50")
]
MessageImports: TypeAlias = Annotated[
    _Imports[MessageImport], Meta(description="messages by their muids, 1 to 50")
]


class _Entries(Struct, frozen=True, kw_only=True):
    """A body with one member: records by key, 1 to 50 of them, else `RequestInvalidError`."""

    kind: ClassVar[type[Body]]
    key: ClassVar[str]
    """The field of a record that is its key."""

    def __post_init__(self) -> None:
        [name] = self.__struct_fields__
        records = _records(name, getattr(self, name), self.kind, self.key)
        if not 0 < len(records) <= MAX_ENTRIES:
            raise RequestInvalidError(
                f"{name}: got {len(records)} records; expected 1 to {MAX_ENTRIES} per request"
            )
        force_setattr(self, name, records)


def _entries(name: str, records: Any, kind: type[Body], key: str) -> type[Any]:
    namespace = {"kind": kind, "key": key}
    return defstruct(
        f"{name[:-1].capitalize()}Entries", [(name, records)], bases=(_Entries,), namespace=namespace,
        module=__name__, frozen=True, kw_only=True,
    )  # fmt: skip


UserEntries: Final = _entries("users", UserImports, UserImport, "uid")
GroupEntries: Final = _entries("groups", GroupImports, GroupImport, "guid")
MemberEntries: Final = _entries("members", MemberImports, MemberImport, "member_id")
MessageEntries: Final = _entries("messages", MessageImports, MessageImport, "muid")


def _records(name: str, values: Any, kind: type[B], key: str) -> dict[str, B]:
    """Return records by their keys; `RequestInvalidError` for a repeated key, or one of another record."""
    is_mapping = isinstance(values, Mapping)
    if not is_mapping and not isinstance(values, Iterable):
        raise RequestInvalidError(
            f"{name} = {description(values)}: expected a list of {kind.__name__}, or a mapping by {key}"
        )
    records: dict[str, B] = {}
    for index, value in values.items() if is_mapping else enumerate(values):
        path = f"{name}[{repr_of(index)}]"
        record = import_record(path, value, kind)
        record_key = getattr(record, key)
        if is_mapping and record_key != index:
            raise RequestInvalidError(
                f"{path}: {key} = {repr_of(record_key)}: expected {repr_of(index)}, its key"
            )
        if record_key in records:
            raise RequestInvalidError(f"{path}: {key} = {repr_of(record_key)}: another record has the same")
        records[record_key] = record
    return records


def import_record(path: str, value: Any, kind: type[B]) -> B:
    """Return `value`, an instance of `kind` or its JSON object, as an instance.

    Raises `RequestInvalidError`, which begins with `path`, if a member is wrong, missing or unknown.
    """
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise RequestInvalidError(
            f"{path} = {description(value)}: expected a {kind.__name__}, or its JSON object"
        )
    for name, member in value.items():
        if str(name).endswith(("_at", "At")) and is_relative(member):
            raise RequestInvalidError(
                f"{path}: {name} = {repr_of(member)}: expected a time that does not depend on the clock"
            )
    return struct_of(path, kind, value)
