"""The operations of push tokens, and of the log of notifications.

A push token belongs to a login, which is an auth token of a user; one that is registered again is the newest
login's. The emulator sends no notifications: the log holds what a test puts into the store, as documents of
the kind `notifications.logs`.
"""

from typing import Any, Final

from ..store.documents import Document, DocumentSet
from .context import Call, Context, Handler
from .documents import as_iso_text, serve
from .envelopes import member_reply, success_reply
from .positioned_pages import PositionedPages
from .refusals import bad_request, refused

_KIND: Final = "notifications.push_tokens"
LOGS: Final = "notifications.logs"
_TOKENS: Final = ("fcmToken", "deviceToken", "voipToken")
_LOG_PAGES: Final = PositionedPages(member="messageId", parameter="logId", default_size=20)
_NUMBERS: Final = ("messageId", "reactionId")
_FLAGS: Final = ("notificationTriggered", "success")
_LOG_TEXTS: Final = (
    "messageCategory", "messageType", "trigger", "sender", "reactionSender", "receiver", "receiverType",
    "reactionReceiver", "member", "channel", "provider", "reason",
)  # fmt: skip


def _user(context: Context, auth_token: object) -> str:
    """Return the user of an auth token; 401 for one that is nobody's."""
    uid = context.store.auth_tokens.owner(str(auth_token or ""))
    if uid is None:
        raise refused("AUTH_ERR_AUTH_TOKEN_NOT_FOUND")
    return uid


def _tokens(context: Context, uid: str) -> DocumentSet:
    return context.store.documents.of(_KIND, uid)


def _selected(context: Context, call: Call, auth_token: str) -> list[Document]:
    """Return the push tokens of a login, or of all logins of its user with `all=true`."""
    every = call.query.flag("all")
    call.query.check()
    tokens = _tokens(context, _user(context, auth_token)).list()
    return [token for token in tokens if every or token["authToken"] == auth_token]


def list_push_tokens(context: Context, call: Call) -> list[Document]:
    """Return the push tokens of a login, or of its user."""
    auth_token = call.query.text("authToken")
    if auth_token is None:
        raise bad_request({"authToken": ["The authToken is required."]})
    return _selected(context, call, auth_token)


def register_push_token(context: Context, call: Call) -> None:
    """Register the push token of a device."""
    body = call.read()
    uid = _user(context, body.get("authToken"))
    name = next((name for name in _TOKENS if body.get(name)), None)
    if name is None:
        raise bad_request({name: ["One of the tokens is required."] for name in _TOKENS})
    times = dict.fromkeys(("createdAt", "updatedAt"), as_iso_text(context))
    names = ("authToken", "platform", "providerId")
    token: Document = {name: body[name] for name in names if name in body}
    token |= {"uid": uid, "pushToken": body[name], "pushTokenType": name.removesuffix("Token"), **times}
    _tokens(context, uid).put(token, token["pushToken"])


def unregister_push_tokens(context: Context, call: Call) -> list[Document]:
    """Remove the push tokens of a login, or of its user, and return them."""
    auth_token = call.read()["authToken"]
    selected = _selected(context, call, auth_token)
    for token in selected:
        _tokens(context, token["uid"]).delete(token["pushToken"])
    return selected


def delete_push_token(context: Context, call: Call) -> list[Document]:
    """Remove one push token of a login's user, and return it; 404 where the user has no such token."""
    auth_token = call.read()["authToken"]
    tokens, key = _tokens(context, _user(context, auth_token)), call.path["pushToken"]
    token = tokens.get(key)
    if token is None:
        raise refused("ERR_PUSH_TOKEN_NOT_FOUND")
    tokens.delete(key)
    return [token]


def list_logs(context: Context, call: Call) -> bytes:
    """A page of the log, by `logId`; `from` and `to` are about `messageSentAtMS`, both ends included."""
    query = call.query
    wanted: dict[str, Any] = {name: query.text(name) for name in _LOG_TEXTS}
    wanted |= {name: query.number(name) for name in _NUMBERS}
    wanted |= {name: query.flag(name) for name in _FLAGS if query.text(name) is not None}
    start, end = query.number("from") or 0, query.number("to")
    query.check()
    wanted = {name: value for name, value in wanted.items() if value is not None}
    logs = [
        log
        for log in context.store.documents.of(LOGS).list()
        if all(log.get(name) == value for name, value in wanted.items())
        and start <= log.get("messageSentAtMS", 0)
        and (end is None or log.get("messageSentAtMS", 0) <= end)
    ]
    return _LOG_PAGES.reply(logs, query)


_push_tokens: Final = member_reply("pushTokens")

TOKEN_HANDLERS: Final[dict[str, Handler]] = {
    "notifications.list_push_tokens": serve(list_push_tokens, _push_tokens),
    "notifications.register_push_token": serve(register_push_token, success_reply),
    "notifications.unregister_push_tokens": serve(unregister_push_tokens, _push_tokens),
    "notifications.delete_push_token": serve(delete_push_token, _push_tokens),
    "notifications.list_logs": list_logs,
}
