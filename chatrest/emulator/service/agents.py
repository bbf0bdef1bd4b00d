"""The operations of agents, the app's own and external ones, and of what they use: tools, integrations,
variables. What an agent has of these are lists of names.

The emulator runs no agent. What the documents leave open:
- API tools and MCP servers that an agent names must exist; an integration may have any slug and any action,
  also one that the small catalogue has not. Taking away what an agent has not changes nothing.
- A tool's password is stored nowhere, as no reply shows it.
- An agent uses a variable whose name is in its instruction as {{name}}, a tool in its headers or body.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from ..store.documents import Document
from .context import Context, Handler, ServiceCall
from .documents import DocumentCollection, selected
from .refusals import bad_request, refused
from .replies import PositionedPages, member, root, root_acked, succeeded, then

_PAGES: Final = PositionedPages(member="createdAt", parameter="createdAt")

# ── agents ──


_MODEL: Final = "gpt-4o-mini"
"""The model of an agent that names none."""
_MODELS: Final[list[Document]] = [
    {"model": _MODEL, "provider": "emulated", "settings": {"temperature": 1}, "default": True},
    {"model": "emulated-large", "provider": "emulated", "settings": {"temperature": 1}, "default": False},
]
_LISTS: Final = (
    "tools", "apiTools", "mcpServers", "frontendActions", "files", "websites", "otherKbIntegrations"
)  # fmt: skip


def _completed_agent(context: Context, agent: Document) -> Document:
    defaults: Document = {
        "appId": context.app["id"], "icon": "", "description": "", **{name: [] for name in _LISTS},
        "ragVersion": "v2", "lastMessageAt": None, "instruction": "", "metaData": {}, "model": _MODEL,
        "modelMetaData": {},
    }  # fmt: skip
    agent = defaults | agent
    return agent | {"formattedInstruction": agent["instruction"]}


def _completed_external(context: Context, agent: Document) -> Document:
    defaults: Document = {"tools": [], "actions": [], "metaData": {}, "deletedAt": None}
    return {"_id": agent["uid"], "appId": context.app["id"], **defaults, **agent}


AGENTS: Final = DocumentCollection(
    kind="agents", missing="ERR_AGENT_NOT_FOUND", key="uid",
    new_key="agent-{number}", stamp="now_ms", completed=_completed_agent,
)  # fmt: skip
# An external agent's UUID is made of a number, so that every run gives the same.
EXTERNAL: Final = DocumentCollection(
    kind="agents.external", missing="ERR_AGENT_NOT_FOUND", key="uid",
    new_key="00000000-0000-4000-8000-{number:012x}", stamp="now_text", completed=_completed_external,
)  # fmt: skip


def search_agents(call: ServiceCall) -> list[Document]:
    return matching(AGENTS.list(call), call.query.get("search", ""), "name", "description", "uid")


def delete_agent(call: ServiceCall) -> None:
    agent = AGENTS.delete(call)
    call.store.documents.of(_TOOL_ACTIONS, agent["uid"]).clear()


def matching(documents: Iterable[Document], text: str, *members: str) -> list[Document]:
    """Return the documents that have `text` in one of `members`, without regard to case."""
    folded = text.casefold()
    return [
        document
        for document in documents
        if any(folded in str(document.get(member, "")).casefold() for member in members)
    ]


# ── what agents have ──


Check: TypeAlias = Callable[[Context, Document, str], None]
"""Refuses a name that an agent cannot be given."""


def existing(kind: str, key: str = "{name}") -> Check:
    def check(context: Context, agent: Document, name: str) -> None:
        if context.store.documents.of(kind).get(key.format(name=name, app=context.app["id"])) is None:
            raise refused("ERR_TOOL_NOT_FOUND", name)

    return check


def _not_added(context: Context, agent: Document, slug: str) -> None:
    if slug in agent["tools"]:
        raise refused("ERR_TOOL_ALREADY_ADDED", slug)


def naming(operation: Handler, kinds: Mapping[str, str]) -> Handler:
    """Return the operation that does the same, where all names in a body exist; else 404.

    `kinds` says for a list of the body which documents its names are keys of.
    """

    def checked(call: ServiceCall) -> Any:
        for wire, kind in kinds.items():
            for name in call.body.get(wire, ()):
                existing(kind)(call, call.body, name)
        return operation(call)

    return checked


def change_names(member: str, wire: str, check: Check | None = None) -> Handler:
    """Return the operation that adds the names in a body's `wire` to a list of an agent, or removes them.

    It adds where there is a check.
    """

    def change(call: ServiceCall) -> Document:
        agent, names = AGENTS.get(call), call.body[wire]
        kept = [name for name in agent[member] if check or name not in names]
        if check is not None:
            for name in names:
                check(call, agent, name)
            kept = list(dict.fromkeys([*kept, *names]))
        agent |= {member: kept, "updatedAt": call.now_ms}
        call.store.documents.of(AGENTS.kind).put(agent, agent["uid"])
        return agent

    return change


def handlers_of_names(name: str, member: str, wire: str, check: Check) -> dict[str, Handler]:
    """Return the handlers of what an agent has: `member` is its list, `wire` that of a body."""
    return {
        f"agents.add_{name}": then(change_names(member, wire, check), succeeded()),
        f"agents.remove_{name}": then(change_names(member, wire), succeeded()),
    }


# ── tools ──


_PASSWORDS: Final = ("basicAuthUsername", "basicAuthPassword")


def _with_id(context: Context, name: str, tool: Document) -> Document:
    app = context.app["id"]
    return {"_id": f"{app}_{name}", "appId": app, **tool}


def _defined(context: Context, name: str, tool: Document) -> Document:
    """Return a tool with its id in the database, and what a model is told of it."""
    parameters = [{"required": False, **each} for each in tool.get("parameters", [])]
    schema = {
        "type": "object",
        "properties": {each["key"]: selected(each, ("type", "description")) for each in parameters},
        "required": [each["key"] for each in parameters if each["required"]],
        "additionalProperties": tool.get("allowAdditionalProperties", False),
    }
    definition = {"name": name, "description": tool["description"], "parameters": schema}
    return _with_id(context, name, {**tool, "parameters": parameters, "tool": definition})


def _api_tool(context: Context, tool: Document) -> Document:
    defaults = {"headers": None, "bodyTemplate": None, "allowAdditionalProperties": False}
    shown = {name: value for name, value in tool.items() if name not in _PASSWORDS}
    return _defined(context, tool["slug"], defaults | shown)


def _external_tool(context: Context, tool: Document) -> Document:
    """Return a tool as a record has it: its description and its parameters are in `tool`."""
    definition = {"description": "", "parameters": {}, **tool.get("tool", {}), "name": tool["name"]}
    definition |= selected(tool, ("description", "parameters"))
    kept = {name: value for name, value in tool.items() if name not in ("description", "parameters")}
    is_passive = tool.get("doNotExecute", False)
    kind = {"doNotExecute": is_passive, "type": "tool" if is_passive else "action", "tool": definition}
    return _with_id(context, tool["name"], {**kept, **kind})


_tools: Final = partial(DocumentCollection, missing="ERR_TOOL_NOT_FOUND", stamp="now_ms")
TOOLS: Final = _tools(kind="agents.api_tools", key="slug", completed=_api_tool)
ACTIONS: Final = _tools(
    kind="agents.frontend_actions", parameter="id", key="_id", new_key="{app}_{document[triggerFunction]}",
    completed=lambda context, action: _defined(context, action["triggerFunction"], action),
)  # fmt: skip
SERVERS: Final = _tools(
    kind="agents.mcp_servers", key="slug",
    completed=lambda context, server: _with_id(context, server["slug"], server),
)  # fmt: skip
EXTERNAL_TOOLS: Final = DocumentCollection(
    kind="agents.external_tools", missing="ERR_TOOL_NOT_FOUND", key="name",
    stamp="now_text", completed=_external_tool,
)  # fmt: skip
_OWN_NAMES: Final = {"apiTools": TOOLS.kind, "mcpServers": SERVERS.kind}
_EXTERNAL_NAMES: Final = dict.fromkeys(("tools", "actions"), EXTERNAL_TOOLS.kind)
"""The lists of an agent whose names are keys of documents."""


def _tool_handlers(name: str, tools: DocumentCollection) -> dict[str, Handler]:
    return {
        **tools.handlers(f"agents.{name}", root, deleted=root_acked("It has been deleted.")),
        f"agents.list_{name}s": _PAGES.serve(tools.list),
    }


def list_external_tools(call: ServiceCall) -> list[Document]:
    kind = call.query.get("type")
    return [each for each in EXTERNAL_TOOLS.list(call) if kind in (None, each["type"])]


# ── integrations ──


_TOOL_ACTIONS: Final = "agents.tool_actions"
"""The actions that agents may take: a parent an agent, a key a tool."""


def _integration(slug: str, number: int = 0, *actions: str) -> Document:
    name = slug.capitalize()
    return {
        "slug": slug, "name": name, "description": f"{name} of the emulator", "icon": "", "createdAt": number,
        "actions": [_action(action) for action in actions],
    }  # fmt: skip


def _action(name: str) -> dict[str, str]:
    words = name.replace("_", " ").capitalize()
    return {"name": name, "displayName": words, "description": words}


_CATALOGUE: Final = {
    "calendar": _integration("calendar", 1, "create_event", "list_events"),
    "mail": _integration("mail", 2, "send_mail", "search_mail"),
}


def _integrations(call: ServiceCall, text: str) -> list[Document]:
    slug = call.query.get("slug")
    named = [each for each in _CATALOGUE.values() if slug in (None, each["slug"])]
    return matching(named, text, "name", "description", "slug")


def list_tool_integrations(call: ServiceCall) -> list[Document]:
    names, text = AGENTS.get(call)["tools"], call.query.get("search", "")
    return [each | {"isAuthenticated": each["slug"] in names} for each in _integrations(call, text)]


def _enabled(context: Context, uid: str, slug: str) -> list[str]:
    document = context.store.documents.of(_TOOL_ACTIONS, uid).get(slug) or {"actions": []}
    names: list[str] = document["actions"]
    return names


def list_tool_actions(call: ServiceCall) -> list[dict[str, str]]:
    uid, slug = AGENTS.get(call)["uid"], call.path["slug"]
    actions: list[dict[str, str]] = _CATALOGUE.get(slug, _integration(slug))["actions"]
    known = {action["name"] for action in actions}
    return [*actions, *(_action(name) for name in _enabled(call, uid, slug) if name not in known)]


def change_tool_actions(call: ServiceCall) -> None:
    uid, slug, names = AGENTS.get(call)["uid"], call.path["slug"], call.body["actions"]
    enabled = [name for name in _enabled(call, uid, slug) if name not in names]
    if call.endpoint.name == "agents.enable_tool_actions":
        enabled += dict.fromkeys(names)
    call.store.documents.of(_TOOL_ACTIONS, uid).put({"actions": enabled}, slug)


# ── all that an agent may use ──


_TOOL: Final = ("slug", "name", "description", "icon")
_FUNCTION: Final = "triggerFunction"
_KINDS: Final = {
    "frontendActions": (ACTIONS, _FUNCTION, ("_id", "name", "description", _FUNCTION, "parameters")),
    "apiTools": (TOOLS, "slug", (*_TOOL, "endpoint", "method", "parameters")),
    "mcpServers": (SERVERS, "slug", (*_TOOL, "url")),
}
"""The collection of each list of an agent, what its names are, and which members are shown."""


def _shown(documents: Iterable[Document], members: tuple[str, ...]) -> list[Document]:
    """Return documents with `members` alone; the id of the database is `id` here."""
    return [{name.removeprefix("_"): document.get(name, "") for name in members} for document in documents]


def list_enabled_items(call: ServiceCall) -> dict[str, list[Document]]:
    agent = AGENTS.get(call)
    items = {"tools": [_enabled_tool(call, agent["uid"], slug) for slug in agent["tools"]]}
    for kind, (tools, key, members) in _KINDS.items():
        documents = {each[key]: each for each in tools.list(call)}
        items[kind] = _shown([documents[name] for name in agent[kind] if name in documents], members)
    text = call.query.get("key", "")
    return {
        name: matching(each, text, "name", "description") if call.query.get(name, True) else []
        for name, each in items.items()
    }


def _enabled_tool(context: Context, uid: str, slug: str) -> Document:
    names = _enabled(context, uid, slug)
    actions = [{"slug": name, "name": name, "description": name} for name in names]
    return selected(_CATALOGUE.get(slug, _integration(slug)), _TOOL) | {"actions": actions}


def search_tools(call: ServiceCall) -> Document:
    AGENTS.get(call)
    text = call.query.get("key", "")
    kinds = {"tool": _integrations(call, text)}
    if "slug" not in call.query:
        actions = [each | {"slug": each["triggerFunction"]} for each in ACTIONS.list(call)]
        others = {"apiTool": TOOLS.list(call), "frontendAction": actions}
        others["mcpServer"] = SERVERS.list(call)
        kinds |= {kind: matching(each, text, "name", "description", "slug") for kind, each in others.items()}
    results = [{"type": kind, **row} for kind, each in kinds.items() for row in _shown(each, _TOOL)]
    return {"success": True, "results": results}


# ── variables ──


_PREDEFINED: Final = {
    "name": "uid", "description": "The uid of the user", "sourceType": "user_metadata", "category": "auth"
}  # fmt: skip


def _variable(context: Context, variable: Document) -> Document:
    defaults = {"appId": context.app["id"], "sourcePath": "", "defaultValue": ""}
    return defaults | variable | {"category": "custom"}


VARIABLES: Final = DocumentCollection(
    kind="agents.variables", missing="ERR_VARIABLE_NOT_FOUND", parameter="variableId", key="_id",
    new_key="{number:024x}", stamp="now_ms", completed=_variable,
)  # fmt: skip


def create_variable(call: ServiceCall) -> Document:
    if any(each["name"] == call.body["name"] for each in VARIABLES.list(call)):
        raise bad_request({"name": ["The name has already been taken."]})
    return VARIABLES.create(call)


def _usage(call: ServiceCall, variable: Document) -> Document:
    place = f"{{{{{variable['name']}}}}}"
    agents = [each for each in AGENTS.list(call) if place in each["instruction"]]
    tools = TOOLS.list(call)
    slugs = [each["slug"] for each in tools if place in f"{each['headers']} {each['bodyTemplate']}"]
    return selected(variable, ("name", "description", "sourceType", "category")) | {
        "usageCount": len(agents) + len(slugs),
        "usedByAgents": [selected(each, ("uid", "name")) for each in agents],
        "usedByTools": {"apiTools": slugs},
    }


def list_all_variables(call: ServiceCall) -> Any:
    variables = [_usage(call, each) for each in (_PREDEFINED, *VARIABLES.list(call))]
    if not call.query.get("groupByCategory"):
        return variables
    categories = dict.fromkeys(each["category"] for each in variables)
    return {name: [each for each in variables if each["category"] == name] for name in categories}


_AGENT: Final = root_acked("The agent has been deleted.")
_root_agent: Final = member("agent")

HANDLERS: Final[dict[str, Handler]] = {
    "agents.list": _PAGES.serve(search_agents),
    "agents.get": then(AGENTS.get, root),
    "agents.create": then(then(naming(AGENTS.create, _OWN_NAMES), _root_agent), root),
    "agents.update": then(naming(AGENTS.update, _OWN_NAMES), root_acked()),
    "agents.delete": then(delete_agent, _AGENT),
    "agents.list_models": lambda call: root(_MODELS),
    "agents.list_external": then(EXTERNAL.list, root),
    "agents.create_external": then(then(naming(EXTERNAL.create, _EXTERNAL_NAMES), _root_agent), root),
    "agents.update_external": then(naming(EXTERNAL.update, _EXTERNAL_NAMES), root_acked()),
    "agents.delete_external": then(EXTERNAL.delete, _AGENT),
    **EXTERNAL_TOOLS.handlers("agents.external_tool", root, deleted=lambda _: root({"deleted": True})),
    "agents.list_external_tools": then(list_external_tools, root),
    **_tool_handlers("api_tool", TOOLS),
    **_tool_handlers("frontend_action", ACTIONS),
    **_tool_handlers("mcp_server", SERVERS),
    **handlers_of_names("tools", "tools", "tools", _not_added),
    **handlers_of_names("api_tools", "apiTools", "apiTools", existing(TOOLS.kind)),
    **handlers_of_names("mcp_servers", "mcpServers", "mcps", existing(SERVERS.kind)),
    **handlers_of_names(
        "frontend_actions", "frontendActions", "frontendActions", existing(ACTIONS.kind, "{app}_{name}")
    ),
    "agents.list_tool_integrations": _PAGES.serve(list_tool_integrations),
    "agents.list_tool_actions": then(list_tool_actions, root),
    "agents.enable_tool_actions": then(change_tool_actions, root_acked()),
    "agents.disable_tool_actions": then(change_tool_actions, root_acked()),
    "agents.search_tools": then(search_tools, root),
    "agents.list_enabled_items": list_enabled_items,
    **VARIABLES.handlers("agents.variable", root, deleted=root_acked("The variable has been deleted.")),
    "agents.create_variable": then(create_variable, root),
    "agents.list_custom_variables": then(VARIABLES.list, root),
    "agents.list_all_variables": then(list_all_variables, root),
}
