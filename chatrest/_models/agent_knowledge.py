"""Knowledge of agents: sources, texts, uploads and websites.

Times are in epoch milliseconds if the class does not say otherwise. A field that the service leaves out is
UNSET.
"""

from typing import Any

from msgspec import UNSET

from .record import Json, Maybe, Record, digest


class KnowledgeRecord(Record):
    """A source of the `type` uploads, text or website; `status` is inSync, indexing, indexed or failed."""

    unique_id: str
    app_id: Maybe[str] = UNSET
    source_name: Maybe[str] = UNSET
    type: Maybe[str] = UNSET
    status: Maybe[str] = UNSET
    last_synced: Maybe[int] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class SourcePage(Record):
    """A page of a source: `members` is all that was served, the other fields are of older documents."""

    members: Json
    content: Maybe[str] = UNSET
    page_number: Maybe[int] = UNSET
    char_count: Maybe[int] = UNSET

    @property
    def identity(self) -> str:
        """The digest of `members`."""
        return digest(self.to_json().decode(errors="replace"))


class PresignedUpload(Record):
    """A file that may be sent to `presigned_url`, which is a credential: a repr does not show it."""

    upload_id: Maybe[str] = UNSET
    file_name: Maybe[str] = UNSET
    mime_type: Maybe[str] = UNSET
    file_size: Maybe[int] = UNSET
    s3_key: Maybe[str] = UNSET
    presigned_url: Maybe[str] = UNSET


class PresignedUploads(Record):
    """The files of one call, each with the address that it may be sent to."""

    uploads: Maybe[tuple[PresignedUpload, ...]] = UNSET


class KnowledgeText(Record):
    """A text that agents learn from; the reply of its creation has no member from `text` on."""

    unique_id: str
    title: Maybe[str] = UNSET
    file_name: Maybe[str] = UNSET
    s3_key: Maybe[str] = UNSET
    status: Maybe[str] = UNSET
    text: Maybe[str] = UNSET
    vectorization_status: Maybe[str] = UNSET
    is_active: Maybe[bool] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class KnowledgeAck(Record):
    """An acknowledgement with `data`, whose form is not documented."""

    success: bool = True
    message: Maybe[str] = UNSET
    data: Maybe[Any] = UNSET


class KnowledgeStatuses(Record):
    """The status, such as indexed, by id; unknown ids are left out."""

    success: bool = True
    data: Maybe[dict[str, str]] = UNSET


class WebsiteCrawl(Record):
    """A website that is being read."""

    crawl_id: Maybe[str] = UNSET
    crawl_duration: Maybe[int | float | str] = UNSET
    status: Maybe[str] = UNSET
    sitemap: Maybe[Any] = UNSET


class ScrapedPage(Record):
    """The content of one page of a website; `timestamp` is an ISO 8601 text."""

    url: Maybe[str] = UNSET
    title: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    content: Maybe[str] = UNSET
    metadata: Maybe[Json] = UNSET
    scraper: Maybe[str] = UNSET
    crawl_duration: Maybe[int | float | str] = UNSET
    content_length: Maybe[int] = UNSET
    timestamp: Maybe[str] = UNSET


class DiscoveredUrl(Record):
    """An address that a website led to; `content` has the first 500 characters."""

    url_id: str
    url: Maybe[str] = UNSET
    title: Maybe[str] = UNSET
    description: Maybe[str] = UNSET
    content: Maybe[str] = UNSET
    status: Maybe[str] = UNSET
    last_crawled_at: Maybe[int] = UNSET
    retry_count: Maybe[int] = UNSET
    vectorization_status: Maybe[str] = UNSET
    chunks_created: Maybe[int] = UNSET
    embeddings_generated: Maybe[int] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


class UrlBatch(Record):
    """The addresses that are being processed; `webhook_url` gets a report."""

    batch_id: Maybe[str] = UNSET
    urls_processed: Maybe[int] = UNSET
    total_urls: Maybe[int] = UNSET
    webhook_url: Maybe[str] = UNSET
    status: Maybe[str] = UNSET
