"""Agents: frontend actions."""

from collections.abc import Sequence
from typing import Final

from ...core.paging.paging import BY_CREATED
from ...core.replies.decode import ACK, Ack, bare, many, one
from ...core.requests.endpoint import Endpoint
from ...models.agent import Agent
from ...models.agent_tool import FrontendAction
from ...queries.agent_tools import FrontendActionChanges, NewFrontendAction
from ...queries.agents import AgentFrontendActions, ToolQuery
from ...walk.walk import Walk
from ..collection import Collection, Start

_ALL: Final = "/ai-agents/agent-builder/frontend-actions"
_OF_AGENT: Final = "/ai-agents/agent-builder/agents/{uid}/frontend-actions"

LIST_FRONTEND_ACTIONS: Final = Endpoint(
    "agents.list_frontend_actions", "GET", _ALL, many(FrontendAction), query=ToolQuery, paging=BY_CREATED
)
GET_FRONTEND_ACTION: Final = Endpoint(
    "agents.get_frontend_action", "GET", f"{_ALL}/{{id}}", bare(FrontendAction)
)
CREATE_FRONTEND_ACTION: Final = Endpoint(
    "agents.create_frontend_action", "POST", _ALL, bare(FrontendAction), "never", body=NewFrontendAction
)
UPDATE_FRONTEND_ACTION: Final = Endpoint(
    "agents.update_frontend_action",
    "PATCH",
    f"{_ALL}/{{id}}",
    bare(FrontendAction),
    "idempotent",
    body=FrontendActionChanges,
)
DELETE_FRONTEND_ACTION: Final = Endpoint(
    "agents.delete_frontend_action", "DELETE", f"{_ALL}/{{id}}", ACK, "idempotent"
)
ADD_FRONTEND_ACTIONS: Final = Endpoint(
    "agents.add_frontend_actions",
    "PATCH",
    f"{_OF_AGENT}/add",
    one(Agent),
    "idempotent",
    body=AgentFrontendActions,
)
REMOVE_FRONTEND_ACTIONS: Final = Endpoint(
    "agents.remove_frontend_actions",
    "PATCH",
    f"{_OF_AGENT}/remove",
    one(Agent),
    "idempotent",
    body=AgentFrontendActions,
)


class FrontendActions(Collection):
    """The operations of frontend actions."""

    def list_frontend_actions(
        self, query: ToolQuery | None = None, *, cursor: Start = None
    ) -> Walk[FrontendAction]:
        """The frontend actions of the app, in the service's order. One request a page."""
        return self._walk(LIST_FRONTEND_ACTIONS, query, cursor)

    async def get_frontend_action(self, id: str) -> FrontendAction:
        """A frontend action; `NotFoundError` for no such one."""
        return await self._call(GET_FRONTEND_ACTION, id=id)

    async def create_frontend_action(self, action: NewFrontendAction) -> FrontendAction:
        """Make a frontend action. Sent once."""
        return await self._call(CREATE_FRONTEND_ACTION, action)

    async def update_frontend_action(self, id: str, changes: FrontendActionChanges) -> FrontendAction:
        """Change any part of a frontend action but its function, and return it."""
        return await self._call(UPDATE_FRONTEND_ACTION, changes, id=id)

    async def delete_frontend_action(self, id: str) -> Ack:
        """Delete a frontend action."""
        return await self._call(DELETE_FRONTEND_ACTION, id=id)

    async def add_frontend_actions(self, uid: str, frontend_actions: Sequence[str]) -> Agent:
        """Give an agent frontend actions, by the names of their functions."""
        return await self._call(
            ADD_FRONTEND_ACTIONS, AgentFrontendActions(frontend_actions=frontend_actions), uid=uid
        )

    async def remove_frontend_actions(self, uid: str, frontend_actions: Sequence[str]) -> Agent:
        """Take frontend actions from an agent."""
        return await self._call(
            REMOVE_FRONTEND_ACTIONS, AgentFrontendActions(frontend_actions=frontend_actions), uid=uid
        )
