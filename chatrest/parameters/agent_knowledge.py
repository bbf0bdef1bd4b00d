"""The filters and bodies of knowledge: files, texts and websites."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, final

from msgspec import UNSET, Meta, UnsetType

from ..errors import RequestInvalidError
from .checked import Affix, Body, Filter, Flag, Millis, Ordinal, Size, Text
from .fields import VALID, AnyTexts, PageLimit, Source, SourceType, Uri, Whole

LARGEST_FILE: Final = 50 * 1024 * 1024
"""Bytes of a knowledge file."""
UrlStatus: TypeAlias = Literal["discovered", "processing", "processed", "failed", "skipped"]
PageForm: TypeAlias = Literal["markdown", "html", "text"]
_Status: TypeAlias = Annotated[
    UrlStatus, Meta(description="'discovered', 'processing', 'processed', 'failed' or 'skipped'")
]
_Form: TypeAlias = Annotated[PageForm, Meta(description="'markdown', 'html' or 'text'")]
_Depth: TypeAlias = Annotated[int, Meta(ge=1, le=10, description="a whole number from 1 to 10")]
_Pages: TypeAlias = Annotated[int, Meta(ge=1, le=10_000, description="a whole number from 1 to 10000")]
_Timeout: TypeAlias = Annotated[
    int, Meta(ge=5000, le=120_000, description="milliseconds, a whole number from 5000 to 120000")
]
_Title: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=500,
        pattern=VALID,
        description="a text of 1 to 500 characters, and valid Unicode",
    ),
]
_Content: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=5000,
        pattern=VALID,
        description="a text of 1 to 5000 characters, and valid Unicode",
    ),
]
_FileSize: TypeAlias = Annotated[
    int, Meta(ge=0, le=LARGEST_FILE, description=f"bytes, a whole number from 0 to {LARGEST_FILE} (50 MB)")
]


class _Window(Filter):
    """A filter with a window of time, in milliseconds."""

    start_time: Millis | None = None
    end_time: Millis | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        start, end = self.start_time, self.end_time
        if isinstance(start, int) and isinstance(end, int) and end < start:
            raise RequestInvalidError(
                f"end_time = {end}: the window ends before it begins; allowed is {start} or later"
            )


@final
class KnowledgeQuery(_Window):
    """The filter of knowledge. A walk starts at `cursor`, which goes with `affix`.

    `start` and `end` are declared as required, without a word on what they are: a service may refuse a list
    without them.
    """

    cursor: Text | None = None
    limit: PageLimit | None = None
    affix: Affix | None = None
    start: Whole | None = None
    end: Whole | None = None


@final
class SourcePageQuery(Filter):
    """The filter of the pages of a source; a walk starts at `page`."""

    limit: Size | None = None
    page: Ordinal | None = None
    affix: Affix | None = None


@final
class DiscoveredUrlQuery(_Window):
    """The filter of the addresses that a website led to. A walk starts at `cursor`."""

    cursor: Text | None = None
    limit: PageLimit | None = None
    affix: Affix | None = None
    status: _Status | None = None


@final
class KnowledgeSource(Body):
    """The kind of a source, as it stands in a path."""

    source_type: Source


@final
class NewUpload(Body):
    """A file that is to be uploaded: its size is in bytes, 50 MB at most."""

    file_name: Text
    mime_type: Text
    file_size: _FileSize


if TYPE_CHECKING:
    Uploads: TypeAlias = Sequence[NewUpload]
else:
    Uploads: TypeAlias = Annotated[
        tuple[NewUpload, ...], Meta(description="a list of files with file_name, mime_type and file_size")
    ]


@final
class NewUploads(Body):
    """The files that are to be uploaded."""

    files: Uploads


@final
class NewKnowledgeText(Body):
    """A text to learn from."""

    title: _Title
    text: _Content


@final
class KnowledgeTextChanges(Body):
    """Any part of a text."""

    title: _Title | UnsetType = UNSET
    text: _Content | UnsetType = UNSET


@final
class PolledSources(Body):
    """The ids whose status is asked for; the member's name is in the singular."""

    unique_id: AnyTexts


@final
class SourceIds(Body):
    """The ids of sources, or of addresses."""

    unique_ids: AnyTexts


@final
class WebsiteToScrape(Body):
    """A website to read: `include` and `exclude` are parts of addresses."""

    url: Uri
    max_depth: _Depth | UnsetType = UNSET
    max_pages: _Pages | UnsetType = UNSET
    include: AnyTexts | UnsetType = UNSET
    exclude: AnyTexts | UnsetType = UNSET
    fetch_sitemap: Flag | UnsetType = UNSET


@final
class PageToScrape(Body):
    """A single page to read; `timeout` is in milliseconds."""

    url: Uri
    timeout: _Timeout | UnsetType = UNSET
    format: _Form | UnsetType = UNSET


@final
class UrlsToLeaveOut(Body):
    """The ids of addresses that are not to be processed; an empty list processes all."""

    exclude: AnyTexts


def checked_source(source_type: SourceType) -> str:
    """Return the kind of a source for a path; `RequestInvalidError` for one that is not known."""
    return KnowledgeSource(source_type=source_type).source_type
