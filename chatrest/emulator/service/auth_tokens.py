"""The operations of auth tokens: those of one user, the oldest first."""

from typing import Final

from ..store.documents import Document
from .changes import apply_changes
from .context import Call, Context, Handler
from .envelopes import ack_reply, data_reply
from .numbered_pages import documents_reply
from .refusals import Refusal
from .users import user_record


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
    """A page of a user's tokens."""
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


def get_token(context: Context, call: Call) -> bytes:
    """One token of a user."""
    return data_reply(_token(context, call))


def update_token(context: Context, call: Call) -> bytes:
    """Change the scope of a token."""
    token = apply_changes(_token(context, call), call.members())
    context.store.auth_tokens.put(token)
    return data_reply(token)


def delete_token(context: Context, call: Call) -> bytes:
    """Remove one token of a user."""
    context.store.auth_tokens.delete(_token(context, call))
    return ack_reply("The auth token has been deleted.")


def flush_tokens(context: Context, call: Call) -> bytes:
    """Remove all tokens of a user."""
    uid = call.path["uid"]
    user_record(context, uid)
    context.store.auth_tokens.clear(uid)
    return ack_reply(f"The auth tokens of the user with UID {uid} have been deleted.")


HANDLERS: Final[dict[str, Handler]] = {
    "auth_tokens.list": list_tokens,
    "auth_tokens.get": get_token,
    "auth_tokens.create": create_token,
    "auth_tokens.update": update_token,
    "auth_tokens.delete": delete_token,
    "auth_tokens.flush": flush_tokens,
}
