"""Lists that disagree with the documents, as other servers of this wire have them: weather for the emulator.

| kind           | lists have                                                                           |
|----------------|--------------------------------------------------------------------------------------|
| `descending`   | pages in the other order                                                             |
| `cursor-alone` | the position in `meta.cursor`, never in `meta.next`                                  |
| `next-alone`   | the position in `meta.next`, never in `meta.cursor`                                  |

`EmptyPage` has a page without records whose position is just before them, where ids leave room. The records
keep their bytes. Other replies stay as they are.
"""

import re
from typing import Any, ClassVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Raw, structs

from chatrest.emulator import Fault, OutgoingReply, ServiceRequest

POSITIONS = ("cursor", "next")


class ListReply(msgspec.Struct):
    data: list[Raw]
    meta: dict[str, Any]

    def change(self, kind: str) -> None:
        if kind == "descending":
            self.data.reverse()
        else:
            name = kind.partition("-")[0]
            self.meta = {name if each in POSITIONS else each: value for each, value in self.meta.items()}

    def empty(self, start: str) -> None:
        """Take out the records, where there is room for a position before the first one."""
        cursor: dict[str, Any] = next((self.meta[name] for name in POSITIONS if self.meta.get(name)), {})
        ids = [int(match[1]) for each in self.data if (match := re.match(rb'\{"id":"(\d+)"', bytes(each)))]
        if not ids or len(ids) != len(self.data) or "id" not in cursor or not (start + "0").isdigit():
            return
        if cursor.get("affix") == "append":
            position, has_room = min(ids) - 1, min(ids) - 1 > int(start or 0)
        else:
            position, has_room = max(ids) + 1, start == "" or max(ids) + 1 < int(start)
        if has_room:
            cursor.pop("sentAt", None)
            cursor["id"], self.data = type(cursor["id"])(position), []
            if "pagination" in self.meta:
                self.meta["pagination"] |= {"count": 0, "total_pages": 2}


def changed_list(reply: OutgoingReply, request: ServiceRequest, kind: str) -> OutgoingReply:
    try:
        body = msgspec.json.decode(reply.body, type=ListReply)
    except msgspec.MsgspecError:
        return reply
    if kind == "empty":
        body.empty(dict(parse_qsl(request.query)).get("id", ""))
    else:
        body.change(kind)
    return structs.replace(reply, body=msgspec.json.encode(body))


class ListFault(Fault):
    """A habit of a server with its lists; strikes beside all other faults."""

    kind: str

    accompanies: ClassVar[bool] = True

    def rewrite_reply(self, reply: OutgoingReply, request: ServiceRequest, number: int) -> OutgoingReply:
        return changed_list(reply, request, self.kind)


class EmptyPage(Fault):
    """A page without its records, in the place of the service's answer."""

    def rewrite_reply(self, reply: OutgoingReply, request: ServiceRequest, number: int) -> OutgoingReply:
        return changed_list(reply, request, "empty")
