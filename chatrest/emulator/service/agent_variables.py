"""The operations of variables: documents of the app, one predefined variable, and who uses them.

An agent uses a variable whose name stands in its instruction as {{name}}, a tool one in its headers or body.
"""

from typing import Any, Final

from ..store.documents import Document
from .agent_documents import AGENTS
from .agent_tools import TOOLS
from .context import Call, Context, Handler
from .documents import DocumentCollection, in_milliseconds, serve
from .envelopes import root_acked, root_reply
from .refusals import bad_request

_PREDEFINED: Final = {
    "name": "uid", "description": "The uid of the user", "sourceType": "user_metadata", "category": "auth"
}  # fmt: skip
_USAGE: Final = ("name", "description", "sourceType", "category")


def _id(context: Context, variable: Document) -> str:
    return f"{context.store.documents.next_number():024x}"


def _completed(context: Context, variable: Document) -> Document:
    defaults = {"appId": context.app["id"], "sourcePath": "", "defaultValue": ""}
    return defaults | variable | {"category": "custom"}


VARIABLES: Final = DocumentCollection(
    kind="agents.variables", missing="ERR_VARIABLE_NOT_FOUND",
    parameter="variableId", key="_id", new_key=_id, stamp=in_milliseconds, written=_completed,
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


VARIABLE_HANDLERS: Final[dict[str, Handler]] = {
    "agents.list_all_variables": serve(list_all_variables, root_reply),
    "agents.list_custom_variables": serve(VARIABLES.list, root_reply),
    "agents.create_variable": serve(create_variable, root_reply),
    "agents.update_variable": serve(VARIABLES.update, root_reply),
    "agents.delete_variable": serve(VARIABLES.delete, root_acked("The variable has been deleted.")),
}
