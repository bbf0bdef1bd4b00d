"""Agents: the variables of the app."""

from typing import Any, Final

from ...core.replies.decode import ACK, Ack, array, bare, many
from ...core.requests.endpoint import Endpoint
from ...models.agent_variable import Variable, VariableUsage
from ...queries.agent_variables import NewVariable, VariableChanges, VariableQuery
from ...walk.walk import Walk
from ..collection import Collection

_VARIABLES: Final = "/ai-agents/agent-builder/agents/variables"
_CUSTOM: Final = f"{_VARIABLES}/custom"
_VARIABLE: Final = f"{_CUSTOM}/{{variableId}}"


def _ungrouped(reply: Any) -> dict[str, Any] | None:
    """The list reply of variables in either form: an array, or an array of each category, by its name."""
    if isinstance(reply, list):
        return {"data": reply}
    if not isinstance(reply, dict) or not all(isinstance(group, list) for group in reply.values()):
        return None
    return {"data": [variable for group in reply.values() for variable in group]}


LIST_ALL_VARIABLES: Final = Endpoint(
    "agents.list_all_variables", "GET", f"{_VARIABLES}/all", many(VariableUsage, _ungrouped),
    query=VariableQuery,
)  # fmt: skip
LIST_CUSTOM_VARIABLES: Final = Endpoint("agents.list_custom_variables", "GET", _CUSTOM, array(Variable))
CREATE_VARIABLE: Final = Endpoint(
    "agents.create_variable", "POST", _CUSTOM, bare(Variable), "never", body=NewVariable
)
UPDATE_VARIABLE: Final = Endpoint(
    "agents.update_variable", "PATCH", _VARIABLE, bare(Variable), "idempotent", body=VariableChanges
)
DELETE_VARIABLE: Final = Endpoint("agents.delete_variable", "DELETE", _VARIABLE, ACK, "idempotent")


class AgentVariables(Collection):
    """The operations of variables."""

    def list_all_variables(self, query: VariableQuery | None = None) -> Walk[VariableUsage]:
        """The variables, predefined and custom, with who uses them, in one reply.

        With `group_by_category` the service serves an object of lists: the variables come in its order, and
        each says its category.
        """
        return self._walk(LIST_ALL_VARIABLES, query)

    def list_custom_variables(self) -> Walk[Variable]:
        """The variables of the app's own, in one reply."""
        return self._walk(LIST_CUSTOM_VARIABLES)

    async def create_variable(self, variable: NewVariable) -> Variable:
        """Make a variable. Sent once."""
        return await self._call(CREATE_VARIABLE, variable)

    async def update_variable(self, variable_id: str, changes: VariableChanges) -> Variable:
        """Change any part of a variable but its name, and return it; `variable_id` is its `id`."""
        return await self._call(UPDATE_VARIABLE, changes, variableId=variable_id)

    async def delete_variable(self, variable_id: str) -> Ack:
        """Delete a variable."""
        return await self._call(DELETE_VARIABLE, variableId=variable_id)
