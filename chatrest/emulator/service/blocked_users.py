"""The operations of blocked users."""

from typing import Final

from msgspec.json import decode, encode

from .context import Call, Context, Handler
from .envelopes import data_reply
from .item_acks import item_acks
from .numbered_pages import page_number, record_page_reply
from .refusals import Refusal
from .users import user_record


def list_blocked(context: Context, call: Call) -> bytes:
    """A page of the users that a user has blocked, with the time of the block."""
    uid = call.path["uid"]
    user_record(context, uid)
    number = page_number(call.query)
    call.query.check()
    page, times = context.store.relations.list("blocked", uid, *number)
    records = [
        encode(decode(record) | {"blockedByMe": True, "blockedByMeAt": at, "blockedAt": at})
        for record, at in zip(page.records, times, strict=True)
    ]
    return record_page_reply(page._replace(records=records), number, cursor_in_meta=True)


def block_users(context: Context, call: Call) -> bytes:
    """Block users: an acknowledgement or an error for each of them; a repeated block is none."""
    uid = call.path["uid"]
    user_record(context, uid)
    blocked_uids = call.read()["blockedUids"]
    return data_reply(item_acks(blocked_uids, lambda blocked: _block(context, uid, blocked)))


def _block(context: Context, uid: str, blocked: str) -> str:
    if blocked == uid:
        raise Refusal(400, "ERR_CANNOT_BLOCK_SELF", f"The user with UID {uid} cannot block itself.")
    user_record(context, blocked)
    context.store.relations.add("blocked", uid, blocked, context.now)
    return f"The user with UID {uid} has blocked the user with UID {blocked}."


def unblock_users(context: Context, call: Call) -> bytes:
    """Unblock users: an acknowledgement or an error for each of them; one that is not blocked is no error."""
    uid = call.path["uid"]
    user_record(context, uid)
    blocked_uids = call.read()["blockedUids"]
    return data_reply(item_acks(blocked_uids, lambda blocked: _unblock(context, uid, blocked)))


def _unblock(context: Context, uid: str, blocked: str) -> str:
    user_record(context, blocked)
    context.store.relations.remove("blocked", uid, blocked)
    return f"The user with UID {uid} has unblocked the user with UID {blocked}."


HANDLERS: Final[dict[str, Handler]] = {
    "blocked_users.list": list_blocked,
    "blocked_users.block": block_users,
    "blocked_users.unblock": unblock_users,
}
