"""The data of the emulated service, in dictionaries; no socket, no clock."""

from collections.abc import Iterable, Mapping
from typing import Any, final

from msgspec.json import encode

from .directory import Directory, Memberships, Relations
from .documents import Documents, LoginTokens, selected
from .message_index import MessageIndex, conversation_id
from .views import ConversationViews, MessageMarks


@final
class Store(MessageIndex):
    """Users, groups, members and messages of one emulated app; `MessageIndex` has the lists of messages, and
    their changes. Not for several threads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.people: Directory = Directory()
        """The users, and the groups."""
        self.relations: Relations = Relations()
        """Users in relation to others: blocked, friends, banned."""
        self.documents: Documents = Documents()
        """Settings, and small collections of documents."""
        self.auth_tokens: LoginTokens = LoginTokens(self.documents)
        self.members: Memberships = Memberships(self.people.groups, self.relations)
        self.marks: MessageMarks = MessageMarks()
        """Saves, subscriptions and reactions."""
        self.views: ConversationViews = ConversationViews(self, self.members)
        """The conversations, as each of their users sees them."""

    def add_user(self, uid: str, name: str | None = None, **fields: Any) -> None:
        """Add a user; any text is a uid here. `fields` are the record's other members by wire name."""
        record = {"uid": uid, "name": name or uid, "status": "offline", "role": "default"}
        self.people.add_users([record | {"createdAt": 0} | fields])

    def add_group(self, guid: str, name: str | None = None, **fields: Any) -> None:
        """Add a group without members; any text is a guid here. `fields` as those of `add_user`."""
        record = {"guid": guid, "name": name or guid, "type": "public", "owner": "app_system"}
        self.people.add_group(record | {"createdAt": 0} | fields)

    def add_message(
        self,
        sender: str,
        receiver: str,
        text: str | None = None,
        *,
        receiver_type: str = "user",
        category: str = "message",
        type: str = "text",
        data: Mapping[str, Any] | None = None,
        sent_at: int | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Add a message with the next id, and return its record.

        `data` gets `text` and, where it has none, the entities of sender and receiver. `sent_at`, epoch
        seconds, is at least that of the message before. `fields` are other members of the record by their
        wire names (`tags`, `parentId`) and override all else: `sentAt=5` may be older than the one before.
        """
        entity = self.people.entity
        parties = {"sender": entity("user", sender), "receiver": entity(receiver_type, receiver)}
        content = ({} if text is None else {"text": text}) | {"entities": parties} | dict(data or {})
        at = max(self.last_sent_at, sent_at or 0)
        record = {
            "id": str(self.last_id + 1),
            "conversationId": conversation_id(sender, receiver, receiver_type),
            "sender": sender,
            "receiverType": receiver_type,
            "receiver": receiver,
            "category": category,
            "type": type,
            "data": content,
            "sentAt": at,
            "updatedAt": at,
            **fields,
        }
        self.add_records([encode(record)])
        return record

    def add_action(
        self, by: str, action: str, on: Mapping[str, Any], message: Mapping[str, Any], *, sent_at: int
    ) -> dict[str, Any]:
        """Add the message that shows a conversation of an action, and return its record.

        `on` is the entity of what was acted on; `message` has the sender, the receiver and its type, and
        perhaps the conversation: an action on a message is in the lists of that message.
        """
        sender, kind, receiver = (str(message.get(name)) for name in ("sender", "receiverType", "receiver"))
        entities = {"by": self.people.entity("user", by), "on": on, "for": self.people.entity(kind, receiver)}
        fields = selected(message, ("conversationId",)) | {"category": "action", "type": "message"}
        data = {"action": action, "entities": entities}
        return self.add_message(sender, receiver, receiver_type=kind, data=data, sent_at=sent_at, **fields)

    def remove(self, ids: Iterable[int]) -> None:
        """Remove messages for good, with all that was attached to them; unknown ids are passed over."""
        removed_ids = set(ids)
        super().remove(removed_ids)
        self.marks.remove_all(removed_ids)

    def lose_messages(self) -> None:
        """Lose all messages and what was attached to them: the next one has the id 1 again."""
        self.remove([*self.messages])
        self.last_id = self.last_sent_at = 0
        self.documents.of("data_import.muids").clear()
        self.views.clear()
