"""The operations of friends: a friendship has no direction."""

from typing import Final

from ...parameters.relations import MOST
from ..store.members import Relations
from .context import Call, Context, Handler
from .envelopes import ack_reply, member_reply
from .item_acks import item_acks
from .numbered_pages import page_number, record_page_reply
from .refusals import Refusal
from .users import user_record


def list_friends(context: Context, call: Call) -> bytes:
    """A page of a user's friends; `searchKey` matches the beginning of uid or name."""
    uid, query = call.path["uid"], call.query
    user_record(context, uid)
    number, prefix = page_number(query), query.text("searchKey") or ""
    query.check()
    page, _ = context.store.relations.list("friend", uid, *number, prefix=prefix)
    return record_page_reply(page, number, cursor_in_meta=True)


def add_friends(context: Context, call: Call) -> bytes:
    """Make users friends: an acknowledgement or an error for each of them."""
    uid = call.path["uid"]
    user_record(context, uid)
    body = call.read()
    acks = item_acks(body["accepted"], lambda friend: _befriend(context, uid, friend))
    for friend, ack in acks.items():
        if body.get("addToConversations") and ack["success"]:
            context.store.views.add(uid, friend, context.now)
    return member_reply("accepted")(acks)


def _befriend(context: Context, uid: str, friend: str) -> str:
    relations = context.store.relations
    if friend == uid:
        raise Refusal(
            400, "ERR_CANNOT_FORM_SELF_RELATION", f"The user with UID {uid} cannot be its own friend."
        )
    user_record(context, friend)
    if relations.since("friend", uid, friend) is not None:
        raise Refusal(400, "ERR_ALREADY_FRIEND", f"The user with UID {friend} is a friend of {uid} already.")
    if MOST in (relations.count("friend", uid), relations.count("friend", friend)):
        raise Refusal(400, "ERR_FAILED_TO_ADD_FRIEND", f"A user has at most {MOST} friends.")
    for owner, other in ((uid, friend), (friend, uid)):
        relations.add("friend", owner, other, context.now)
    return f"The user with UID {friend} is a friend of {uid} now."


def remove_friends(context: Context, call: Call) -> bytes:
    """End friendships; where one of the users is no friend, none of them ends."""
    uid, relations = call.path["uid"], context.store.relations
    user_record(context, uid)
    friends = call.read()["friends"]
    for friend in friends:
        _check_friend(relations, uid, friend)
    for friend in friends:
        relations.remove("friend", uid, friend)
        relations.remove("friend", friend, uid)
    return ack_reply(f"The friends of the user with UID {uid} have been removed.")


def _check_friend(relations: Relations, uid: str, friend: str) -> None:
    if relations.since("friend", uid, friend) is None:
        raise Refusal(404, "ERR_NOT_A_FRIEND", f"The user with UID {friend} is not a friend of {uid}.")


HANDLERS: Final[dict[str, Handler]] = {
    "friends.list": list_friends,
    "friends.add": add_friends,
    "friends.remove": remove_friends,
}
