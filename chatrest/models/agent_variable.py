"""Variables of agents, and where they are used.

Times are in epoch milliseconds.
"""

from typing import Any, ClassVar, final

from msgspec import UNSET

from .agent_tool import StoredRecord
from .record import Maybe, Record


@final
class Variable(StoredRecord, frozen=True, gc=False, rename="camel", omit_defaults=True, kw_only=True):
    """A value that instructions and tools refer to by its name: from a message, from a user, or constant.

    `constant_value` may be a credential: the attribute shows it, a repr does not.
    """

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "name"
    hidden_fields: ClassVar[frozenset[str]] = frozenset({"constant_value"})

    name: str
    description: Maybe[str] = UNSET
    source_type: Maybe[str] = UNSET
    source_path: Maybe[str] = UNSET
    constant_value: Maybe[str] = UNSET
    default_value: Maybe[str] = UNSET
    category: Maybe[str] = UNSET
    created_at: Maybe[int] = UNSET
    updated_at: Maybe[int] = UNSET


@final
class AgentName(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """An agent that uses a variable."""

    uid: Maybe[str] = UNSET
    name: Maybe[str] = UNSET


@final
class VariableUsage(Record, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A variable, predefined or custom, and who uses it."""

    fill_missing: ClassVar[bool] = False
    identified_by: ClassVar[str] = "identity"

    name: str
    description: Maybe[str] = UNSET
    source_type: Maybe[str] = UNSET
    category: Maybe[str] = UNSET
    usage_count: Maybe[int] = UNSET
    used_by_agents: Maybe[tuple[AgentName, ...]] = UNSET
    used_by_tools: Maybe[Any] = UNSET

    @property
    def identity(self) -> str:
        """The category and the name: a custom variable may have a predefined one's name."""
        return f"{self.category or ''} {self.name}".lstrip()
