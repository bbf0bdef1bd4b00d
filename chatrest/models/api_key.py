"""API keys of an app."""

from typing import ClassVar, final

from msgspec import UNSET

from .record import Maybe, Record, digest
from .views import ABSENT, Filled, texts


@final
@texts("name")
class ApiKey(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A key of the app. `api_key` is a credential: the attribute shows it, the repr does not.

    `scope` is any text: authOnly and fullAccess are known.
    """

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "identity"

    api_key: str
    name: Filled = ABSENT
    scope: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET

    @property
    def identity(self) -> str:
        """A digest of the key, by which a cursor knows it."""
        return digest(self.api_key)
