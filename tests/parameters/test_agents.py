"""The filters and bodies of agents."""

from typing import Any

import pytest

from chatrest._core.requests.wire import json_body
from chatrest._parameters.agents import (
    AgentChanges,
    IntegrationMeta,
    NewAgent,
    NewApiTool,
    NewExternalAgent,
    NewExternalTool,
)
from chatrest.errors import RequestInvalidError
from tests.cases import loop_over

TOOL: dict[str, Any] = {
    "slug": "s", "name": "S", "description": "d", "endpoint": "https://h/{{path}}", "method": "GET"
}  # fmt: skip
EXTERNAL: dict[str, Any] = {"name": "n", "icon": "https://i", "integrate_with": "mastra"}


@loop_over(
    ("make", "name"),
    [
        (lambda: NewApiTool(**TOOL, enable_basic_auth=True), "enable_basic_auth"),
        (lambda: NewApiTool(**TOOL, parameters=[{"key": "k"}]), "parameters"),
        (lambda: NewExternalAgent(**EXTERNAL, integration_meta=IntegrationMeta()), "integration_meta"),
        (lambda: NewExternalTool(name="t", display_name="T", execution_text="e"), "description"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(make: Any, name: str) -> None:
    with pytest.raises(RequestInvalidError, match=f"^{name}"):
        make()


def test_an_empty_list_clears_what_was_there() -> None:
    assert json_body(AgentChanges(tools=[], api_tools=())) == b'{"tools":[],"apiTools":[]}'


def test_members_that_the_service_requires_have_a_value() -> None:
    assert json_body(NewAgent(name="n")) == b'{"name":"n","isActive":true}'
    assert b'"enableBasicAuth":false' in json_body(NewApiTool(**TOOL))


def test_a_tool_that_is_not_executed_needs_no_parameters() -> None:
    tool = NewExternalTool(name="t", display_name="T", execution_text="e", do_not_execute=True)
    assert json_body(tool).endswith(b'"doNotExecute":true}')
