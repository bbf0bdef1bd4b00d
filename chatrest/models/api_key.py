"""API keys of an app."""

from hashlib import sha256
from typing import ClassVar, final

from msgspec import UNSET

from .record import Maybe, Record


@final
class ApiKey(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A key of the app. `api_key` is a credential: the attribute shows it, the repr does not.

    `scope` is any text: authOnly and fullAccess are known (specification, Authentication 3).
    """

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "digest"  # a cursor has the identity of the last record in it

    api_key: str
    name: str = ""
    scope: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET

    @property
    def digest(self) -> str:
        """The SHA-256 digest of `api_key`: it identifies the key and does not show it."""
        return sha256(self.api_key.encode(errors="surrogatepass")).hexdigest()
