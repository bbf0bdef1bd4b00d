"""Apps, and their API keys."""

from typing import ClassVar, final

from msgspec import UNSET

from .record import Json, Maybe, Record, digest
from .views import ABSENT, Filled, texts


@final
@texts("name")
class AppInfo(Record):
    """An application. `api_keys` holds credentials: the attribute shows them, the repr does not."""

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


# ── API keys ──


@final
@texts("name")
class ApiKey(Record):
    """A key of the app. `api_key` is a credential: the attribute shows it, the repr does not.

    `scope` is any text: authOnly and fullAccess are known.
    """

    identified_by: ClassVar[str] = "identity"

    api_key: str
    name: Filled = ABSENT
    scope: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET

    @property
    def identity(self) -> str:
        """A digest of the key, by which a cursor knows it."""
        return digest(self.api_key)
