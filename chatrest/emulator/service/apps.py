"""The operations of apps, on the management interface."""

from typing import Final

from msgspec.json import encode

from .context import Call, Context, Handler
from .numbered_pages import numbered_reply, page_number


def list_apps(context: Context, call: Call) -> bytes:
    """The one app, on the first page, where `searchKey` begins its id or name or is absent."""
    number = page_number(call.query, 25)
    text = (call.query.text("searchKey") or "").casefold()
    call.query.check()
    names = (str(context.app[name]).casefold() for name in ("id", "name"))
    total = int(any(name.startswith(text) for name in names))
    return numbered_reply([encode(context.app)] * total if number.page == 1 else [], total, number)


HANDLERS: Final[dict[str, Handler]] = {"apps.list": list_apps}
