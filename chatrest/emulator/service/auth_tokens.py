"""The operations of auth tokens."""

from typing import Any, Final

from .bodies import Body, read_body
from .context import Call, Context, Handler
from .envelopes import one_reply
from .users import user_record


class TokenBody(Body):
    """POST /users/{uid}/auth_tokens: `force` asks for a fresh token; the rest is its scope."""

    force: bool = False
    platform: str | None = None
    user_agent: str | None = None
    app_info: Any = None


def create_token(context: Context, call: Call) -> bytes:
    """Give an auth token; without `force` the newest one of the same scope, where there is one."""
    uid = call.path["uid"]
    user_record(context, uid)
    body = read_body(call.body or b"{}", TokenBody)
    members = {"platform": body.platform, "userAgent": body.user_agent, "appInfo": body.app_info}
    scope = {name: value for name, value in members.items() if value is not None}
    return one_reply(context.store.people.token(uid, context.now, scope, fresh=body.force))


HANDLERS: Final[dict[str, Handler]] = {"auth_tokens.create": create_token}
