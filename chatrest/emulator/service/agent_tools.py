"""The operations of what agents use: API tools, frontend actions, MCP servers, integrations, variables.

- Tools are documents of the app that agents are given. A password is stored nowhere, as no reply shows it.
- Integrations are a small catalogue. What the documents leave open: an agent may be given any slug, also one
  that the catalogue has not, and any action.
- Variables are documents of the app, and one predefined. An agent uses a variable whose name stands in its
  instruction as {{name}}, a tool one in its headers or body.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..store.documents import Document
from .agents import (
    AGENTS,
    API_TOOLS,
    MCP_SERVERS,
    PAGES,
    TOOL_ACTIONS,
    Check,
    add_names,
    existing,
    matching,
    remove_names,
)
from .context import Call, Context, Handler
from .documents import DocumentCollection, in_milliseconds, serve
from .envelopes import data_reply, root_acked, root_reply, root_success, succeeded
from .refusals import bad_request, refused

_PASSWORDS: Final = ("basicAuthUsername", "basicAuthPassword")


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    parameters = tool["parameters"]
    return {
        "type": "object",
        "properties": {
            each["key"]: {"type": each["type"], "description": each["description"]} for each in parameters
        },
        "required": [each["key"] for each in parameters if each.get("required")],
        "additionalProperties": tool.get("allowAdditionalProperties", False),
    }


def _defined(context: Context, tool: Document, name: str) -> Document:
    """Return a tool with its id in the database, and what a model is told of it."""
    app = context.app["id"]
    parameters = [{"required": False, **each} for each in tool.get("parameters", [])]
    tool = {"_id": f"{app}_{name}", "appId": app, **tool, "parameters": parameters}
    definition = {"name": name, "description": tool["description"], "parameters": _schema(tool)}
    return {**tool, "tool": definition}


def _api_tool(context: Context, tool: Document) -> Document:
    defaults = {"headers": None, "bodyTemplate": None, "allowAdditionalProperties": False}
    shown = {name: value for name, value in tool.items() if name not in _PASSWORDS}
    return _defined(context, defaults | shown, tool["slug"])


def _frontend_action(context: Context, action: Document) -> Document:
    return _defined(context, action, action["triggerFunction"])


def _mcp_server(context: Context, server: Document) -> Document:
    app = context.app["id"]
    return {"_id": f"{app}_{server['slug']}", "appId": app, **server}


TOOLS: Final = DocumentCollection(
    kind=API_TOOLS, missing="ERR_TOOL_NOT_FOUND", parameter="slug", key="slug",
    stamp=in_milliseconds, written=_api_tool,
)  # fmt: skip
ACTIONS: Final = DocumentCollection(
    kind="agents.frontend_actions", missing="ERR_TOOL_NOT_FOUND",
    key="_id", new_key="{app}_{document[triggerFunction]}", stamp=in_milliseconds, written=_frontend_action,
)  # fmt: skip
SERVERS: Final = DocumentCollection(
    kind=MCP_SERVERS, missing="ERR_TOOL_NOT_FOUND", parameter="slug",
    key="slug", stamp=in_milliseconds, written=_mcp_server,
)  # fmt: skip


def _existing_function(context: Context, agent: Document, name: str) -> None:
    """Refuse a function that no frontend action has."""
    existing(ACTIONS.kind)(context, agent, f"{context.app['id']}_{name}")


def _handlers(
    singular: str, tools: DocumentCollection, member: str, wire: str, check: Check
) -> dict[str, Handler]:
    """Return the handlers of one kind of tools; `member` is the list of an agent, `wire` that of a body."""
    return {
        f"agents.list_{singular}s": PAGES.serve(tools.list),
        f"agents.get_{singular}": serve(tools.get, root_reply),
        f"agents.create_{singular}": serve(tools.create, root_reply),
        f"agents.update_{singular}": serve(tools.update, root_reply),
        f"agents.delete_{singular}": serve(tools.delete, root_acked("It has been deleted.")),
        f"agents.add_{singular}s": serve(add_names(member, wire, check), succeeded()),
        f"agents.remove_{singular}s": serve(remove_names(member, wire), succeeded()),
    }


# ── integrations ──


def _integration(slug: str, number: int, *actions: str) -> dict[str, Any]:
    name = slug.capitalize()
    return {
        "slug": slug, "name": name, "description": f"{name} of the emulator", "icon": "", "createdAt": number,
        "actions": [_action(action) for action in actions],
    }  # fmt: skip


def _action(name: str) -> dict[str, str]:
    words = name.replace("_", " ").capitalize()
    return {"name": name, "displayName": words, "description": words}


CATALOGUE: Final = {
    "calendar": _integration("calendar", 1, "create_event", "list_events"),
    "mail": _integration("mail", 2, "send_mail", "search_mail"),
}


def integration(slug: str) -> dict[str, Any]:
    """Return the integration of this slug; one without actions where the catalogue has none."""
    return CATALOGUE.get(slug) or _integration(slug, 0)


def enabled_actions(context: Context, uid: str, slug: str) -> list[str]:
    document = context.store.documents.of(TOOL_ACTIONS, uid).get(slug) or {"actions": []}
    names: list[str] = document["actions"]
    return names


def list_tool_integrations(context: Context, call: Call) -> list[Document]:
    """Return the catalogue; those that the agent has are authenticated."""
    agent = AGENTS.get(context, call)
    slug, text = call.query.text("slug"), call.query.text("search")
    integrations = [each for each in CATALOGUE.values() if slug in (None, each["slug"])]
    if text is not None:
        integrations = matching(integrations, text, "name", "description", "slug")
    return [each | {"isAuthenticated": each["slug"] in agent["tools"]} for each in integrations]


def _not_added(context: Context, agent: Document, slug: str) -> None:
    if slug in agent["tools"]:
        raise refused("ERR_TOOL_ALREADY_ADDED", slug)


def list_tool_actions(context: Context, call: Call) -> list[dict[str, str]]:
    """Return the actions of an integration in the catalogue, and those that the agent may take."""
    uid, slug = AGENTS.get(context, call)["uid"], call.path["slug"]
    actions: list[dict[str, str]] = integration(slug)["actions"]
    known = {action["name"] for action in actions}
    others = [name for name in enabled_actions(context, uid, slug) if name not in known]
    return [*actions, *map(_action, others)]


def enable_tool_actions(context: Context, call: Call) -> None:
    uid, slug = AGENTS.get(context, call)["uid"], call.path["slug"]
    names = call.read()["actions"]
    actions = list(dict.fromkeys([*enabled_actions(context, uid, slug), *names]))
    context.store.documents.of(TOOL_ACTIONS, uid).put({"actions": actions}, slug)


def disable_tool_actions(context: Context, call: Call) -> None:
    uid, slug = AGENTS.get(context, call)["uid"], call.path["slug"]
    names = call.read()["actions"]
    actions = [name for name in enabled_actions(context, uid, slug) if name not in names]
    context.store.documents.of(TOOL_ACTIONS, uid).put({"actions": actions}, slug)


# ── all that an agent may use ──


_TOOL: Final = ("slug", "name", "description", "icon")
_API_TOOL: Final = (*_TOOL, "endpoint", "method", "parameters")
_SERVER: Final = (*_TOOL, "url")
_ACTION: Final = ("_id", "name", "description", "triggerFunction", "parameters")


def _shown(documents: Iterable[Document], members: tuple[str, ...]) -> list[Document]:
    """Return documents with `members` alone; the id of the database is `id` here."""
    return [{name.removeprefix("_"): document.get(name, "") for name in members} for document in documents]


def _tool(context: Context, uid: str, slug: str) -> Document:
    actions = [
        {"slug": name, "name": name, "description": name} for name in enabled_actions(context, uid, slug)
    ]
    return {name: integration(slug)[name] for name in _TOOL} | {"actions": actions}


def list_enabled_items(context: Context, call: Call) -> dict[str, list[Document]]:
    """Return what an agent has, of the kinds that were asked for."""
    agent = AGENTS.get(context, call)
    functions = {each["triggerFunction"]: each for each in ACTIONS.list(context, call)}
    tools = {each["slug"]: each for each in TOOLS.list(context, call)}
    servers = {each["slug"]: each for each in SERVERS.list(context, call)}
    items: dict[str, list[Document]] = {
        "tools": [_tool(context, agent["uid"], slug) for slug in agent["tools"]],
        "frontendActions": _shown(_having(functions, agent["frontendActions"]), _ACTION),
        "apiTools": _shown(_having(tools, agent["apiTools"]), _API_TOOL),
        "mcpServers": _shown(_having(servers, agent["mcpServers"]), _SERVER),
    }
    text, wanted = call.query.text("key") or "", [name for name in items if _is_wanted(call, name)]
    call.query.check()
    return {
        name: matching(each, text, "name", "description") if name in wanted else []
        for name, each in items.items()
    }


def _having(documents: dict[str, Document], names: Iterable[str]) -> list[Document]:
    """Return the documents of these names, without those that were deleted."""
    return [documents[name] for name in names if name in documents]


def _is_wanted(call: Call, name: str) -> bool:
    return call.query.text(name) is None or call.query.flag(name)


def search_tools(context: Context, call: Call) -> dict[str, Any]:
    """Return the tools of every kind that have the text of `key`, or the integration of `slug`."""
    AGENTS.get(context, call)
    slug, text = call.query.text("slug"), call.query.text("key") or ""
    kinds: dict[str, list[Document]] = {
        "tool": [each for each in CATALOGUE.values() if slug in (None, each["slug"])],
    }
    if slug is None:
        kinds |= {
            "apiTool": TOOLS.list(context, call),
            "frontendAction": [
                each | {"slug": each["triggerFunction"]} for each in ACTIONS.list(context, call)
            ],
            "mcpServer": SERVERS.list(context, call),
        }
    results = [
        {"type": kind, **row}
        for kind, documents in kinds.items()
        for row in _shown(matching(documents, text, "name", "description", "slug"), _TOOL)
    ]
    return {"success": True, "results": results}


# ── variables ──


_PREDEFINED: Final = {
    "name": "uid", "description": "The uid of the user", "sourceType": "user_metadata", "category": "auth"
}  # fmt: skip
_USAGE: Final = ("name", "description", "sourceType", "category")


def _custom_variable(context: Context, variable: Document) -> Document:
    defaults = {"appId": context.app["id"], "sourcePath": "", "defaultValue": ""}
    return defaults | variable | {"category": "custom"}


VARIABLES: Final = DocumentCollection(
    kind="agents.variables", missing="ERR_VARIABLE_NOT_FOUND",
    parameter="variableId", key="_id", new_key="{number:024x}", stamp=in_milliseconds,
    written=_custom_variable,
)  # fmt: skip


def create_variable(context: Context, call: Call) -> Document:
    """Make a variable; 400 for a name that another has."""
    name = call.read()["name"]
    if any(each["name"] == name for each in VARIABLES.list(context, call)):
        raise bad_request({"name": ["The name has already been taken."]})
    return VARIABLES.create(context, call)


def _usage(context: Context, call: Call, variable: Document) -> Document:
    place = f"{{{{{variable['name']}}}}}"
    agents = [each for each in AGENTS.list(context, call) if place in each["instruction"]]
    tools = [
        each["slug"]
        for each in TOOLS.list(context, call)
        if place in f"{each['headers']} {each['bodyTemplate']}"
    ]
    return {name: variable[name] for name in _USAGE if name in variable} | {
        "usageCount": len(agents) + len(tools),
        "usedByAgents": [{"uid": each["uid"], "name": each["name"]} for each in agents],
        "usedByTools": {"apiTools": tools},
    }


def list_all_variables(context: Context, call: Call) -> Any:
    """Return all variables with who uses them, by category where that is asked for."""
    is_grouped = call.query.flag("groupByCategory")
    call.query.check()
    variables = [_usage(context, call, each) for each in (_PREDEFINED, *VARIABLES.list(context, call))]
    if not is_grouped:
        return variables
    categories = dict.fromkeys(each["category"] for each in variables)
    return {name: [each for each in variables if each["category"] == name] for name in categories}


HANDLERS: Final[dict[str, Handler]] = {
    **_handlers("api_tool", TOOLS, "apiTools", "apiTools", existing(API_TOOLS)),
    **_handlers("frontend_action", ACTIONS, "frontendActions", "frontendActions", _existing_function),
    **_handlers("mcp_server", SERVERS, "mcpServers", "mcps", existing(MCP_SERVERS)),
    "agents.list_tool_integrations": PAGES.serve(list_tool_integrations),
    "agents.add_tools": serve(add_names("tools", "tools", _not_added), succeeded()),
    "agents.remove_tools": serve(remove_names("tools", "tools"), succeeded()),
    "agents.list_tool_actions": serve(list_tool_actions, root_reply),
    "agents.enable_tool_actions": serve(enable_tool_actions, root_success),
    "agents.disable_tool_actions": serve(disable_tool_actions, root_success),
    "agents.search_tools": serve(search_tools, root_reply),
    "agents.list_enabled_items": serve(list_enabled_items, data_reply),
    "agents.list_all_variables": serve(list_all_variables, root_reply),
    "agents.list_custom_variables": serve(VARIABLES.list, root_reply),
    "agents.create_variable": serve(create_variable, root_reply),
    "agents.update_variable": serve(VARIABLES.update, root_reply),
    "agents.delete_variable": serve(VARIABLES.delete, root_acked("The variable has been deleted.")),
}
