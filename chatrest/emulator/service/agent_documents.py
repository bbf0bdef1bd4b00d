"""The documents of agents: an agent with all its members, and lists of names that it has.

What the documents leave open: any slug is an integration, while API tools and MCP servers that an agent names
must exist; taking away what an agent has not changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from ..store.documents import Document
from .context import Call, Context
from .documents import DocumentCollection, Operation, in_milliseconds
from .positioned_pages import PositionedPages
from .refusals import refused

API_TOOLS: Final = "agents.api_tools"
MCP_SERVERS: Final = "agents.mcp_servers"
TOOL_ACTIONS: Final = "agents.tool_actions"
"""The actions that agents may take: a parent an agent, a key a tool."""
MODEL: Final = "gpt-4o-mini"
"""The model of an agent that names none."""
PAGES: Final = PositionedPages(member="createdAt", parameter="createdAt", largest=1000)
"""The paging of agents and their tools."""

Check: TypeAlias = Callable[[Context, Document, str], None]
"""Refuses a name that an agent cannot be given."""

_LISTS: Final = (
    "tools", "apiTools", "mcpServers", "frontendActions", "files", "websites", "otherKbIntegrations"
)  # fmt: skip
NAMED: Final = {"apiTools": API_TOOLS, "mcpServers": MCP_SERVERS}
"""The lists of an agent whose names are keys of documents."""


def numbered_uid(context: Context, document: Document) -> str:
    """Return a uid for a new agent."""
    return f"agent-{context.store.documents.next_number()}"


def _completed(context: Context, agent: Document) -> Document:
    """Return an agent with all its members."""
    defaults: dict[str, Any] = {
        "appId": context.app["id"], "icon": "", "description": "", **{name: [] for name in _LISTS},
        "ragVersion": "v2", "lastMessageAt": None, "instruction": "", "metaData": {}, "model": MODEL,
        "modelMetaData": {},
    }  # fmt: skip
    agent = defaults | agent
    return agent | {"formattedInstruction": agent["instruction"]}


AGENTS: Final = DocumentCollection(
    kind="agents", missing="ERR_AGENT_NOT_FOUND", parameter="uid", key="uid",
    new_key=numbered_uid, stamp=in_milliseconds, written=_completed,
)  # fmt: skip


def search_agents(context: Context, call: Call) -> list[Document]:
    """Return the agents, or those with the text of `search` in their name, description or uid."""
    text = call.query.text("search")
    agents = AGENTS.list(context, call)
    return agents if text is None else matching(agents, text, "name", "description", "uid")


def delete_agent(context: Context, call: Call) -> Document:
    """Remove an agent, and which actions it may take."""
    agent = AGENTS.delete(context, call)
    context.store.documents.of(TOOL_ACTIONS, agent["uid"]).clear()
    return agent


def matching(documents: Iterable[Document], text: str, *members: str) -> list[Document]:
    """Return the documents that have `text` in one of `members`, without regard to case."""
    folded = text.casefold()
    return [
        document
        for document in documents
        if any(folded in str(document.get(member, "")).casefold() for member in members)
    ]


def any_name(context: Context, agent: Document, name: str) -> None:
    """Refuse nothing."""


def existing(kind: str) -> Check:
    """Return the check that a document of this kind exists under a name; else 404."""

    def check(context: Context, agent: Document, name: str) -> None:
        if context.store.documents.of(kind).get(name) is None:
            raise refused("ERR_TOOL_NOT_FOUND", name)

    return check


def naming(operation: Operation, kinds: Mapping[str, str]) -> Operation:
    """Return the operation that does the same, where all names in a body exist; else 404.

    `kinds` says for a list of the body which documents its names are keys of.
    """

    def checked(context: Context, call: Call) -> Any:
        document = call.read()
        for member, kind in kinds.items():
            for name in document.get(member, ()):
                existing(kind)(context, document, name)
        return operation(context, call)

    return checked


def add_names(member: str, wire: str, check: Check = any_name) -> Operation:
    """Return the operation that adds the names in a body's member `wire` to a list of an agent."""

    def add(context: Context, call: Call) -> Document:
        agent = AGENTS.get(context, call)
        names = call.read()[wire]
        for name in names:
            check(context, agent, name)
        return _put(context, call, agent, member, list(dict.fromkeys([*agent[member], *names])))

    return add


def remove_names(member: str, wire: str) -> Operation:
    """Return the operation that takes the names in a body's member `wire` from a list of an agent."""

    def remove(context: Context, call: Call) -> Document:
        agent = AGENTS.get(context, call)
        names = call.read()[wire]
        return _put(context, call, agent, member, [name for name in agent[member] if name not in names])

    return remove


def _put(context: Context, call: Call, agent: Document, member: str, names: list[str]) -> Document:
    agent = {**agent, member: names, "updatedAt": in_milliseconds(context)}
    AGENTS.documents(context, call).put(agent, agent["uid"])
    return agent
