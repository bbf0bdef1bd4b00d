"""Filters and bodies of the knowledge of agents: files, texts and websites."""

from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from .checked import Body, Bool, Direction, Filter, Millis, Ordinal, PageSize, Text, struct_type
from .fields import AnyTexts, Integer, ListOf, SmallPageSize, SourceType, Uri, length_rule

MAX_FILE: Final = 50 * 1024 * 1024
"""Bytes of a knowledge file."""
_Depth: TypeAlias = Annotated[int, Meta(ge=1, le=10, description="a whole number from 1 to 10")]
_Pages: TypeAlias = Annotated[int, Meta(ge=1, le=10_000, description="a whole number from 1 to 10000")]
_Timeout: TypeAlias = Annotated[
    int, Meta(ge=5000, le=120_000, description="milliseconds, a whole number from 5000 to 120000")
]
_Title: TypeAlias = Annotated[str, length_rule(1, 500)]
_Content: TypeAlias = Annotated[str, length_rule(1, 5000)]
_FileSize: TypeAlias = Annotated[
    int, Meta(ge=0, le=MAX_FILE, description=f"bytes, a whole number from 0 to {MAX_FILE} (50 MB)")
]


class _Window(Filter):
    """A filter with a window of time, in milliseconds, of a list that goes by cursors."""

    windows: ClassVar[tuple[tuple[str, str], ...]] = (("start_time", "end_time"),)

    start_time: Millis | None = None
    """From this time on."""
    end_time: Millis | None = None
    """Until this time."""
    cursor: Text | None = None
    """The position at which the list continues, from an earlier reply."""
    limit: SmallPageSize | None = None
    affix: Direction | None = None


class KnowledgeQuery(_Window):
    """The filter of knowledge. A walk starts at `cursor`, which goes with `affix`.

    `start` and `end` are declared as required, without a word on what they are: a service may refuse a list
    without them.
    """

    start: Integer | None = None
    """The begin of the range, as the service counts it."""
    end: Integer | None = None
    """The end of the range, as the service counts it."""


class SourcePageQuery(Filter):
    """The filter of the pages of a source; a walk starts at `page`."""

    limit: PageSize | None = None
    page: Ordinal | None = None
    affix: Direction | None = None


class DiscoveredUrlQuery(_Window):
    """The filter of the addresses that a website led to. A walk starts at `cursor`."""

    status: Literal["discovered", "processing", "processed", "failed", "skipped"] | None = None


KnowledgeSource: Final = struct_type("KnowledgeSource", Body, source_type=SourceType)


class NewUpload(Body):
    """A file that is to be uploaded: its size is in bytes, 50 MB at most."""

    file_name: Text
    mime_type: Text
    file_size: _FileSize


Uploads: TypeAlias = Annotated[
    ListOf[NewUpload], Meta(description="a list of files with file_name, mime_type and file_size")
]


NewUploads: Final = struct_type("NewUploads", Body, files=Uploads)


class NewKnowledgeText(Body):
    """A text to learn from."""

    title: _Title
    text: _Content


class KnowledgeTextChanges(Body):
    """Changes of a text; what is not given stays."""

    title: _Title | UnsetType = UNSET
    text: _Content | UnsetType = UNSET


PolledSources: Final = struct_type("PolledSources", Body, unique_id=AnyTexts)
SourceIds: Final = struct_type("SourceIds", Body, unique_ids=AnyTexts)


class WebsiteToScrape(Body):
    """A website to read."""

    url: Uri
    max_depth: _Depth | UnsetType = UNSET
    """Links to follow from the first page."""
    max_pages: _Pages | UnsetType = UNSET
    include: AnyTexts | UnsetType = UNSET
    """Parts of addresses: only these are read."""
    exclude: AnyTexts | UnsetType = UNSET
    """Parts of addresses to leave out."""
    fetch_sitemap: Bool | UnsetType = UNSET
    """Read the site's map first."""


class PageToScrape(Body):
    """A single page to read; `timeout` is in milliseconds."""

    url: Uri
    timeout: _Timeout | UnsetType = UNSET
    """How long the page may take."""
    format: Literal["markdown", "html", "text"] | UnsetType = UNSET
    """The form of the page's text."""


UrlsToLeaveOut: Final = struct_type("UrlsToLeaveOut", Body, exclude=AnyTexts)


def checked_source(source_type: SourceType) -> str:
    """Return the kind of a source for a path; `RequestInvalidError` for one that is not known."""
    source: str = KnowledgeSource(source_type=source_type).source_type
    return source
