"""Lists that go on by a position in `meta.next`, such as `createdAt` or `messageId`.

- With `affix=append` (the default) a page ascends from the position, with `prepend` it descends from it.
- Documents of one position stay on one page, however long it becomes: nothing is lost at its border.
- A page that has documents has a `next`, also where it is the last; an empty page repeats the position of its
  request, and has none where the request had none.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from typing import Any, final

from msgspec import Struct
from msgspec.json import encode

from ..store.documents import Document
from .arguments import Arguments
from .context import Call, Context, Handler


@final
class PositionedPages(Struct, frozen=True, kw_only=True):
    """The paging of one list."""

    member: str
    """The document's member, and that of `meta.next`, by which the list goes on."""
    parameter: str
    """The query parameter that takes the position."""
    beside: tuple[str, ...] = ()
    """Members of the document that stand in a position beside it."""
    default_size: int = 10
    largest: int = 100

    def serve(self, operation: Callable[[Context, Call], Iterable[Document]]) -> Handler:
        """Return the handler that serves a page of an operation's documents."""
        return lambda context, call: self.reply(operation(context, call), call.query)

    def reply(self, documents: Iterable[Document], query: Arguments) -> bytes:
        """Return one page of `documents`; 400 for wrong parameters."""
        size = query.number("limit", 1, self.largest) or self.default_size
        affix = query.choice("affix", ("append", "prepend")) or "append"
        position = query.text(self.parameter)
        query.check()
        ordered = sorted(documents, key=self._order, reverse=affix == "prepend")
        if position is not None:
            start = _order(position)
            ordered = [
                document
                for document in ordered
                if (self._order(document) > start if affix == "append" else self._order(document) < start)
            ]
        page = ordered[:size]
        page += takewhile(lambda document: self._order(document) == self._order(page[-1]), ordered[size:])
        return encode({"data": page, "meta": self._meta(page, size, affix, position)})

    def _order(self, document: Mapping[str, Any]) -> tuple[int, str]:
        return _order(document.get(self.member, ""))

    def _meta(self, page: list[Document], size: int, affix: str, position: str | None) -> dict[str, Any]:
        meta: dict[str, Any] = {"current": {"limit": size, "count": len(page)}}
        if not page and position is not None:
            number, text = _order(position)
            meta["next"] = {"affix": affix, self.member: text or number}
        if page:
            opposite = "prepend" if affix == "append" else "append"
            before = {self.member: ""} if position is None else self._position(page[0])
            meta |= {"previous": {"affix": opposite, **before}}
            meta |= {"next": {"affix": affix, **self._position(page[-1])}}
        return meta

    def _position(self, document: Document) -> dict[str, Any]:
        return {name: document.get(name) for name in (*self.beside, self.member)}


def _order(value: object) -> tuple[int, str]:
    """Return a key by which numbers, also as digits, go by their size, and other texts behind them."""
    text = str(value)
    return (int(text), "") if text.isascii() and text.isdigit() and len(text) < 19 else (2**63, text)
