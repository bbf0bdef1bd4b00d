"""The operations of apps, on the management interface.

The emulator serves one app; those that are created are listed beside it, and serve nothing.
"""

from hashlib import sha256
from typing import Any, Final

from msgspec.json import encode

from .context import Call, Context, Handler
from .envelopes import data_reply
from .numbered_pages import numbered_reply, page_number
from .refusals import Refusal

_KIND: Final = "apps"
_ID_LENGTH: Final = 16
_SCOPES: Final = {"authOnly": "Auth Key", "fullAccess": "REST API Key"}


def all_apps(context: Context) -> list[dict[str, Any]]:
    """Return the records of all apps, the served one first."""
    return [dict(context.app), *context.store.documents.of(_KIND).list()]


def app_of_path(context: Context, call: Call) -> str:
    """Return the app id of the path; 404 for no such app (its code: not shown)."""
    app_id = call.path["appId"]
    if all(app["id"] != app_id for app in all_apps(context)):
        raise Refusal(404, "AUTH_ERR_INVALID_APPID", f"The app {app_id} does not exist.")
    return app_id


def list_apps(context: Context, call: Call) -> bytes:
    """A page of the apps whose id or name begins with `searchKey`."""
    number = page_number(call.query, 25)
    text = (call.query.text("searchKey") or "").casefold()
    call.query.check()
    matches = [
        app
        for app in all_apps(context)
        if any(str(app[name]).casefold().startswith(text) for name in ("id", "name"))
    ]
    start = (number.page - 1) * number.size
    page = [encode(app) for app in matches[start : start + number.size]]
    return numbered_reply(page, len(matches), number)


def create_app(context: Context, call: Call) -> bytes:
    """Add an app with a key of each scope."""
    body, apps = call.read(), context.store.documents.of(_KIND)
    number = context.store.documents.next_number()
    app_id = sha256(f"app {number}".encode()).hexdigest()[:_ID_LENGTH]
    keys = {scope: sha256(f"{app_id} {scope}".encode()).hexdigest()[:40] for scope in _SCOPES}
    app = {
        "id": app_id,
        "name": body["name"],
        "plan": "free",
        "region": body["region"],
        "version": body.get("version", "3"),
        "state": "active",
        "owner": 1,
        "createdAt": context.now,
        "apiKeys": {
            key: {"apiKey": key, "name": _SCOPES[scope], "scope": scope, "createdBy": "app_system"}
            for scope, key in keys.items()
        },
    }
    apps.put(app, app_id)
    return data_reply(app)


HANDLERS: Final[dict[str, Handler]] = {"apps.list": list_apps, "apps.create": create_app}
