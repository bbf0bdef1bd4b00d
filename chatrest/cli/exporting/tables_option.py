"""The option type for tables: `users,groups`."""

from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import click

if TYPE_CHECKING:
    _ParamType: TypeAlias = click.ParamType[Any]
else:  # before click 8.4 it is not generic
    _ParamType: TypeAlias = click.ParamType

# A copy of the constant: importing it would slow the help text down. A test compares them.
TABLES: Final = ("users", "groups", "members", "conversations")


@final
class TablesOption(_ParamType):
    """Names of tables, with commas between them."""

    name = "tables"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names; raise `click.BadParameter` for any other."""
        names = [name.strip() for name in value.split(",")] if isinstance(value, str) else list(value)
        for name in names:
            if name not in TABLES:
                self.fail(f"{name!r} is not a table: allowed are {', '.join(TABLES)}", param, ctx)
        return tuple(names)
