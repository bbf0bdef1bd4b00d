"""Filters and bodies of apps, of API keys and of usage figures."""

from typing import ClassVar, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from .checked import Body, Filter, Flag, Millis, Ordinal, Size, Text
from .fields import ShortText

Region: TypeAlias = Literal["us", "eu", "in"]


class AppQuery(Filter):
    """The filter of GET {management_base_url}/apps; a walk starts at `page`."""

    search_key: Text | None = None
    per_page: Size | None = None
    page: Ordinal | None = None


class NewApp(Body):
    """An app to make. `version` is that of its client libraries, "3" where it is not given."""

    name: Text
    region: Region = "us"
    version: Text | UnsetType = UNSET
    skip_sample_data: Flag | UnsetType = UNSET


# ── API keys ──

KeyScope: TypeAlias = Literal["authOnly", "fullAccess"]


class ApiKeyQuery(Filter):
    """The filter of GET /apikeys; `search_key` is a text in the key's name."""

    scope: KeyScope | None = None
    search_key: Text | None = None


class NewApiKey(Body):
    """A key to make."""

    name: ShortText
    scope: KeyScope = "authOnly"


class ApiKeyChanges(Body):
    """Changes of a key; what is not given stays."""

    name: ShortText | UnsetType = UNSET
    scope: KeyScope | UnsetType = UNSET


# ── usage figures ──


class UsageQuery(Filter):
    """The window of GET /stats, in epoch milliseconds; datetimes and dates are converted.

    Raises `RequestInvalidError` if it ends before it begins.
    """

    windows: ClassVar[tuple[tuple[str, str], ...]] = (("from_date", "to_date"),)

    from_date: Millis
    to_date: Millis
