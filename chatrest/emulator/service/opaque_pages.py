"""Lists that go on by an opaque cursor in `meta.next`.

- With `affix=append` (the default) a list goes from the newest document to the oldest, with `prepend` from
  the oldest to the newest.
- `next` and `previous` are there only where there is such a page.
- A document is older than another where its id is less as a text.
"""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Any, final

from msgspec import Struct
from msgspec.json import encode

from ..store.documents import Document
from .arguments import Arguments
from .refusals import bad_request


@final
class OpaquePages(Struct, frozen=True, kw_only=True):
    """The paging of one list."""

    member: str
    """The document's member with its id."""
    default_size: int = 10
    largest: int = 100

    def reply(self, documents: Iterable[Document], query: Arguments) -> bytes:
        """Return one page of `documents`; 400 for wrong parameters."""
        size = query.number("limit", 1, self.largest) or self.default_size
        affix = query.choice("affix", ("append", "prepend")) or "append"
        cursor = query.text("cursor")
        query.check()
        ordered = sorted(documents, key=self._id, reverse=affix == "append")
        start = 0
        if cursor is not None:
            last = _read(cursor)
            behind = [
                self._id(each) >= last if affix == "append" else self._id(each) <= last for each in ordered
            ]
            start = sum(behind)
        page = ordered[start : start + size]
        meta: dict[str, Any] = {"current": {"limit": size, "count": len(page)}}
        if page and start:
            opposite = "prepend" if affix == "append" else "append"
            meta["previous"] = {"affix": opposite, "cursor": _written(self._id(page[0]))}
        if start + size < len(ordered):
            meta["next"] = {"affix": affix, "cursor": _written(self._id(page[-1]))}
        return encode({"data": page, "meta": meta})

    def _id(self, document: Document) -> str:
        return str(document[self.member])


def _written(id: str) -> str:
    return urlsafe_b64encode(id.encode()).decode()


def _read(cursor: str) -> str:
    try:
        return b64decode(cursor, altchars=b"-_", validate=True).decode()
    except ValueError:  # not ASCII, not base64, or not UTF-8
        raise bad_request({"cursor": ["The cursor is not one of this list."]}) from None
