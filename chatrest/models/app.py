"""Applications of an account, as listed by the management interface."""

from typing import ClassVar, final

from msgspec import UNSET

from .record import Json, Maybe, Record
from .views import ABSENT, Filled, texts


@final
@texts("name")
class AppInfo(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """An application. `api_keys` holds credentials: the attribute shows them, the repr does not."""

    fill_missing: ClassVar[bool] = False  # no id is ""

    id: str
    name: Filled = ABSENT
    region: Maybe[str] = UNSET
    plan: Maybe[str] = UNSET
    state: Maybe[str] = UNSET
    owner: Maybe[int | str] = UNSET
    created_at: Maybe[int] = UNSET
    trial_ends_at: Maybe[int] = UNSET
    app_owner: Maybe[Json] = UNSET
    app_region: Maybe[Json] = UNSET
    api_keys: Maybe[Json] = UNSET
    access_key: Maybe[Json | str] = UNSET
