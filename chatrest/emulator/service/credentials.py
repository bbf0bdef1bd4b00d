"""The operations of API keys, and of the auth tokens of one user, the oldest first.

A key that was made is accepted from then on, as far as its scope goes.
"""

import hashlib
from typing import Final

from ..store import Store
from ..store.data import EPOCH
from ..store.documents import Document
from .context import Call, Context, Handler
from .documents import DocumentCollection, apply_changes, serve, with_quota
from .envelopes import ack_reply, data_reply
from .pages import documents_reply
from .refusals import Refusal
from .users import user_record

# ── API keys ──


_MOST: Final = 25
"""Keys of an app."""
_OF_SETTINGS: Final = "api_keys.of_settings"


KEYS: Final = DocumentCollection(
    kind="api_keys",
    missing="ERR_APIKEY_NOT_FOUND",
    parameter="apiKey",
    key="apiKey",
    stamp=None,
)


def set_keys(store: Store, full_access: str, auth_only: str) -> None:
    """Accept the two keys of the settings, and no longer those of settings before."""
    keys, of_settings = store.documents.of(KEYS.kind), store.documents.of(_OF_SETTINGS)
    for former in of_settings.list():
        keys.delete(former["apiKey"])
    of_settings.clear()
    for key, name, scope in (
        (full_access, "REST API Key", "fullAccess"),
        (auth_only, "Auth Key", "authOnly"),
    ):
        of_settings.put({"apiKey": key}, key)
        keys.put({"apiKey": key, "name": name, "scope": scope, "createdAt": EPOCH}, key)


def key_scope(store: Store, key: str) -> str | None:
    document = store.documents.of(KEYS.kind).get(key)
    return None if document is None else str(document["scope"])


def list_keys(context: Context, call: Call) -> bytes:
    """A page of keys; `searchKey` is looked for in their names, without regard to case."""
    scope = call.query.choice("scope", ("fullAccess", "authOnly"))
    text = (call.query.text("searchKey") or "").casefold()
    keys = [
        key
        for key in KEYS.list(context, call)
        if scope in (None, key["scope"]) and text in str(key["name"]).casefold()
    ]
    return documents_reply(keys, call.query)


def create_key(context: Context, call: Call) -> Document:
    body = call.read()
    number = context.store.documents.next_number()
    key = hashlib.sha256(f"api key {number}".encode()).hexdigest()[:40]
    document = {"scope": "authOnly", **body, "apiKey": key, "createdAt": context.now}
    KEYS.documents(context, call).put(document, key)
    return document


def update_key(context: Context, call: Call) -> Document:
    """Change a key, but not the one of this very call."""
    _check_other(call)
    return KEYS.update(context, call)


def delete_key(context: Context, call: Call) -> bytes:
    """Remove a key, but not the one of this very call; it is accepted no longer."""
    _check_other(call)
    KEYS.delete(context, call)
    return ack_reply("The API key has been deleted.")


def _check_other(call: Call) -> None:
    if call.path["apiKey"] == call.key:
        raise Refusal(403, "ERR_APIKEY_NO_SELF_ACTION", "An API key may not change or delete itself.")


# ── auth tokens ──


def _token(context: Context, call: Call) -> Document:
    """Return the token of the path; 404 for no such user or token, 403 for one of another user."""
    uid, key = call.path["uid"], call.path["authToken"]
    user_record(context, uid)
    token = context.store.auth_tokens.get(uid, key)
    if token is not None:
        return token
    if context.store.auth_tokens.owner(key) is not None:
        raise Refusal(403, "ERR_AUTHTOKEN_NOT_ACCESSIBLE", "The auth token belongs to another user.")
    raise Refusal(404, "ERR_AUTH_TOKEN_NOT_FOUND", "The auth token does not exist.")


def list_tokens(context: Context, call: Call) -> bytes:
    uid = call.path["uid"]
    user_record(context, uid)
    return documents_reply(context.store.auth_tokens.list(uid), call.query)


def create_token(context: Context, call: Call) -> bytes:
    """Give an auth token; without `force` the newest one of the same scope, where there is one.

    Its scope is platform, user agent and app information.
    """
    uid = call.path["uid"]
    user_record(context, uid)
    body = call.read()
    scope = {name: body[name] for name in ("platform", "userAgent", "appInfo") if body.get(name) is not None}
    return data_reply(context.store.auth_tokens.issue(uid, context.now, scope, fresh=bool(body.get("force"))))


def update_token(context: Context, call: Call) -> bytes:
    token = apply_changes(_token(context, call), call.members())
    context.store.auth_tokens.put(token)
    return data_reply(token)


def delete_token(context: Context, call: Call) -> bytes:
    context.store.auth_tokens.delete(_token(context, call))
    return ack_reply("The auth token has been deleted.")


def flush_tokens(context: Context, call: Call) -> bytes:
    uid = call.path["uid"]
    user_record(context, uid)
    context.store.auth_tokens.clear(uid)
    return ack_reply(f"The auth tokens of the user with UID {uid} have been deleted.")


HANDLERS: Final[dict[str, Handler]] = {
    "api_keys.list": list_keys,
    "api_keys.get": serve(KEYS.get, data_reply),
    "api_keys.create": serve(with_quota(create_key, KEYS, _MOST), data_reply),
    "api_keys.update": serve(update_key, data_reply),
    "api_keys.delete": delete_key,
    "auth_tokens.list": list_tokens,
    "auth_tokens.get": serve(_token, data_reply),
    "auth_tokens.create": create_token,
    "auth_tokens.update": update_token,
    "auth_tokens.delete": delete_token,
    "auth_tokens.flush": flush_tokens,
}
