"""Groups."""

from typing import ClassVar, final

from msgspec import UNSET

from .record import Json, Maybe, Record
from .views import ABSENT, Filled, texts


@final
@texts("name")
class Group(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A group of the app. `scope`, `joined_at` and `has_joined` are the acting user's.

    `type` is any text: public, private, password and protected are known. Times are in the service's unit
    (epoch seconds on services of this kind).
    """

    fill_missing: ClassVar[bool] = False  # no id is ""
    identified_by: ClassVar[str] = "guid"

    guid: str
    name: Filled = ABSENT
    type: Maybe[str] = UNSET
    owner: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    members_count: Maybe[int] = UNSET
    conversation_id: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    icon: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    tags: Maybe[tuple[str, ...]] = UNSET
    updated_at: Maybe[int] = UNSET
    updated_by: Maybe[str] = UNSET
    scope: Maybe[str] = UNSET
    joined_at: Maybe[int] = UNSET
    has_joined: Maybe[bool] = UNSET
    online_members_count: Maybe[int] = UNSET
