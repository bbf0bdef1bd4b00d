"""The operations of banned users; a ban and its end are told to the group by an action message."""

from typing import Final

from .context import Call, Context, Handler
from .envelopes import ack_reply
from .groups import group_record
from .memberships import ban, tell_group
from .numbered_pages import page_number, record_page_reply
from .refusals import Refusal
from .users import user_record


def list_banned(context: Context, call: Call) -> bytes:
    """A page of the users that are banned from a group."""
    guid = call.path["guid"]
    group_record(context, guid)
    number = page_number(call.query)
    call.query.check()
    page, _ = context.store.relations.list("banned", guid, *number)
    return record_page_reply(page, number)


def ban_user(context: Context, call: Call) -> bytes:
    """Ban a user, member or not, who is no member from then on."""
    guid, uid = _existing(context, call)
    ban(context, guid, uid)
    tell_group(context, call, guid, "banned", uid)
    return ack_reply(f"The user with UID {uid} has been banned from the group {guid}.")


def unban_user(context: Context, call: Call) -> bytes:
    """End a ban; the user may join again, and is no member yet."""
    guid, uid = _existing(context, call)
    if not context.store.members.is_banned(guid, uid):
        message = f"The user with UID {uid} is not banned from the group {guid}."
        raise Refusal(404, "ERR_NOT_A_BANNED_USER", message)
    context.store.relations.remove("banned", guid, uid)
    tell_group(context, call, guid, "unbanned", uid)
    return ack_reply(f"The user with UID {uid} has been unbanned from the group {guid}.")


def _existing(context: Context, call: Call) -> tuple[str, str]:
    """Return the guid and the uid of the path; 404 for no such group or user."""
    guid, uid = call.path["guid"], call.path["uid"]
    group_record(context, guid)
    user_record(context, uid)
    return guid, uid


HANDLERS: Final[dict[str, Handler]] = {
    "banned_users.list": list_banned,
    "banned_users.ban": ban_user,
    "banned_users.unban": unban_user,
}
