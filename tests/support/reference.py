"""The reference of all operations, made from the one table: `python -m tests.support.reference` prints it.

It is kept as `chatrest/guide/operations.md`; a test compares the two.
"""

import inspect
import re
import sys
from collections.abc import Awaitable, Iterator
from typing import Any, Final, get_args, get_origin, get_type_hints

from chatrest._cli.call.operation_arguments import Parameter, Parameters, Place
from chatrest._core.requests.endpoint import Endpoint
from chatrest._models.messages import Message
from chatrest._resources import COLLECTIONS, OPERATIONS, collection_class

_INTRODUCTION: Final = """\
# Operations

All {count} operations of the service, as methods of `AsyncSession` (`session`) and `AsyncManagement`
(`management`). A method that gives a `Walk` is called as it is, any other one is awaited. `*` marks what is
required. The types of filters and bodies are names of `chatrest`: `from chatrest import NewGroup`.
`chatrest call NAME --help` shows all parameters and what is expected.

`session.messages` has three further methods that are made of these operations: `counts`, `send_each` and
`find_sent`. `help(session.messages)` describes them.

An operation is one request unless its text says otherwise, and lists are in the service's order. `query=None`
selects everything, `cursor` continues a list, and `on_behalf_of` is the acting user, by default that of the
session's view. A wrong argument is a `RequestInvalidError`, and nothing is sent. The other errors are those
of the page [errors](errors.md). "Sent once" means that a request is not repeated if its reply is lost.

This file is made by `python -m tests.support.reference`.
"""
_WISHES: Final = """
add a user: users.create
change a user: users.update
delete a user: users.delete, users.deactivate
find a user by name (`UserQuery(search_key=…)`): users.list
see who is online (`UserQuery(status="available")`): users.list
log in an end user: auth_tokens.create
log out an end user: auth_tokens.delete, auth_tokens.flush
send a message: messages.send
send a message of a bot: messages.send_bot
answer in a thread: messages.send_thread
edit or delete a message: messages.update, messages.delete
read the messages of two users: messages.list_user
read the messages of a group: messages.list_group
read the replies to a message: messages.list_thread
search messages (`MessageQuery(search_key=…)`): messages.list
count unread messages (`session.messages.counts`): conversations.list
react to a message: messages.add_reaction, messages.remove_reaction
pin or save a message: messages.pin, messages.save
make a group: groups.create
add or remove a member: members.add, members.kick
make somebody an admin: members.change_scope
hand a group to another owner (`GroupChanges(owner=…)`): groups.update
ban a user from a group: banned_users.ban, banned_users.unban
block a user for another one: blocked_users.block, blocked_users.unblock
make two users friends: friends.add
list the conversations of a user: conversations.list
mark as read: conversations.mark_read_user, conversations.mark_read_group
mark as delivered: conversations.mark_delivered_user, conversations.mark_delivered_group
pin a conversation: conversations.pin_user, conversations.pin_group
mute a conversation: notifications.mute
find a call: calls.list, calls.list_transcriptions
flag a message: moderation.flag_message
review what was blocked: moderation.list_blocked_messages, moderation.review_blocked_message
forbid words: moderation.create_keyword_list, moderation.create_rule
set up push notifications: notifications.add_fcm_provider, notifications.add_apns_provider
receive events: webhooks.create, triggers.add
move users and messages here: data_import.import_users, data_import.import_messages
see how much is used: metrics.get_usage
"""
"""Tasks of users of the reference, and the operations for them."""
_PLACES: Final[tuple[tuple[str, tuple[Place, ...]], ...]] = (
    ("Query", ("query",)),
    ("Body", ("body",)),
    ("Headers", ("headers",)),
)
_REPEATED: Final = {"safe": "reads", "idempotent": "repeatable", "never": "sent once"}
_KINDS: Final = " | ".join(kind.__name__ for kind in get_args(Message))
_MODULE: Final = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")


def reference() -> str:
    lines = [_INTRODUCTION.format(count=len(OPERATIONS)), *_wishes(), *_contents(), ""]
    for name in COLLECTIONS:
        lines += _section(name)
    return "\n".join(lines)


def _wishes() -> Iterator[str]:
    yield from ("## I want to …\n", "| I want to … | operation |", "|---|---|")
    for line in _WISHES.strip().splitlines():
        wish, _, names = line.partition(": ")
        links = ", ".join(f"[{name}](#{name.replace('.', '')})" for name in names.split(", "))
        yield f"| {wish} | {links} |"
    yield "\n## All collections\n"


def _contents() -> Iterator[str]:
    for name in COLLECTIONS:
        operations = [endpoint for endpoint in OPERATIONS.values() if _is_of(endpoint, name)]
        yield f"- [{name}](#{name}): {', '.join(each.name.partition('.')[2] for each in operations)}"


def _section(name: str) -> Iterator[str]:
    kind = collection_class(name)
    yield f"## {name}\n"
    yield f"{_text(kind)}\n"
    for endpoint in OPERATIONS.values():
        if _is_of(endpoint, name):
            yield from _entry(endpoint, getattr(kind, endpoint.name.partition(".")[2]))


def _is_of(endpoint: Endpoint[Any], collection: str) -> bool:
    return endpoint.name.startswith(f"{collection}.")


def _entry(endpoint: Endpoint[Any], method: Any) -> Iterator[str]:
    door = "management" if endpoint.interface == "management" else "session"
    yield f"### {endpoint.name}\n"
    yield f"`{door}.{endpoint.name}{_arguments(method)}` → `{_result(method)}`\n"
    yield f"{_text(method)}\n"
    yield f"- {', '.join(_facts(endpoint))}"
    parameters = Parameters(endpoint)
    for title, places in _PLACES:
        members = [each for place in places for each in parameters.of(place)]
        if members:
            yield f"- {title}: {', '.join(map(_name, members))}"
    yield ""


def _text(described: Any) -> str:
    paragraphs = (inspect.getdoc(described) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _facts(endpoint: Endpoint[Any]) -> Iterator[str]:
    interface = "" if endpoint.interface == "chat" else f" ({endpoint.interface} interface)"
    yield f"`{endpoint.method} {endpoint.path}`{interface}"
    yield _REPEATED[endpoint.replay]
    if endpoint.acting != "never":
        yield f"acting user {endpoint.acting}"
    if endpoint.rate_class != "standard":
        yield f"rate class {endpoint.rate_class}"
    if endpoint.media != "json":
        yield "sent as a form"
    if endpoint.deprecated:
        yield f"deprecated: use `{endpoint.deprecated}`"


def _name(parameter: Parameter) -> str:
    return f"`{parameter.field}`{'*' if parameter.is_required else ''}"


def _arguments(method: Any) -> str:
    """Return the arguments of a method with their defaults, and the types of filters and bodies."""
    types = get_type_hints(method)
    parameters = [
        parameter.replace(annotation=types[name] if _is_struct(types[name]) else inspect.Parameter.empty)
        for name, parameter in inspect.signature(method).parameters.items()
        if name != "self"
    ]
    return _MODULE.sub("", str(inspect.Signature(parameters)))


def _is_struct(kind: Any) -> bool:
    """Return True for a type of the queries: a reader of the reference has to import it."""
    return "chatrest._parameters." in inspect.formatannotation(kind)


def _result(method: Any) -> str:
    result = get_type_hints(method)["return"]
    if get_origin(result) is Awaitable:
        (result,) = get_args(result)
    return _MODULE.sub("", inspect.formatannotation(result)).replace(_KINDS, "Message")


if __name__ == "__main__":
    sys.stdout.write(reference())
